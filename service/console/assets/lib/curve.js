// The measured curve of recall and time over the effort.
import { median } from "./format.js";

/** The share of the exact ids that were found. */
export function recallOf(found, exact) {
  if (exact.length === 0) return 1;
  const wanted = new Set(exact.map((point) => String(point.id)));
  return found.filter((point) => wanted.has(String(point.id))).length / exact.length;
}

/** Gathers measurements of each effort. */
export class Curve {
  samples = new Map();

  add(effort, recall, time_ms) {
    if (!this.samples.has(effort)) this.samples.set(effort, { recalls: [], times_ms: [] });
    const sample = this.samples.get(effort);
    sample.recalls.push(recall);
    sample.times_ms.push(time_ms);
  }

  /** Takes over what another curve has of an effort. */
  take(effort, other) {
    this.samples.set(effort, other.samples.get(effort));
  }

  /** [{effort, recall, time_ms, n}], by effort: the mean recall and the median time. */
  points() {
    return [...this.samples].sort(([a], [b]) => a - b)
      .map(([effort, { recalls, times_ms }]) => (
        {
          effort,
          n: recalls.length,
          recall: recalls.reduce((sum, recall) => sum + recall, 0) / recalls.length,
          time_ms: median(times_ms),
        }
      ));
  }
}

/** Recall and time at an effort between measured ones, linear in its logarithm; undefined without any. */
export function between(points, effort) {
  if (points.length === 0) return undefined;
  const after = points.findIndex((point) => point.effort >= effort);
  if (after === 0) return points[0];
  if (after < 0) return points.at(-1);
  const [left, right] = [points[after - 1], points[after]];
  const share = Math.log(effort / left.effort) / Math.log(right.effort / left.effort);
  const mix = (name) => left[name] + share * (right[name] - left[name]);
  return { effort, recall: mix("recall"), time_ms: mix("time_ms") };
}
