// Points of an answer as a list.
import { h, replace } from "./dom.js";
import { score } from "./format.js";
import { tree } from "./tree.js";

const kTitles = ["title", "name", "headline", "label", "text"];
const kMaxText = 320;

/** The text of a payload that tells most in one line. */
export function headline(payload = {}) {
  const key = kTitles.find((name) => typeof payload[name] === "string") ??
    Object.keys(payload).find((name) => typeof payload[name] === "string");
  const text = key === undefined ? "" : payload[key];
  return text.length > kMaxText ? `${text.slice(0, kMaxText)}…` : text;
}

/** A fragment's text with its matches marked. Positions count code points of the whole text. */
function marked({ text, offset, matches }) {
  const letters = [...text];
  const parts = [];
  let at = 0;
  for (const [from, to] of matches) {
    parts.push(
      letters.slice(at, from - offset).join(""),
      h("mark", {}, letters.slice(from - offset, to - offset).join("")),
    );
    at = to - offset;
  }
  return [...parts, letters.slice(at).join("")];
}

const paragraph = (fragment) => h("p", { class: "text" }, "… ", marked(fragment), " …");

function details(payload) {
  const place = h("div");
  return h(
    "details",
    { ontoggle: (event) => event.target.open && replace(place, tree(payload)) },
    h("summary", { class: "quiet" }, "payload"),
    place,
  );
}

/** `mark`: {kind: shared | alone, text} or undefined. */
function hit(point, rank, mark) {
  const fragments = Object.values(point.highlights ?? {}).flat();
  const head = headline(point.payload);
  const whole = fragments.find(({ text }) => text === head); // said once, with its marks
  return h(
    "li",
    { class: `hit ${mark?.kind ?? ""}` },
    h(
      "header",
      {},
      h("span", { class: "rank" }, rank + 1),
      h(
        "span",
        {},
        head ? h("span", { class: "headline" }, whole ? marked(whole) : head, " ") : null,
        h("span", { class: "id" }, String(point.id)),
        mark ? h("span", { class: "moved" }, " ", mark.text) : null,
      ),
      point.score === undefined ? null : h("span", { class: "score", title: "score" }, score(point.score)),
    ),
    fragments.filter((fragment) => fragment !== whole).map(paragraph),
    point.payload && Object.keys(point.payload).length > 0 ? details(point.payload) : null,
  );
}

/** A list of points; `marks` by their ids as texts. */
export function hitList(points, marks = new Map()) {
  if (points.length === 0) return h("p", { class: "quiet" }, "No points match.");
  return h("ol", { class: "hits" }, points.map((point, rank) => hit(point, rank, marks.get(String(point.id)))));
}

/** How many ids two lists share, and for each list a mark of each of its ids. */
export function overlap(left, right) {
  const ranks = [left, right].map((points) => new Map(points.map((point, rank) => [String(point.id), rank])));
  const marksOf = (own, other) => new Map([...own].map(([id, rank]) => [id, markOf(rank, other.get(id))]));
  const n_shared = [...ranks[0].keys()].filter((id) => ranks[1].has(id)).length;
  return { n_shared, marks: [marksOf(ranks[0], ranks[1]), marksOf(ranks[1], ranks[0])] };
}

function markOf(rank, other) {
  if (other === undefined) return { kind: "alone", text: "only here" };
  const moved = other - rank;
  return { kind: "shared", text: moved === 0 ? "" : moved > 0 ? `▲ ${moved}` : `▼ ${-moved}` };
}
