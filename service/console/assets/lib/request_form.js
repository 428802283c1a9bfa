// The form of a request: one search, or several that are fused.
import { h, replace, button, labelled, select } from "./dom.js";
import { kindsOf, queryLeg } from "./query_leg.js";

const kFusions = [["rrf", "RRF: by ranks"], ["dbsf", "DBSF: by scores"], ["linear", "Linear: weighted scores"]];

function fusionQuery(kind, weights) {
  if (kind !== "linear") return { fusion: kind };
  return { linear: weights.length > 0 ? { weights } : {} };
}

/** A form without searches, for collections that have nothing to search by. */
const nothing = () => ({ element: h("p", { class: "quiet" }, "This collection has no vectors and no ranked text index, so there is nothing to search by."),
                         read: () => ({}), texts: () => [] });

/**
 * Returns {element, read(), texts()}; `read` gives the members of the request that say what is searched, `texts` the keys
 * that it ranks by words.
 * `initial`: {kind, field, text}. `changed()` is called after each change.
 */
export function requestForm(context, initial, changed) {
  const kinds = kindsOf(context);
  if (kinds.length === 0) return nothing();
  const start = kinds.includes(initial.kind) ? initial : { kind: kinds[0] };
  let legs = [];
  const list = h("div", { class: "legs" });
  const fusion = select({ onchange: () => { weights.parentElement.hidden = fusion.value !== "linear"; changed(); } }, kFusions, "rrf");
  const weights = h("input", { placeholder: "1, 1", oninput: () => changed() });
  const fusing = h("div", { class: "row", hidden: true }, labelled("Fusion", fusion), labelled("Weights", weights));
  weights.parentElement.hidden = true;
  const draw = () => {
    const is_hybrid = legs.length > 1;
    fusing.hidden = !is_hybrid;
    replace(list, legs.map((leg) => h("div", { class: is_hybrid ? "leg" : "" }, leg.element,
      is_hybrid ? button("Remove this search", () => { legs = legs.filter((other) => other !== leg); draw(); changed(); }, { class: "plain" }) : null)));
  };
  const add = (from) => {
    legs.push(queryLeg(context, from, changed, { limit: legs.length > 0 || from.with_limit }));
    draw();
  };
  add(start);
  const another = button("Add a search (hybrid)", () => {
    const other = kinds.find((kind) => kind !== start.kind) ?? kinds[0];
    if (legs.length === 1) legs = [queryLeg(context, legs[0].state(), changed, { limit: true })];
    add({ kind: other });
    changed();
  });
  const read = () => {
    if (legs.length === 1) {
      const { limit: _, ...only } = legs[0].read();
      return only;
    }
    const numbers = weights.value.split(",").map((part) => part.trim()).filter(Boolean).map(Number);
    return { prefetch: legs.map((leg) => leg.read()), query: fusionQuery(fusion.value, numbers) };
  };
  const texts = () => [...new Set(legs.map((leg) => leg.state()).filter(({ kind }) => kind === "text").map(({ field }) => field))];
  return { element: h("div", { class: "rows" }, list, h("div", { class: "row" }, fusing, another)), read, texts };
}
