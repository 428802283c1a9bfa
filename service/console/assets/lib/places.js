// Where points of a field lie on a map, as the server computes it, and what their payloads say.
import { pathOf, post, using } from "./api.js";

/** Points of one request for payloads. */
const kBlock = 20000;

/**
 * A random sample of a field: {ids, xy, shares}. `layout` is "plane" (principal components, with their shares of the
 * variance) or "neighbours". Another seed chooses other points.
 */
export async function placesOf({ collection, field, sample, seed, layout }, signal) {
  const body = { ...using(field), sample, seed, layout };
  const { ids, x, y, shares } = await post(`v1/${pathOf(collection, "/points/projection")}`, body, signal);
  const xy = new Float32Array(2 * ids.length);
  for (let i = 0; i < ids.length; ++i) {
    xy[2 * i] = x[i];
    xy[2 * i + 1] = y[i];
  }
  return { ids, xy, shares };
}

/** A key or a path as the server wants it: odd keys in quotes. */
const quoted = (key) => (/^[\w.[\]-]+$/.test(key) ? key : `"${key}"`);

/** Values under some keys, point by point; {} for points that were deleted meanwhile. */
export async function payloadsOf(collection, ids, keys, signal) {
  const payloads = new Map();
  for (let first = 0; keys.length > 0 && first < ids.length; first += kBlock) {
    const body = { ids: ids.slice(first, first + kBlock), with_payload: keys.map(quoted) };
    for (const { id, payload } of await post(pathOf(collection, "/points"), body, signal)) {
      payloads.set(String(id), payload);
    }
  }
  return ids.map((id) => payloads.get(String(id)) ?? {});
}
