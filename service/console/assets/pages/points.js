// The points of a collection: filter, payload, edit, delete, neighbours.
import { button, h, labelled, redraw, replace, select, tabs } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf, post, using } from "../lib/api.js";
import { guarded, notify, openDialog } from "../lib/dialog.js";
import { filterEditor, orNothing } from "../lib/filter.js";
import { count } from "../lib/format.js";
import { take } from "../lib/handoff.js";
import { hitList } from "../lib/hits.js";
import { parseJson, readJson, writeJson } from "../lib/http.js";
import { payloadKeys } from "../lib/payload_keys.js";
import { jsonText, tree } from "../lib/tree.js";

const kPageSizes = [10, 25, 50, 100];
const kNeighbours = 6;

function editPayload(context, point) {
  const text = h("textarea", {
    rows: 16,
    spellcheck: "false",
    "aria-label": "Payload as JSON",
    value: writeJson(point.payload ?? {}, 2),
  });
  openDialog(`Payload of point ${point.id}`, text, async () => {
    const payload = readJson(text.value, "The payload");
    await call("PUT", pathOf(context.collection, "/points/payload?wait=true"), { payload, points: [point.id] });
    notify(`The payload of point ${point.id} is saved.`);
    context.reload();
    return true;
  }, "Save");
}

function deletePoint(context, point) {
  openDialog(
    `Delete point ${point.id}`,
    h("p", {}, "Its vectors and payload will be lost."),
    async () => {
      await post(pathOf(context.collection, "/points/delete?wait=true"), { points: [point.id] });
      notify(`Point ${point.id} is deleted.`);
      context.reload();
      return true;
    },
    "Delete",
    "danger",
  );
}

/** Fields of the point itself can be asked for; a point may lack some. */
function showNeighbours(context, point, place) {
  const list = h("div");
  const load = (field) =>
    guarded(list, async () => {
      const { result, answer } = await call("POST", pathOf(context.collection, "/points/query"), {
        query: point.id,
        ...using(field),
        limit: kNeighbours,
        with_payload: true,
      }, context.signal);
      replace(list, h("p", { class: "quiet" }, `${(1000 * answer.time).toFixed(2)} ms`), hitList(result.points));
    });
  const names = context.fields.map((field) => field.name);
  const picker = select(
    { onchange: () => load(picker.value) },
    names.map((name) => [name, fieldLabel(name)]),
    names[0],
  );
  replace(
    place,
    h(
      "div",
      { class: "neighbours" },
      h(
        "div",
        { class: "title" },
        h("h3", {}, "Nearest points"),
        h(
          "div",
          { class: "actions" },
          names.length > 1 ? labelled("Vector", picker) : null,
          button("Close", () => replace(place), { class: "plain" }),
        ),
      ),
      list,
    ),
  );
  return load(names[0]);
}

async function showVectors(context, point, place) {
  await guarded(place, async () => {
    const [found] = await post(pathOf(context.collection, "/points"), {
      ids: [point.id],
      with_vector: true,
      with_payload: false,
    });
    replace(
      place,
      h(
        "div",
        { class: "neighbours" },
        h(
          "div",
          { class: "title" },
          h("h3", {}, "Vectors"),
          button("Close", () => replace(place), { class: "plain" }),
        ),
        tree(found?.vector ?? {}),
      ),
    );
  });
}

function pointCard(context, point) {
  const below = h("div");
  const payload = point.payload ?? {};
  const is_empty = Object.keys(payload).length === 0;
  const plain = (text, work) => button(text, work, { class: "plain", "aria-label": `${text}: point ${point.id}` });
  return h(
    "article",
    { class: "card point", "aria-label": `Point ${point.id}` },
    h(
      "header",
      {},
      h("h2", {}, String(point.id)),
      h(
        "div",
        { class: "actions" },
        context.fields.length > 0 ? plain("Nearest", () => showNeighbours(context, point, below)) : null,
        context.fields.length > 0 ? plain("Vectors", () => showVectors(context, point, below)) : null,
        plain("Edit", () => editPayload(context, point)),
        plain("Delete", () => deletePoint(context, point)),
      ),
    ),
    is_empty ? h("p", { class: "quiet" }, "no payload") : context.view === "json" ? jsonText(payload) : tree(payload),
    below,
  );
}

/** The points that match the filter, page by page. */
class PointList {
  constructor(context) {
    Object.assign(this, { context, points: [], starts: [undefined], turn: 0 });
    this.element = h("div");
    this.total = h("p", { class: "quiet", role: "status" });
    context.reload = () => this.load();
  }

  /** Reads a page with `scroll`. An answer that a later request has overtaken is dropped. */
  async load() {
    const turn = ++this.turn;
    const { collection, filter, size, signal } = this.context;
    const body = { limit: size, filter: orNothing(filter), with_payload: true, offset: this.starts.at(-1) };
    await guarded(this.element, async () => {
      const { points, next_page_offset } = await post(pathOf(collection, "/points/scroll"), body, signal);
      if (turn !== this.turn) return;
      Object.assign(this, { points, next: next_page_offset ?? undefined });
      this.draw();
    });
    return turn === this.turn;
  }

  async restart() {
    this.starts = [undefined];
    if (!await this.load()) return;
    await guarded(this.total, async () => {
      const { collection, filter, info, signal } = this.context;
      const { count: n } = await post(pathOf(collection, "/points/count"), { filter: orNothing(filter) }, signal);
      replace(this.total, `${count(n)} of ${count(info.points_count)} points`);
    });
  }

  draw() {
    const cards = this.points.map((point) => pointCard(this.context, point));
    const nothing = h("div", { class: "empty" }, "No points match.");
    redraw(this.element, cards.length > 0 ? cards : nothing, this.pager());
  }

  pager() {
    const back = () => {
      this.starts.pop();
      this.load();
    };
    const on = () => {
      this.starts.push(this.next);
      this.load();
    };
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      button("← Previous", back, { disabled: this.starts.length === 1 }),
      h("span", { class: "quiet" }, `page ${this.starts.length}`),
      button("Next →", on, { disabled: this.next === undefined }),
    );
  }
}

/** How many points a page has, and how payloads are shown. */
function viewControls(context, list) {
  const resize = () => {
    context.size = Number(size.value);
    list.restart();
  };
  const sizes = kPageSizes.map((n) => [n, `${n} a page`]);
  const size = select({ "aria-label": "Points a page", onchange: resize }, sizes, context.size);
  const views = tabs("Payload as", [["tree", "Tree"], ["json", "JSON"]], context.view, (view) => {
    context.view = view;
    list.draw();
  });
  return h("div", { class: "actions" }, size, views);
}

export async function show(content, { collection, parameters, signal }) {
  const info = await get(pathOf(collection), signal);
  const filter = take("filter") ?? (parameters.has("filter") ? parseJson(parameters.get("filter")) : {});
  const context = { collection, signal, info, fields: fieldsOf(info), view: "tree", size: kPageSizes[1], filter };
  const list = new PointList(context);
  const keys = await payloadKeys(collection, info, signal);
  const editor = filterEditor(keys, filter, (changed) => {
    context.filter = changed;
    list.restart();
  });
  replace(
    content,
    h("h1", {}, "Points"),
    h("section", {}, editor.element),
    h("div", { class: "title" }, list.total, viewControls(context, list)),
    list.element,
  );
  await list.restart();
}
