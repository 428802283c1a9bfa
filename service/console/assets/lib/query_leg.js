// One search of a request as a form: by text, vector, point or sparse vector.
import { button, h, labelled, replace, select, tabs } from "./dom.js";
import { fieldLabel, pathOf, post, using } from "./api.js";
import { guarded } from "./dialog.js";
import { ApiError, readJson, writeJson } from "./http.js";
import { parseValue } from "./filter.js";

/** Reads `12:0.5 77:1` or {"indices": […], "values": […]}. */
export function parseSparse(text) {
  if (text.trim().startsWith("{")) return readJson(text, "The sparse vector");
  const pairs = text.trim().split(/[\s,]+/).filter(Boolean).map((pair) => pair.split(":").map(Number));
  if (pairs.length === 0 || pairs.some((pair) => pair.length !== 2 || pair.some(Number.isNaN))) {
    throw new ApiError(0, "A sparse vector is written 12:0.5 77:1, or as JSON with indices and values.");
  }
  return { indices: pairs.map(([index]) => index), values: pairs.map(([, value]) => value) };
}

/** The kinds of query: [name, label, fields that it fits, placeholder, query of a text]. */
const kKinds = {
  text: {
    label: "Text",
    fits: (context) => context.texts,
    placeholder: "words to look for",
    read: (text) => ({ text }),
  },
  id: {
    label: "Like a point",
    fits: (context) => context.fields.map((field) => field.name),
    placeholder: "id of a point",
    read: (text) => {
      if (text.trim() === "") throw new ApiError(0, "Which point? Give its id.");
      return parseValue(text.trim());
    },
  },
  vector: {
    label: "Vector",
    fits: (context) => context.fields.filter((field) => field.kind !== "sparse").map((field) => field.name),
    placeholder: "[0.1, 0.2, …]",
    read: (text) => readJson(text, "The vector"),
  },
  sparse: {
    label: "Sparse vector",
    fits: (context) => context.fields.filter((field) => field.kind === "sparse").map((field) => field.name),
    placeholder: "12:0.5 77:1",
    read: parseSparse,
  },
};

export const kindsOf = (context) => Object.keys(kKinds).filter((kind) => kKinds[kind].fits(context).length > 0);

/** A random point's id or vector, as the text of the form. */
async function randomText(context, kind, field) {
  const wants_vector = kind !== "id";
  const { points } = await post(pathOf(context.collection, "/points/query"), {
    query: { sample: "random" },
    limit: 1,
    with_vector: wants_vector ? (field === "" ? true : [field]) : false,
    with_payload: kind === "text" ? [field] : false,
  });
  const [point] = points;
  if (!point) throw new ApiError(0, "The collection has no points.");
  if (kind === "id") return String(point.id);
  if (kind === "text") return String([point.payload?.[field] ?? ""].flat()[0]).split(/\s+/).slice(0, 8).join(" ");
  const vector = field === "" ? point.vector : point.vector?.[field];
  if (kind !== "sparse") return writeJson(vector);
  return vector.indices.map((index, i) => `${index}:${vector.values[i]}`).join(" ");
}

/** A form for one search. `context`: {collection, fields, texts}; `changed()` is called after each change. */
export class QueryLeg {
  /** `initial`: {kind, field, text}, of which `kind` is one of `kindsOf`. */
  constructor(context, initial, changed, { limit: has_limit = false } = {}) {
    Object.assign(this, { context, changed, has_limit, kind: initial.kind, field: initial.field });
    this.text = h("textarea", { rows: 2, spellcheck: "false", "aria-label": "Query", oninput: changed });
    this.text.value = initial.text ?? "";
    this.limit = h("input", { type: "number", min: 1, max: 10000, value: 100, oninput: changed });
    this.fields = h("span");
    this.problem = h("div");
    this.drawFields();
    this.element = h("div", { class: "rows" }, this.controls(), this.text, this.problem);
  }

  controls() {
    const kinds = kindsOf(this.context).map((kind) => [kind, kKinds[kind].label]);
    const pick = (kind) => {
      this.kind = kind;
      this.text.value = "";
      this.drawFields();
      this.changed();
    };
    const random = button("Random", () => this.takeRandom(), { title: "Take it from a random point" });
    const limit = this.has_limit ? labelled("Limit", this.limit) : null;
    return h("div", { class: "row" }, tabs("Search by", kinds, this.kind, pick), this.fields, limit, random);
  }

  /** Draws the choice among the fields that fit the kind of query. */
  drawFields() {
    const names = kKinds[this.kind].fits(this.context);
    if (!names.includes(this.field)) [this.field] = names;
    const onchange = () => {
      this.field = picker.value;
      this.changed();
    };
    const picker = select({ onchange }, names.map((name) => [name, fieldLabel(name)]), this.field);
    replace(this.fields, labelled(this.kind === "text" ? "Key" : "Vector", picker));
    this.text.placeholder = kKinds[this.kind].placeholder;
  }

  async takeRandom() {
    await guarded(this.problem, async () => {
      replace(this.problem);
      this.text.value = await randomText(this.context, this.kind, this.field);
      this.changed();
    });
  }

  /** {query, using, limit}. Throws what is missing. */
  read() {
    const limit = this.has_limit ? { limit: Number(this.limit.value) } : {};
    return { query: kKinds[this.kind].read(this.text.value), ...using(this.field), ...limit };
  }

  /** What makes the same form again. */
  state() {
    return { kind: this.kind, field: this.field, text: this.text.value };
  }
}
