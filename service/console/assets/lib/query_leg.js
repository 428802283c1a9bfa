// One search of a request as a form: by text, vector, point or sparse vector.
import { h, append, button, labelled, replace, select } from "./dom.js";
import { fieldLabel, pathOf, post, using } from "./api.js";
import { guarded } from "./dialog.js";
import { parseJson, writeJson } from "./http.js";
import { parseValue } from "./filter.js";

const fault = (text) => Object.assign(new Error(text), { status: 0 });

function parsed(text, what) {
  try {
    return parseJson(text);
  } catch {
    throw fault(`${what} is not JSON.`);
  }
}

/** Reads `12:0.5 77:1` or {"indices": […], "values": […]}. */
export function parseSparse(text) {
  if (text.trim().startsWith("{")) return parsed(text, "The sparse vector");
  const pairs = text.trim().split(/[\s,]+/).filter(Boolean).map((pair) => pair.split(":").map(Number));
  if (pairs.length === 0 || pairs.some((pair) => pair.length !== 2 || pair.some(Number.isNaN))) {
    throw fault("A sparse vector is written 12:0.5 77:1, or as JSON with indices and values.");
  }
  return { indices: pairs.map(([index]) => index), values: pairs.map(([, value]) => value) };
}

/** The kinds of query: [name, label, fields that it fits, placeholder, query of a text]. */
const kKinds = {
  text: { label: "Text", fits: (context) => context.texts, placeholder: "words to look for", read: (text) => ({ text }) },
  id: { label: "Like a point", fits: (context) => context.fields.map((field) => field.name), placeholder: "id of a point",
        read: (text) => { if (text.trim() === "") throw fault("Which point? Give its id."); return parseValue(text.trim()); } },
  vector: { label: "Vector", fits: (context) => context.fields.filter((field) => field.kind !== "sparse").map((field) => field.name),
            placeholder: "[0.1, 0.2, …]", read: (text) => parsed(text, "The vector") },
  sparse: { label: "Sparse vector", fits: (context) => context.fields.filter((field) => field.kind === "sparse").map((field) => field.name),
            placeholder: "12:0.5 77:1", read: parseSparse },
};

export const kindsOf = (context) => Object.keys(kKinds).filter((kind) => kKinds[kind].fits(context).length > 0);

/** A random point's id or vector, as the text of the form. */
async function randomText(context, kind, field) {
  const wants_vector = kind !== "id";
  const { points } = await post(pathOf(context.collection, "/points/query"), {
    query: { sample: "random" }, limit: 1, with_vector: wants_vector ? (field === "" ? true : [field]) : false, with_payload: kind === "text" ? [field] : false });
  const [point] = points;
  if (!point) throw fault("The collection has no points.");
  if (kind === "id") return String(point.id);
  if (kind === "text") return String([point.payload?.[field] ?? ""].flat()[0]).split(/\s+/).slice(0, 8).join(" ");
  const vector = field === "" ? point.vector : point.vector?.[field];
  if (kind !== "sparse") return writeJson(vector);
  return vector.indices.map((index, i) => `${index}:${vector.values[i]}`).join(" ");
}

/**
 * A form for one search. `context`: {collection, fields, texts}; `changed()` is called after each change.
 * Returns {element, read(), state()}; `read` gives {query, using, limit} or throws what is missing.
 */
export function queryLeg(context, initial, changed, { limit: with_limit = false } = {}) {
  let kind = initial.kind;
  let field = initial.field;
  const text = h("textarea", { rows: 2, spellcheck: "false", "aria-label": "Query", value: initial.text ?? "", oninput: () => changed() });
  const limit = h("input", { type: "number", min: 1, max: 10000, value: initial.limit ?? 100, oninput: () => changed() });
  const fields = h("span");
  const problem = h("div");
  const drawFields = () => {
    const names = kKinds[kind].fits(context);
    if (!names.includes(field)) [field] = names;
    const picker = select({ onchange: () => { field = picker.value; changed(); } }, names.map((name) => [name, fieldLabel(name)]), field);
    replace(fields, labelled(kind === "text" ? "Key" : "Vector", picker));
    text.placeholder = kKinds[kind].placeholder;
  };
  const kinds = kindsOf(context);
  const tabs = kinds.map((name) => button(kKinds[name].label, () => {
    kind = name;
    text.value = "";
    markTabs();
    drawFields();
    changed();
  }));
  const markTabs = () => tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(kinds[i] === kind)));
  const random = button("Random", () => guarded(problem, async () => {
    text.value = await randomText(context, kind, field);
    changed();
  }), { title: "Take it from a random point" });
  markTabs();
  drawFields();
  const element = append(h("div", { class: "rows" }), [
    h("div", { class: "row" }, h("div", { class: "tabs", role: "group", "aria-label": "Search by" }, tabs), fields,
      with_limit ? labelled("Limit", limit) : null, random),
    text, problem]);
  const read = () => ({ query: kKinds[kind].read(text.value), ...using(field), ...(with_limit ? { limit: Number(limit.value) } : {}) });
  /** What makes the same form again. */
  const state = () => ({ kind, field, text: text.value });
  return { element, read, state };
}
