// A map of a dense field: a random sample, projected to two dimensions.
import { button, h, labelled, redraw, replace, select } from "../lib/dom.js";
import { connection, fieldLabel, fieldsOf, get, pathOf, post } from "../lib/api.js";
import { colourGroups, rgb, valueOf } from "../lib/colours.js";
import { guarded } from "../lib/dialog.js";
import { count, percent } from "../lib/format.js";
import { addressOf } from "../lib/frame.js";
import { leave } from "../lib/handoff.js";
import { headline } from "../lib/hits.js";
import { makePlot } from "../lib/plot.js";
import { projectSample } from "../lib/project.js";

const kSizes = [1000, 5000, 20000, 50000, 100000];
const kMaxTold = 6;
const kLabelKeys = ["title", "name", "headline", "label"];
const kDimmed = 28;
const kFaint = 100;
const kOpaque = 215;

/** Keys that points have: keywords first, then those with the shortest values, which are good to colour by. */
async function keysOf(collection, info, signal) {
  const { points } = await post(pathOf(collection, "/points/scroll"), { limit: 20, with_payload: true }, signal);
  const keys = new Set(points.flatMap((point) => Object.keys(point.payload ?? {})));
  for (const key of Object.keys(info.payload_schema)) keys.add(key);
  const lengthOf = (key) =>
    Math.max(
      0,
      ...points.map((point) =>
        JSON.stringify(point.payload?.[key] ?? "", (_, value) => (typeof value === "bigint" ? String(value) : value))
          .length
      ),
    );
  const rankOf = (key) => (info.payload_schema[key]?.data_type === "keyword" ? 0 : 1000) + lengthOf(key);
  return [...keys].sort((a, b) => rankOf(a) - rankOf(b) || a.localeCompare(b));
}

/** The keys whose values are read: for colours, and for the label of a point. */
const wantedKeys = (map) => [...new Set([map.colour.value, ...map.label_keys].filter((key) => key !== ""))];

/** The sample, its colours and what is chosen of it. `controls` sets the choices that it reads. */
class PointMap {
  constructor(collection, signal, keys) {
    const label_keys = kLabelKeys.filter((key) => keys.includes(key)).slice(0, 1);
    Object.assign(this, { collection, signal, label_keys, points: [], xy: new Float32Array(0) });
    this.plot = makePlot((i) => this.labelOf(i), (found) => this.choose(found), signal);
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Colours" });
    this.choice = h("div", { role: "status" });
    this.progress = h("progress", { max: 1, value: 0, "aria-label": "Loading" });
    this.told = h("small");
  }

  labelOf(i) {
    const { id, payload } = this.points[i];
    const value = this.colour.value === "" ? undefined : valueOf(payload ?? {}, this.colour.value);
    return [headline(payload) || id, value].filter((part) => part !== undefined).join(" · ");
  }

  /** Takes a message of the worker. */
  receive({ points, n_read, first, xy }) {
    if (points) {
      this.points = points;
      this.xy = new Float32Array(0);
      this.chosen = undefined;
      this.colourPoints();
    }
    if (n_read) this.tell(n_read);
    if (xy) {
      this.xy = joined(this.xy, xy);
      this.tell(first + xy.length / 2);
      this.draw();
      if (first === 0 || first + xy.length / 2 === this.points.length) this.plot.scatter.fit();
    }
  }

  tell(n) {
    this.progress.value = this.points.length ? n / this.points.length : 0;
    this.progress.hidden = n === this.points.length;
    replace(this.told, `${count(n)} of ${count(this.points.length)} points`);
  }

  /** Reads the values of another key; the points stay where they are. */
  async recolour() {
    const { points } = this;
    const found = await post(pathOf(this.collection, "/points"), {
      ids: points.map((point) => point.id),
      with_payload: wantedKeys(this),
    }, this.signal);
    if (points !== this.points) return; // drawn again meanwhile
    const payloads = new Map(found.map(({ id, payload }) => [String(id), payload]));
    for (const point of points) point.payload = payloads.get(String(point.id)) ?? {};
    this.colourPoints();
    this.choose([]);
  }

  colourPoints() {
    this.colours = colourGroups(this.points.map((point) => point.payload), this.colour.value);
    this.pressed = undefined;
    this.drawLegend();
  }

  drawLegend() {
    redraw(
      this.legend,
      this.colours.groups.map((group, i) => {
        if (group.n === 0) return null;
        const swatch = h("span", { class: "swatch" });
        swatch.style.background = group.colour;
        return button([swatch, group.label, " ", h("small", {}, count(group.n))], () => this.chooseGroup(i), {
          "aria-pressed": String(this.pressed === i),
          title: this.colours.title(group),
        });
      }),
    );
  }

  chooseGroup(i) {
    const is_same = this.pressed === i;
    const found = is_same ? [] : this.points.flatMap((_, point) => (this.colours.group[point] === i ? [point] : []));
    this.choose(found, is_same ? undefined : i);
  }

  /** Shows the points with these indexes; none: all. */
  choose(found, group) {
    this.chosen = found.length > 0 ? new Set(found) : undefined;
    this.pressed = group;
    this.drawLegend();
    this.draw();
    replace(this.choice, this.chosen ? this.choiceView(found) : null);
  }

  choiceView(found) {
    const filter = { must: [{ has_id: found.map((i) => this.points[i].id) }] };
    const go = (page) => () => {
      leave("filter", filter);
      location.hash = addressOf(page, this.collection);
    };
    return h(
      "section",
      { class: "choice" },
      h(
        "div",
        { class: "title" },
        h("h2", {}, `${count(found.length)} points`),
        h(
          "div",
          { class: "actions" },
          button("Show these points", go("points"), { class: "primary" }),
          button("Search among them", go("search")),
          button("Clear", () => this.choose([])),
        ),
      ),
      this.valuesOf(found),
    );
  }

  /** The most frequent values of the chosen points, each a filter of its own. */
  valuesOf(found) {
    const key = this.colour.value;
    if (key === "") return null;
    const counts = new Map();
    for (const i of found) {
      const value = valueOf(this.points[i].payload ?? {}, key);
      if (value !== undefined && value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, kMaxTold);
    return h(
      "div",
      { class: "chips" },
      h("span", { class: "quiet" }, key),
      most.map(([value, n]) =>
        button(`${value} ${percent(n / found.length, 0)}`, () => {
          leave("filter", { must: [{ key, match: { value } }] });
          location.hash = addressOf("points", this.collection);
        }, { title: `Show all points with ${key} ${value}` })
      ),
    );
  }

  /** How opaque a point is: what was not chosen, and points without a colour of their own, lie below the others. */
  opacityOf(i) {
    if (this.chosen) return this.chosen.has(i) ? kOpaque : kDimmed;
    return this.colours.groups[this.colours.group[i]].is_rest ? kFaint : kOpaque;
  }

  draw() {
    const n = this.xy.length >> 1;
    const rgba = new Uint8Array(4 * n);
    const palette = this.colours.groups.map((group) => rgb(group.colour));
    for (let i = 0; i < n; ++i) {
      rgba.set(palette[this.colours.group[i]], 4 * i);
      rgba[4 * i + 3] = this.opacityOf(i);
    }
    this.plot.scatter.setPoints(this.xy, rgba);
  }
}

function joined(left, right) {
  const all = new Float32Array(left.length + right.length);
  all.set(left);
  all.set(right, left.length);
  return all;
}

const kTold = "Near points are alike in the two directions in which the sample differs most (principal components). " +
  "Draw around points to choose them; shift moves the map.";

/** Reads a new sample; a call ends the one before. */
function loader(map, problem) {
  let running = new AbortController();
  return () =>
    guarded(problem, async () => {
      running.abort();
      running = new AbortController();
      replace(problem);
      const request = {
        connection: connection(),
        path: pathOf(map.collection),
        field: map.field.value,
        n: Number(map.size.value),
        keys: wantedKeys(map),
      };
      await projectSample(request, (message) => map.receive(message), AbortSignal.any([map.signal, running.signal]));
    });
}

function controls(map, fields, keys, n_points, problem) {
  const load = loader(map, problem);
  const recolour = () => guarded(problem, () => map.recolour());
  const sizes = kSizes.filter((size, i) => i === 0 || size < n_points * 2);
  const usual = sizes[Math.min(1, sizes.length - 1)];
  map.field = select({ onchange: load }, fields.map((field) => [field.name, fieldLabel(field.name)]), fields[0].name);
  map.size = select({ onchange: load }, sizes.map((n) => [n, count(n)]), usual);
  map.colour = select({ onchange: recolour }, [["", "–"], ...keys.map((key) => [key, key])], keys[0] ?? "");
  const row = h(
    "div",
    { class: "row" },
    labelled("Vector", map.field),
    labelled("Sample", map.size),
    labelled("Colour by", map.colour),
    button("Draw again", load),
    h("div", { class: "progress" }, map.progress, map.told),
  );
  return { element: h("section", {}, row), load };
}

export async function show(content, { collection, signal }) {
  const info = await get(pathOf(collection), signal);
  const fields = fieldsOf(info).filter((field) => field.kind === "dense");
  if (fields.length === 0) {
    replace(content, h("h1", {}, "Map"), h("p", {}, "This collection has no dense vectors to draw."));
    return;
  }
  const keys = await keysOf(collection, info, signal);
  const problem = h("div");
  const map = new PointMap(collection, signal, keys);
  const { element, load } = controls(map, fields, keys, info.points_count, problem);
  const note = h("p", { class: "quiet" }, kTold);
  replace(content, h("h1", {}, "Map"), element, problem, map.plot.element, map.legend, map.choice, note);
  await load();
}
