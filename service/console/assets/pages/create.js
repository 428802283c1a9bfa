// The form that creates a collection.
import { button, h, labelled, select } from "../lib/dom.js";
import { call, pathOf } from "../lib/api.js";
import { notify, openDialog } from "../lib/dialog.js";
import { addressOf } from "../lib/frame.js";
import { readJson, writeJson } from "../lib/http.js";

const kDistances = ["Cosine", "Dot", "Euclid", "Manhattan"];
const kKinds = [["dense", "dense"], ["multi", "multi-vector"], ["sparse", "sparse"]];

function fieldRow(changed, remove) {
  const name = h("input", { placeholder: "unnamed", oninput: changed });
  const size = h("input", { type: "number", min: 1, max: 65536, value: 384, oninput: changed });
  const distance = select({ onchange: changed }, kDistances, "Cosine");
  const sized = [labelled("Dimensions", size), labelled("Distance", distance)];
  const kind = select(
    {
      onchange: () => {
        sized.forEach((one) => {
          one.hidden = kind.value === "sparse";
        });
        changed();
      },
    },
    kKinds,
    "dense",
  );
  const element = h(
    "div",
    { class: "row" },
    labelled("Vector", name),
    labelled("Kind", kind),
    sized,
    button("Remove", () => {
      element.remove();
      remove();
    }, { class: "plain" }),
  );
  const read = () => ({
    name: name.value.trim(),
    kind: kind.value,
    size: Number(size.value),
    distance: distance.value,
  });
  return { element, read };
}

/** The body of the request that creates these fields. */
export function creationBody(fields) {
  const dense = fields.filter((field) => field.kind !== "sparse");
  const sparse = fields.filter((field) => field.kind === "sparse");
  const config = ({ size, distance, kind }) => (
    kind === "multi" ? { size, distance, multivector_config: { comparator: "max_sim" } } : { size, distance }
  );
  const is_unnamed = dense.length === 1 && dense[0].name === "";
  const vectors = is_unnamed ? config(dense[0]) : Object.fromEntries(dense.map((field) => [field.name, config(field)]));
  const body = { vectors };
  if (sparse.length > 0) body.sparse_vectors = Object.fromEntries(sparse.map((field) => [field.name, {}]));
  return body;
}

/** Opens the form; calls `created` when the collection is there. */
export function createCollection(created) {
  const name = h("input", { required: true, autocomplete: "off" });
  const rows = h("div", { class: "rows" });
  const json = h("textarea", { rows: 8, spellcheck: "false", "aria-label": "Request body" });
  let fields = [];
  const changed = () => {
    json.value = writeJson(creationBody(fields.map((field) => field.read())), 2);
  };
  const add = () => {
    const field = fieldRow(changed, () => {
      fields = fields.filter((other) => other !== field);
      changed();
    });
    fields.push(field);
    rows.append(field.element);
    changed();
  };
  add();
  openDialog("New collection", [
    labelled("Name", name),
    rows,
    button("Add a vector", add),
    h("p", { class: "quiet" }, "Without vectors, points hold only payloads, which texts can be searched in."),
    h("details", {}, h("summary", {}, "Request body"), json),
  ], async () => {
    await call("PUT", pathOf(name.value.trim()), readJson(json.value, "The body"));
    notify(`${name.value.trim()} is created.`);
    created();
    location.hash = addressOf("overview", name.value.trim());
    return true;
  }, "Create");
}
