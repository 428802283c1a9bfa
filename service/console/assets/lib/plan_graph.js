// The tree of a query's prefetches as a picture: what is searched at the left, the answer at the right.
import { h, svg } from "./dom.js";
import { fieldLabel } from "./api.js";

const kBox = { width: 214, height: 50, gap_x: 46, gap_y: 14 };
const kMaxText = 29;

const shorten = (text) => (text.length > kMaxText ? `${text.slice(0, kMaxText - 1)}…` : text);

const kQueryKinds = {
  text: (query) => `“${query.text?.query ?? query.text}”`,
  fusion: (query) => query.fusion.toUpperCase(),
  rrf: (query) => `RRF${query.rrf?.weights ? ` ${query.rrf.weights.join(" : ")}` : ""}`,
  linear: (query) => `linear ${query.linear?.weights?.join(" : ") ?? ""}`,
  nearest: (query) => nearestText(query.nearest),
  recommend: () => "recommend",
  discover: () => "discover",
  context: () => "context",
  sample: () => "random points",
  order_by: (query) => `by ${query.order_by.key ?? query.order_by}`,
  formula: () => "formula",
};

function nearestText(query) {
  if (Array.isArray(query)) {
    return Array.isArray(query[0]) ? `multi-vector, ${query.length} rows` : `vector, ${query.length} dimensions`;
  }
  if (query?.indices) return `sparse vector, ${query.indices.length} values`;
  if (query?.text) return `“${query.text}”`;
  return `like point ${query}`;
}

/** What a node asks for, in a few words. */
export function queryText(query) {
  if (query === undefined || query === null) return "all points";
  if (typeof query !== "object" || Array.isArray(query) || query.indices) return nearestText(query);
  const kind = Object.keys(query).find((name) => name in kQueryKinds);
  return kind ? kQueryKinds[kind](query) : Object.keys(query).join(", ");
}

const isFusion = (query) => ["fusion", "rrf", "linear"].some((name) => query?.[name] !== undefined);
const prefetchesOf = (node) => (node.prefetch === undefined ? [] : [node.prefetch].flat());

function detailText(node) {
  const parts = [
    node.using !== undefined ? fieldLabel(node.using) : null,
    `limit ${node.limit ?? 10}`,
    node.filter ? "filtered" : null,
    node.params?.exact ? "exact" : null,
    node.params?.hnsw_ef ? `effort ${node.params.hnsw_ef}` : null,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Places the nodes: leaves below each other, each parent at the middle of its children. */
function place(node, depth, rows) {
  const children = prefetchesOf(node).map((child) => place(child, depth + 1, rows));
  const row = children.length > 0 ? (children[0].row + children.at(-1).row) / 2 : rows.n++;
  return { node, depth, row, children, height: Math.max(0, ...children.map((child) => child.height + 1)) };
}

function box(x, y, kind, title, detail) {
  return svg(
    "g",
    { class: kind },
    svg("rect", { x, y, width: kBox.width, height: kBox.height, rx: 9 }),
    svg("text", { x: x + 12, y: y + 21 }, shorten(title)),
    svg("text", { class: "small", x: x + 12, y: y + 39 }, shorten(detail)),
  );
}

function link(from, to) {
  const middle = (from.x + kBox.width + to.x) / 2;
  return svg("path", {
    d: `M${from.x + kBox.width} ${from.y + kBox.height / 2}C${middle} ${from.y + kBox.height / 2} ${middle} ${
      to.y + kBox.height / 2
    } ${to.x} ${to.y + kBox.height / 2}`,
  });
}

function draw(placed, depth, out) {
  const at = {
    x: 1 + (depth - placed.depth) * (kBox.width + kBox.gap_x),
    y: 1 + placed.row * (kBox.height + kBox.gap_y),
  };
  for (const child of placed.children) out.push(link(draw(child, depth, out), at));
  const kind = isFusion(placed.node.query) ? "fusion" : "step";
  out.push(box(at.x, at.y, kind, queryText(placed.node.query), detailText(placed.node)));
  return at;
}

function spoken(node) {
  const children = prefetchesOf(node).map(spoken);
  return children.length > 0
    ? `${queryText(node.query)} of (${children.join("; ")})`
    : `${queryText(node.query)}, ${detailText(node)}`;
}

/** A picture of the request's steps. */
export function planGraph(request) {
  const rows = { n: 0 };
  const root = place(request, 0, rows);
  const out = [];
  const end = draw(root, root.height, out);
  const answer = { x: end.x + kBox.width + kBox.gap_x, y: end.y };
  out.push(link(end, answer), box(answer.x, answer.y, "result", "Answer", `${request.limit ?? 10} points`));
  const size = { width: answer.x + kBox.width + 2, height: rows.n * (kBox.height + kBox.gap_y) };
  return h(
    "div",
    { class: "graph", tabindex: "0", role: "img", "aria-label": `Steps: ${spoken(request)}` },
    svg("svg", { ...size, "aria-hidden": "true" }, out),
  );
}
