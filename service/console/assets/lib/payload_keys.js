// The keys of payloads, as suggestions and as colours of a map.
import { pathOf, post } from "./api.js";

const kPointsRead = 20;

const lengthOf = (value) =>
  JSON.stringify(value ?? "", (_, part) => (typeof part === "bigint" ? String(part) : part)).length;

/**
 * Keys that points or indexes have, but for those that no path can name: keywords first, then those with the shortest
 * values, which are good to colour by. Keys of indexes only, if no point can be read.
 */
export async function payloadKeys(collection, info, signal) {
  const request = { limit: kPointsRead, with_payload: true };
  const { points } = await post(pathOf(collection, "/points/scroll"), request, signal).catch((error) => {
    if (error.name === "AbortError") throw error;
    return { points: [] };
  });
  const keys = new Set(Object.keys(info.payload_schema));
  for (const point of points) Object.keys(point.payload ?? {}).forEach((key) => keys.add(key));
  const longest = (key) => Math.max(0, ...points.map((point) => lengthOf(point.payload?.[key])));
  const rankOf = (key) => (info.payload_schema[key]?.data_type === "keyword" ? 0 : 1000) + longest(key);
  return [...keys].filter((key) => !/["\\]/.test(key)).sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b));
}
