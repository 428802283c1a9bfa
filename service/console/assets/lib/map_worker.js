// Reads a random sample of a field and projects it to two dimensions, beside the page's own thread.
//
// In: {connection, path, field, n, keys}. Out, in this order: {points: [{id, payload}]}, then for each block of points
// {first, xy}, then {done: true}; or {error: {status, message}} at any time.
import { send } from "./http.js";
import { fitPca, project } from "./pca.js";

/** Points of one request: some megabytes of JSON. */
const kBlock = 500;
/** Rows that the directions are fitted to. */
const kFitted = 4000;

async function sample({ connection, path, field, n, keys }) {
  const filter = field === "" ? undefined : { must: [{ has_vector: field }] };
  const { result } = await send(connection, "POST", `${path}/points/query`, {
    query: { sample: "random" },
    limit: n,
    filter,
    with_payload: keys.length > 0 ? keys : false,
  });
  return result.points.map(({ id, payload }) => ({ id, payload }));
}

/** The vectors of a block as one array, in the order of `points`. Points deleted meanwhile have zeros. */
async function vectorsOf({ connection, path, field }, points) {
  const { result } = await send(connection, "POST", `${path}/points`, {
    ids: points.map((point) => point.id),
    with_payload: false,
    with_vector: field === "" ? true : [field],
  });
  const vectors = new Map(result.map(({ id, vector }) => [String(id), field === "" ? vector : vector?.[field]]));
  const dim = [...vectors.values()].find(Boolean)?.length ?? 0;
  const rows = new Float32Array(points.length * dim);
  points.forEach((point, row) => rows.set(vectors.get(String(point.id)) ?? [], row * dim));
  return { rows, n: points.length, dim };
}

function joined(blocks) {
  const all = new Float32Array(blocks.reduce((sum, block) => sum + block.rows.length, 0));
  let at = 0;
  for (const { rows } of blocks) {
    all.set(rows, at);
    at += rows.length;
  }
  return all;
}

async function run(request) {
  const points = await sample(request);
  postMessage({ points });
  const blocks = [];
  let fitted;
  let n_projected = 0;
  const emit = (block) => {
    const xy = project(fitted, block.rows, block.n);
    postMessage({ first: n_projected, xy }, [xy.buffer]);
    n_projected += block.n;
  };
  for (let first = 0; first < points.length; first += kBlock) {
    const block = await vectorsOf(request, points.slice(first, first + kBlock));
    if (fitted) {
      emit(block);
      continue;
    }
    blocks.push(block);
    const n_read = first + block.n;
    postMessage({ n_read });
    if (n_read < kFitted && n_read < points.length) continue;
    fitted = fitPca(joined(blocks), n_read, block.dim);
    blocks.forEach(emit);
  }
  postMessage({ done: true });
}

onmessage = ({ data }) =>
  run(data).catch((error) => postMessage({ error: { status: error.status ?? 0, message: error.message } }));
