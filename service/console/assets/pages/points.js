// The points of a collection: filter, payload, edit, delete, neighbours.
import { h, redraw, replace, button, labelled, select } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf, post, using } from "../lib/api.js";
import { guarded, notify, openDialog } from "../lib/dialog.js";
import { filterEditor, orNothing } from "../lib/filter.js";
import { count } from "../lib/format.js";
import { take } from "../lib/handoff.js";
import { hitList } from "../lib/hits.js";
import { parseJson, writeJson } from "../lib/http.js";
import { jsonText, tree } from "../lib/tree.js";

const kPageSizes = [10, 25, 50, 100];
const kNeighbours = 6;

function editPayload(context, point) {
  const text = h("textarea", { rows: 16, spellcheck: "false", "aria-label": "Payload as JSON", value: writeJson(point.payload ?? {}, 2) });
  openDialog(`Payload of point ${point.id}`, text, async () => {
    let payload;
    try {
      payload = parseJson(text.value);
    } catch (error) {
      throw Object.assign(error, { status: 0 });
    }
    await call("PUT", pathOf(context.collection, "/points/payload?wait=true"), { payload, points: [point.id] });
    notify(`The payload of point ${point.id} is saved.`);
    context.reload();
    return true;
  }, "Save");
}

function deletePoint(context, point) {
  openDialog(`Delete point ${point.id}`, h("p", {}, "Its vectors and payload will be lost."), async () => {
    await post(pathOf(context.collection, "/points/delete?wait=true"), { points: [point.id] });
    notify(`Point ${point.id} is deleted.`);
    context.reload();
    return true;
  }, "Delete", "danger");
}

/** Fields of the point itself can be asked for; a point may lack some. */
function showNeighbours(context, point, place) {
  const list = h("div");
  const load = (field) => guarded(list, async () => {
    const { result, answer } = await call("POST", pathOf(context.collection, "/points/query"),
      { query: point.id, ...using(field), limit: kNeighbours, with_payload: true }, context.signal);
    replace(list, h("p", { class: "quiet" }, `${(1000 * answer.time).toFixed(2)} ms`), hitList(result.points));
  });
  const names = context.fields.map((field) => field.name);
  const picker = select({ onchange: () => load(picker.value) }, names.map((name) => [name, fieldLabel(name)]), names[0]);
  replace(place, h("div", { class: "neighbours" }, h("div", { class: "title" }, h("h3", {}, "Nearest points"),
    h("div", { class: "actions" }, names.length > 1 ? labelled("Vector", picker) : null,
      button("Close", () => replace(place), { class: "plain" }))), list));
  return load(names[0]);
}

async function showVectors(context, point, place) {
  await guarded(place, async () => {
    const [found] = await post(pathOf(context.collection, "/points"), { ids: [point.id], with_vector: true, with_payload: false });
    replace(place, h("div", { class: "neighbours" }, h("div", { class: "title" }, h("h3", {}, "Vectors"),
      button("Close", () => replace(place), { class: "plain" })), tree(found?.vector ?? {})));
  });
}

function pointCard(context, point) {
  const below = h("div");
  const payload = point.payload ?? {};
  const is_empty = Object.keys(payload).length === 0;
  const plain = (text, work) => button(text, work, { class: "plain", "aria-label": `${text}: point ${point.id}` });
  return h("article", { class: "card point", "aria-label": `Point ${point.id}` },
    h("header", {}, h("h2", {}, String(point.id)), h("div", { class: "actions" },
      context.fields.length > 0 ? plain("Nearest", () => showNeighbours(context, point, below)) : null,
      context.fields.length > 0 ? plain("Vectors", () => showVectors(context, point, below)) : null,
      plain("Edit", () => editPayload(context, point)), plain("Delete", () => deletePoint(context, point)))),
    is_empty ? h("p", { class: "quiet" }, "no payload") : context.view === "json" ? jsonText(payload) : tree(payload), below);
}

/** Reads pages with `scroll`, and remembers where each began. */
class Pages {
  constructor(context) {
    this.context = context;
    this.starts = [undefined];
  }

  restart() {
    this.starts = [undefined];
  }

  async load() {
    const { collection, filter, size, signal } = this.context;
    const body = { limit: size, filter: orNothing(filter), with_payload: true, offset: this.starts.at(-1) };
    const { points, next_page_offset } = await post(pathOf(collection, "/points/scroll"), body, signal);
    this.next = next_page_offset ?? undefined;
    return points;
  }
}

function pager(pages, load) {
  const back = button("← Previous", () => { pages.starts.pop(); load(); }, { disabled: pages.starts.length === 1 });
  const on = button("Next →", () => { pages.starts.push(pages.next); load(); }, { disabled: pages.next === undefined });
  return h("nav", { class: "pager", "aria-label": "Pages" }, back, h("span", { class: "quiet" }, `page ${pages.starts.length}`), on);
}

function viewTabs(context, draw) {
  const tabs = ["tree", "json"].map((view) => button(view === "tree" ? "Tree" : "JSON", () => {
    context.view = view;
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(["tree", "json"][i] === view)));
    draw();
  }, { "aria-pressed": String(context.view === view) }));
  return h("div", { class: "tabs", role: "group", "aria-label": "Payload as" }, tabs);
}

export async function show(content, { collection, parameters, signal }) {
  const info = await get(pathOf(collection), signal);
  const initial = take("filter") ?? (parameters.has("filter") ? parseJson(parameters.get("filter")) : {});
  const context = { collection, signal, fields: fieldsOf(info), view: "tree", size: kPageSizes[1], filter: initial };
  const pages = new Pages(context);
  const list = h("div");
  const total = h("p", { class: "quiet", role: "status" });
  let points = [];
  const draw = () => redraw(list, points.length > 0 ? points.map((point) => pointCard(context, point))
    : h("div", { class: "empty" }, "No points match."), pager(pages, context.reload));
  context.reload = () => guarded(list, async () => {
    points = await pages.load();
    draw();
  });
  const restart = async () => {
    pages.restart();
    await context.reload();
    await guarded(total, async () => {
      const { result } = await call("POST", pathOf(collection, "/points/count"), { filter: orNothing(context.filter) }, signal);
      replace(total, `${count(result.count)} of ${count(info.points_count)} points`);
    });
  };
  const editor = filterEditor(Object.keys(info.payload_schema), context.filter, (filter) => { context.filter = filter; restart(); });
  const size = select({ "aria-label": "Points a page", onchange: () => { context.size = Number(size.value); restart(); } },
                      kPageSizes.map((n) => [n, `${n} a page`]), context.size);
  replace(content, h("h1", {}, "Points"), h("section", {}, editor.element),
          h("div", { class: "title" }, total, h("div", { class: "actions" }, size, viewTabs(context, draw))), list);
  await restart();
}
