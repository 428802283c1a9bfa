// The form of a request: one search, or several that are fused.
import { button, h, labelled, replace, select } from "./dom.js";
import { kindsOf, QueryLeg } from "./query_leg.js";

const kFusions = [["rrf", "RRF: by ranks"], ["dbsf", "DBSF: by scores"], ["linear", "Linear: weighted scores"]];

function fusionQuery(kind, weights) {
  if (kind !== "linear") return { fusion: kind };
  return { linear: weights.length > 0 ? { weights } : {} };
}

/** For collections that have nothing to search by. */
class EmptyForm {
  element = h("p", { class: "quiet" }, "This collection has no vectors and no ranked text index to search by.");
  read = () => ({});
  texts = () => [];
}

class RequestForm {
  constructor(context, kinds, initial, changed) {
    Object.assign(this, { context, kinds, changed, legs: [new QueryLeg(context, initial, changed)] });
    this.list = h("div", { class: "legs" });
    this.weights = h("input", { placeholder: "1, 1", oninput: changed });
    this.weighing = labelled("Weights", this.weights);
    const onchange = () => {
      this.draw();
      changed();
    };
    this.fusion = select({ onchange }, kFusions, "rrf");
    this.fusing = h("div", { class: "row" }, labelled("Fusion", this.fusion), this.weighing);
    const another = button("Add a search (hybrid)", () => this.add());
    this.element = h("div", { class: "rows" }, this.list, h("div", { class: "row" }, this.fusing, another));
    this.draw();
  }

  draw() {
    const is_hybrid = this.legs.length > 1;
    this.fusing.hidden = !is_hybrid;
    this.weighing.hidden = this.fusion.value !== "linear";
    replace(this.list, this.legs.map((leg) => is_hybrid ? this.box(leg) : leg.element));
  }

  box(leg) {
    const remove = button("Remove this search", () => {
      this.legs = this.legs.filter((other) => other !== leg);
      this.draw();
      this.changed();
    }, { class: "plain" });
    return h("div", { class: "leg" }, leg.element, remove);
  }

  /** Adds a search, of another kind than the first where there is one. */
  add() {
    const leg = (initial) => new QueryLeg(this.context, initial, this.changed, { limit: true });
    if (this.legs.length === 1) this.legs = [leg(this.legs[0].state())];
    const first = this.legs[0].state().kind;
    this.legs.push(leg({ kind: this.kinds.find((kind) => kind !== first) ?? first }));
    this.draw();
    this.changed();
  }

  /** The members of the request that say what is searched. Throws what is missing. */
  read() {
    if (this.legs.length === 1) {
      const { limit: _, ...only } = this.legs[0].read();
      return only;
    }
    const weights = this.weights.value.split(",").map((part) => part.trim()).filter(Boolean).map(Number);
    return { prefetch: this.legs.map((leg) => leg.read()), query: fusionQuery(this.fusion.value, weights) };
  }

  /** The keys that are ranked by words. */
  texts() {
    const states = this.legs.map((leg) => leg.state());
    return [...new Set(states.filter(({ kind }) => kind === "text").map(({ field }) => field))];
  }
}

/** The form of a collection. `initial`: {kind, field, text}; `changed()` is called after each change. */
export function requestForm(context, initial, changed) {
  const kinds = kindsOf(context);
  if (kinds.length === 0) return new EmptyForm();
  return new RequestForm(context, kinds, kinds.includes(initial.kind) ? initial : { kind: kinds[0] }, changed);
}
