// The server of this page, and the user's key for it.
import { exchange, send } from "./http.js";

const kKeyName = "quiver.api-key";

/** The key lives as long as the browser tab. */
export function apiKey() {
  return sessionStorage.getItem(kKeyName) ?? "";
}

export function setApiKey(key) {
  if (key) sessionStorage.setItem(kKeyName, key);
  else sessionStorage.removeItem(kKeyName);
}

/** What `lib/http.js` needs; can be sent to a worker. */
export function connection() {
  return { base: new URL("..", document.baseURI).href, key: apiKey() };
}

export const call = (method, path, body, signal) => send(connection(), method, path, body, signal);
export const raw = (method, path, body, signal) => exchange(connection(), method, path, body, signal);

/** The `result` of a GET. */
export async function get(path, signal) {
  return (await call("GET", path, undefined, signal)).result;
}

/** The `result` of a POST. */
export async function post(path, body, signal) {
  return (await call("POST", path, body, signal)).result;
}

export const pathOf = (collection, rest = "") => `collections/${encodeURIComponent(collection)}${rest}`;

/** The vector fields of a collection's info: {name, kind: dense | multi | sparse, size, distance}. */
export function fieldsOf(info) {
  const { vectors = {}, sparse_vectors = {} } = info.config.params;
  const named = typeof vectors.size === "number" ? { "": vectors } : vectors;
  const dense = Object.entries(named).map(([name, field]) => (
    { name, kind: field.multivector_config ? "multi" : "dense", size: field.size, distance: field.distance }
  ));
  return [...dense, ...Object.keys(sparse_vectors ?? {}).map((name) => ({ name, kind: "sparse", distance: "Dot" }))];
}

/** The payload keys that texts can be ranked by. */
export function rankedTexts(info) {
  return Object.entries(info.payload_schema)
    .filter(([, schema]) => schema.data_type === "text" && (schema.params?.scoring || schema.params?.type === "bm25"))
    .map(([key]) => key);
}

/** Members of a request that name a field; the unnamed one needs none. */
export const using = (field) => (field ? { using: field } : {});
export const fieldLabel = (name) => (name === "" ? "(unnamed)" : name);
