// Recall and latency of a field: measured at several efforts against exact answers, with a slider for the setting.
import { h, replace, button, labelled, select } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf, post, using } from "../lib/api.js";
import { lineChart } from "../lib/chart.js";
import { between, Curve, recallOf } from "../lib/curve.js";
import { guarded } from "../lib/dialog.js";
import { filterEditor, orNothing } from "../lib/filter.js";
import { median, milliseconds, short } from "../lib/format.js";
import { addressOf } from "../lib/frame.js";
import { parseJson } from "../lib/http.js";

const kEfforts = [16, 32, 64, 128, 256, 512, 1024];
const kDefaultEffort = 128;
/** The slider moves over powers of two, in steps of a quarter. */
const kSteps = 4;
const effortOf = (position) => Math.round(2 ** (position / kSteps));
const positionOf = (effort) => Math.round(Math.log2(effort) * kSteps);

/** Queries to measure with: ids of random points, which do not find themselves, or vectors that were given. */
async function queriesOf(context) {
  const text = context.own.value.trim();
  if (text !== "") {
    const queries = parseJson(text);
    if (!Array.isArray(queries) || queries.length === 0) throw new Error("Give the queries as a JSON array of vectors or ids.");
    return queries;
  }
  const has_vector = context.field === "" ? undefined : { must: [{ has_vector: context.field }] };
  const { points } = await post(pathOf(context.collection, "/points/query"),
    { query: { sample: "random" }, limit: Number(context.n.value), with_payload: false, filter: has_vector }, context.signal);
  return points.map((point) => point.id);
}

async function search(context, query, params) {
  const body = { query, ...using(context.field), limit: Number(context.k.value), params, filter: orNothing(context.filter.value()), with_payload: false };
  const { answer } = await call("POST", pathOf(context.collection, "/points/query"), body, context.signal);
  return { points: answer.result.points, time_ms: 1000 * answer.time };
}

/** Measures one query at each effort, so that a busy moment of the machine hits all alike. */
async function measureQuery(context, query) {
  const exact = await search(context, query, { exact: true });
  context.exact_ms.push(exact.time_ms);
  for (const effort of context.curve.samples.keys()) {
    const found = await search(context, query, { hnsw_ef: effort });
    context.curve.add(effort, recallOf(found.points, exact.points), found.time_ms);
  }
}

function axesOf(points) {
  const times = points.map((point) => point.time_ms);
  const lowest = Math.min(...points.map((point) => point.recall));
  const low = Math.max(0, Math.floor((lowest - 0.02) * 20) / 20);
  return { x: { min: Math.min(...times) * 0.8, max: Math.max(...times) * 1.25, log: true, format: (at) => `${short(at)} ms`, label: "median time in the server" },
           y: { min: low, max: 1, format: (at) => at.toFixed(2), label: "recall" } };
}

function chartOf(context) {
  const points = context.curve.points();
  const now = between(points, context.effort);
  const dots = points.map((point) => `effort ${point.effort}: recall ${point.recall.toFixed(4)}, ${milliseconds(point.time_ms)}`);
  return lineChart({ series: [{ points: points.map((point) => [point.time_ms, point.recall]), dots }], ...axesOf(points),
    marks: [{ x: now.time_ms, y: now.recall, label: `effort ${context.effort}` }],
    label: `Recall by time. ${dots.join("; ")}.` });
}

function tableOf(context) {
  const rows = context.curve.points().map((point) => h("tr", {}, h("th", { scope: "row", class: "number" }, point.effort),
    h("td", { class: "number" }, point.recall.toFixed(4)), h("td", { class: "number" }, milliseconds(point.time_ms)), h("td", { class: "number" }, point.n)));
  return h("details", { class: "block" }, h("summary", {}, "Figures"), h("table", {},
    h("thead", {}, h("tr", {}, ["Effort", "Recall", "Median time", "Queries"].map((text) => h("th", { scope: "col", class: "number" }, text)))), h("tbody", {}, rows)));
}

/** The figures at the slider's effort: measured, or between measured ones. */
function readout(context) {
  const points = context.curve.points();
  const now = between(points, context.effort);
  if (now === undefined) return null;
  const is_measured = points.some((point) => point.effort === context.effort);
  return h("p", { class: "figures", role: "status" }, h("span", {}, h("b", {}, now.recall.toFixed(3)), h("span", { class: "quiet" }, ` recall@${context.k.value}`)),
    h("span", {}, h("b", {}, milliseconds(now.time_ms)), h("span", { class: "quiet" }, ` a query (exact: ${milliseconds(median(context.exact_ms))})`)),
    is_measured ? null : h("span", { class: "quiet" }, "between measured efforts"));
}

/** Slider, figures, chart; `redraw` after each measurement and move. */
function resultView(context) {
  const view = h("section", { hidden: true });
  const slider = h("input", { type: "range", min: positionOf(4), max: positionOf(4096), value: positionOf(context.effort), id: "effort",
    oninput: () => { context.effort = effortOf(Number(slider.value)); redraw(); } });
  const shown = h("output", { for: "effort" });
  const figures = h("div");
  const chart = h("div");
  const table = h("div");
  const use = h("a", {}, "Search with this effort");
  const measure = button("Measure this effort", () => context.measure([context.effort]));
  const redraw = () => {
    slider.setAttribute("aria-valuetext", `effort ${context.effort}`);
    replace(shown, context.effort, context.effort === kDefaultEffort ? " (default)" : "");
    use.href = addressOf("search", context.collection, { effort: context.effort, kind: "id", using: context.field });
    if (context.curve.points().length === 0) return;
    view.hidden = false;
    replace(figures, readout(context));
    replace(chart, chartOf(context));
    replace(table, tableOf(context));
  };
  view.append(h("div", { class: "field" }, h("span", {}, h("label", { for: "effort" }, "Effort"), ": ", shown), slider), figures, chart,
             h("div", { class: "actions start" }, measure, use), table);
  return { view, redraw };
}

function controls(context, fields) {
  const picker = select({ onchange: () => { context.field = picker.value; context.forget(); } }, fields.map((field) => [field.name, fieldLabel(field.name)]), context.field);
  context.n = h("input", { type: "number", min: 1, max: 2000, value: 50, onchange: () => context.forget() });
  context.k = h("input", { type: "number", min: 1, max: 1000, value: 10, onchange: () => context.forget() });
  context.own = h("textarea", { rows: 4, spellcheck: "false", placeholder: "[[0.1, 0.2, …], …] or ids", onchange: () => context.forget() });
  return h("section", {},
    h("div", { class: "row" }, labelled("Vector", picker), labelled("Queries", context.n), labelled("Points each", context.k), context.start, context.stop, context.progress),
    h("p", { class: "quiet note" }, "Queries are random points of the collection, which are left out of their own answers. Real queries may be harder: give your own below."),
    h("details", { class: "block" }, h("summary", {}, "Filter and own queries"), context.filter.element, labelled("Own queries", context.own)));
}

export async function show(content, { collection, parameters, signal }) {
  const info = await get(pathOf(collection), signal);
  const fields = fieldsOf(info);
  if (fields.length === 0) {
    replace(content, h("h1", {}, "Recall & latency"), h("p", {}, "This collection has no vectors. Ranked texts are always searched exactly."));
    return;
  }
  const problem = h("div");
  const context = { collection, signal, field: fields[0].name, effort: Number(parameters.get("effort")) || kDefaultEffort, is_stopped: false,
    progress: h("span", { class: "quiet", role: "status" }), exact_ms: [], curve: new Curve(kEfforts), queries: undefined };
  context.start = button("Measure", () => context.measure(kEfforts, true), { class: "primary" });
  context.stop = button("Stop", () => { context.is_stopped = true; }, { hidden: true });
  const { view, redraw } = resultView(context);
  context.forget = () => { context.is_stopped = true; context.queries = undefined; view.hidden = true; context.curve = new Curve(kEfforts); };
  context.filter = filterEditor(Object.keys(info.payload_schema), {}, () => context.forget());
  context.measure = (efforts, is_new) => guarded(problem, () => measure(context, efforts, is_new, redraw));
  replace(content, h("h1", {}, "Recall & latency"), controls(context, fields), problem, view);
  redraw();
}

async function measure(context, efforts, is_new, redraw) {
  context.is_stopped = false;
  if (is_new) Object.assign(context, { curve: new Curve(efforts), exact_ms: [], queries: undefined });
  const { curve } = context;
  const running = { ...context, curve: new Curve(efforts) };
  [context.start.disabled, context.stop.hidden] = [true, false];
  try {
    context.queries ??= await queriesOf(context);
    for (const [i, query] of context.queries.entries()) {
      if (context.is_stopped || context.signal.aborted) break;
      await measureQuery(running, query);
      for (const effort of efforts) curve.samples.set(effort, running.curve.samples.get(effort));
      replace(context.progress, `${i + 1} of ${context.queries.length} queries`);
      if (context.curve === curve) redraw();
    }
  } finally {
    [context.start.disabled, context.stop.hidden] = [false, true];
  }
}
