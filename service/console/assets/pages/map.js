// A map of a field: a random sample in two dimensions, in its principal plane or by its graph of neighbours.
import { button, h, labelled, redraw, replace, select } from "../lib/dom.js";
import { fieldLabel, fieldsOf, get, pathOf } from "../lib/api.js";
import { colourGroups, rgb, valueOf } from "../lib/colours.js";
import { guarded } from "../lib/dialog.js";
import { count, percent } from "../lib/format.js";
import { addressOf } from "../lib/frame.js";
import { leave } from "../lib/handoff.js";
import { headline } from "../lib/hits.js";
import { payloadKeys } from "../lib/payload_keys.js";
import { payloadsOf, placesOf } from "../lib/places.js";
import { makePlot } from "../lib/plot.js";

const kSizes = [1000, 5000, 20000, 50000, 100000];
const kMaxTold = 6;
const kLabelKeys = ["title", "name", "headline", "label"];
const kDimmed = 28;
const kFaint = 100;
const kOpaque = 215;

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
    this.progress = h("progress", { "aria-label": "Loading" });
    this.told = h("small", { role: "status" });
    this.note = h("p", { class: "quiet" });
  }

  labelOf(i) {
    const { id, payload } = this.points[i];
    const value = this.colour.value === "" ? undefined : valueOf(payload ?? {}, this.colour.value);
    return [headline(payload) || id, value].filter((part) => part !== undefined).join(" · ");
  }

  /** Shows points in these places, then reads what colours and names them. */
  async place(ids, xy, signal) {
    this.points = ids.map((id) => ({ id, payload: {} }));
    this.xy = xy;
    this.colourPoints();
    this.choose([]);
    this.plot.scatter.fit();
    await this.recolour(signal);
  }

  /** Says what the server does. */
  wait(text) {
    this.progress.hidden = false;
    replace(this.told, text);
  }

  /** Says how many points are shown. */
  tell() {
    this.progress.hidden = true;
    replace(this.told, `${count(this.points.length)} points`);
  }

  /** Reads the values of another key; the points stay where they are. */
  async recolour(signal = this.signal) {
    const { points } = this;
    const ids = points.map((point) => point.id);
    const payloads = await payloadsOf(this.collection, ids, wantedKeys(this), signal);
    if (points !== this.points) return; // drawn again meanwhile
    points.forEach((point, i) => {
      point.payload = payloads[i];
    });
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

const kLayouts = [["plane", "Principal components"], ["neighbours", "Nearest neighbours"]];
const kUse = "Draw around points to choose them; shift moves the map.";

/** What the map shows, and what it does not. */
function noteOf(shares) {
  if (!shares) {
    return "Points lie near their nearest neighbours. Groups have a meaning; wide distances between them have none. " +
      kUse;
  }
  const share = percent(shares[0] + shares[1], 0);
  return "These are the two directions in which the sample differs most (principal components). They hold " +
    `${share} of its variance, so points that are near here may be far apart in the rest. ${kUse}`;
}

async function drawMap(map, signal) {
  const { ids, xy, shares } = await placesOf({
    collection: map.collection,
    field: map.field.value,
    sample: Number(map.size.value),
    seed: map.seed,
    layout: map.layout.value,
  }, signal);
  replace(map.note, noteOf(shares));
  await map.place(ids, xy, signal);
}

/** Draws what the controls ask for; a call ends the one before. */
function loader(map, problem) {
  let running = new AbortController();
  return () =>
    guarded(problem, async () => {
      running.abort();
      running = new AbortController();
      const { signal } = running;
      replace(problem);
      map.wait(map.layout.value === "plane" ? "projecting …" : "finding neighbours and laying them out …");
      try {
        await drawMap(map, AbortSignal.any([map.signal, signal]));
      } finally {
        if (!signal.aborted) map.tell();
      }
    });
}

/** Sparse vectors and multi-vectors have no principal components. */
function offerLayouts(map, fields) {
  const { kind } = fields.find((field) => field.name === map.field.value);
  map.layout.options[0].disabled = kind !== "dense";
  if (kind !== "dense") map.layout.value = "neighbours";
}

function controls(map, fields, keys, n_points, problem) {
  const load = loader(map, problem);
  const recolour = () => guarded(problem, () => map.recolour());
  const sizes = kSizes.filter((size, i) => i === 0 || size < n_points * 2);
  const usual = sizes[Math.min(1, sizes.length - 1)];
  const changeField = () => {
    offerLayouts(map, fields);
    load();
  };
  const drawOthers = () => {
    map.seed = Math.floor(Math.random() * 2 ** 32);
    load();
  };
  map.seed = 0;
  map.field = select(
    { onchange: changeField },
    fields.map((field) => [field.name, fieldLabel(field.name)]),
    fields[0].name,
  );
  map.size = select({ onchange: load }, sizes.map((n) => [n, count(n)]), usual);
  map.layout = select({ onchange: load }, kLayouts, "plane");
  map.colour = select({ onchange: recolour }, [["", "–"], ...keys.map((key) => [key, key])], keys[0] ?? "");
  offerLayouts(map, fields);
  const row = h(
    "div",
    { class: "row" },
    labelled("Vector", map.field),
    labelled("Sample", map.size),
    labelled("Layout", map.layout),
    labelled("Colour by", map.colour),
    button("Other points", drawOthers, { title: "Draws another sample" }),
    h("div", { class: "progress" }, map.progress, map.told),
  );
  return { element: h("section", {}, row), load };
}

export async function show(content, { collection, signal }) {
  const info = await get(pathOf(collection), signal);
  const of_kind = (kind) => fieldsOf(info).filter((field) => field.kind === kind);
  const fields = ["dense", "multi", "sparse"].flatMap(of_kind);
  if (fields.length === 0) {
    replace(content, h("h1", {}, "Map"), h("p", {}, "This collection has no vectors to draw."));
    return;
  }
  const keys = await payloadKeys(collection, info, signal);
  const problem = h("div");
  const map = new PointMap(collection, signal, keys);
  const { element, load } = controls(map, fields, keys, info.points_count, problem);
  replace(content, h("h1", {}, "Map"), element, problem, map.plot.element, map.legend, map.choice, map.note);
  await load();
}
