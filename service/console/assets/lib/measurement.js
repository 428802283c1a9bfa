// Measures recall and time of a field at several efforts, against exact answers of the same moment.
import { call, pathOf, post, using } from "./api.js";
import { Curve, recallOf } from "./curve.js";
import { orNothing } from "./filter.js";

/** The ids of random points that have the field. As queries they do not find themselves. */
export async function randomQueries(collection, field, n, signal) {
  const filter = field === "" ? undefined : { must: [{ has_vector: field }] };
  const body = { query: { sample: "random" }, limit: n, with_payload: false, filter };
  const { points } = await post(pathOf(collection, "/points/query"), body, signal);
  return points.map((point) => point.id);
}

export class Measurement {
  /** `queries` are ids or vectors; `k` points are asked for. `signal` ends it. */
  constructor({ collection, field, queries, k, filter, signal }) {
    Object.assign(this, { collection, field, queries, k, filter, signal, curve: new Curve(), exact_ms: [] });
  }

  /** Measures all queries. Calls `step(n)` after n of them. */
  async run(efforts, step) {
    const measured = new Curve();
    for (const [i, query] of this.queries.entries()) {
      if (this.signal.aborted) return;
      await this.measure(query, efforts, measured);
      for (const effort of efforts) this.curve.take(effort, measured);
      step(i + 1);
    }
  }

  /** One query at each effort, so that a busy moment of the machine hits all alike. */
  async measure(query, efforts, measured) {
    const exact = await this.search(query, { exact: true });
    this.exact_ms.push(exact.time_ms);
    for (const effort of efforts) {
      const found = await this.search(query, { hnsw_ef: effort });
      measured.add(effort, recallOf(found.points, exact.points), found.time_ms);
    }
  }

  async search(query, params) {
    const filter = orNothing(this.filter);
    const body = { query, ...using(this.field), limit: this.k, params, filter, with_payload: false };
    const { answer } = await call("POST", pathOf(this.collection, "/points/query"), body, this.signal);
    return { points: answer.result.points, time_ms: 1000 * answer.time };
  }
}
