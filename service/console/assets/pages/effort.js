// Recall and latency of a field: measured at several efforts against exact answers, with a slider for the setting.
import { button, h, labelled, replace, select } from "../lib/dom.js";
import { fieldLabel, fieldsOf, get, pathOf } from "../lib/api.js";
import { lineChart } from "../lib/chart.js";
import { between } from "../lib/curve.js";
import { guarded } from "../lib/dialog.js";
import { filterEditor } from "../lib/filter.js";
import { median, milliseconds, short } from "../lib/format.js";
import { addressOf } from "../lib/frame.js";
import { ApiError, readJson } from "../lib/http.js";
import { Measurement, randomQueries } from "../lib/measurement.js";
import { payloadKeys } from "../lib/payload_keys.js";
import { number, table } from "../lib/table.js";

const kEfforts = [16, 32, 64, 128, 256, 512, 1024];
const kDefaultEffort = 128;
/** The slider moves over powers of two, in steps of a quarter. */
const kSteps = 4;
const effortOf = (position) => Math.round(2 ** (position / kSteps));
const positionOf = (effort) => Math.round(Math.log2(effort) * kSteps);

const kNote = "Queries are random points of the collection, which are left out of their own answers. Real queries " +
  "may be harder: give your own below.";

function axesOf(points) {
  const times = points.map((point) => point.time_ms);
  const lowest = Math.min(...points.map((point) => point.recall));
  const time = { log: true, format: (at) => `${short(at)} ms`, label: "median time in the server" };
  return {
    x: { ...time, min: Math.min(...times) * 0.8, max: Math.max(...times) * 1.25 },
    y: {
      min: Math.max(0, Math.floor((lowest - 0.02) * 20) / 20),
      max: 1,
      format: (at) => at.toFixed(2),
      label: "recall",
    },
  };
}

function chartOf(points, effort) {
  const now = between(points, effort);
  const textOf = (point) => `effort ${point.effort}: recall ${point.recall.toFixed(4)}, ${milliseconds(point.time_ms)}`;
  const dots = points.map(textOf);
  return lineChart({
    series: [{ points: points.map((point) => [point.time_ms, point.recall]), dots }],
    ...axesOf(points),
    marks: [{ x: now.time_ms, y: now.recall, label: `effort ${effort}` }],
    label: `Recall by time. ${dots.join("; ")}.`,
  });
}

function figuresTable(points) {
  const columns = [number("Effort"), number("Recall"), number("Median time"), number("Queries")];
  const rows = points.map(({ effort, recall, time_ms, n }) => [effort, recall.toFixed(4), milliseconds(time_ms), n]);
  return table(columns, rows);
}

/** The figures at an effort: measured, or between measured ones. */
function readout({ k, exact_ms }, points, effort) {
  const now = between(points, effort);
  const quiet = (text) => h("span", { class: "quiet" }, text);
  const is_measured = points.some((point) => point.effort === effort);
  return h(
    "p",
    { class: "figures", role: "status" },
    h("span", {}, h("b", {}, now.recall.toFixed(3)), quiet(` recall@${k}`)),
    h("span", {}, h("b", {}, milliseconds(now.time_ms)), quiet(` a query (exact: ${milliseconds(median(exact_ms))})`)),
    is_measured ? null : quiet("between measured efforts"),
  );
}

/** The slider with figures, curve and table of a measurement. */
class ResultView {
  constructor(collection, effort, measureOne) {
    Object.assign(this, { collection, effort, measurement: undefined });
    const oninput = () => {
      this.effort = effortOf(Number(this.slider.value));
      this.draw();
    };
    const range = { min: positionOf(4), max: positionOf(4096), value: positionOf(effort) };
    this.slider = h("input", { type: "range", id: "effort", ...range, oninput });
    [this.shown, this.figures, this.chart, this.table] = [h("span"), h("div"), h("div"), h("div")];
    this.use = h("a", {}, "Search with this effort");
    const one = button("Measure this effort", () => measureOne(this.effort));
    const label = h("span", {}, h("label", { for: "effort" }, "Effort"), ": ", this.shown);
    this.element = h(
      "section",
      { hidden: true },
      h("div", { class: "field" }, label, this.slider),
      this.figures,
      this.chart,
      h("div", { class: "actions start" }, one, this.use),
      h("details", { class: "block" }, h("summary", {}, "Figures"), this.table),
    );
  }

  /** Shows a measurement; undefined: none. */
  show(measurement) {
    this.measurement = measurement;
    this.draw();
  }

  draw() {
    const { effort, measurement } = this;
    const points = measurement?.curve.points() ?? [];
    this.element.hidden = points.length === 0;
    if (points.length === 0) return;
    this.slider.setAttribute("aria-valuetext", `effort ${effort}`);
    replace(this.shown, effort, effort === kDefaultEffort ? " (default)" : "");
    this.use.href = addressOf("search", this.collection, { effort, kind: "id", using: measurement.field });
    replace(this.figures, readout(measurement, points, effort));
    replace(this.chart, chartOf(points, effort));
    replace(this.table, figuresTable(points));
  }
}

/** What is measured, and the buttons that start and stop it. */
class Controls {
  constructor(fields, keys, { changed, start, stop }) {
    const options = fields.map((field) => [field.name, fieldLabel(field.name)]);
    this.field = select({ onchange: changed }, options, fields[0].name);
    this.n = h("input", { type: "number", min: 1, max: 2000, value: 50, onchange: changed });
    this.k = h("input", { type: "number", min: 1, max: 1000, value: 10, onchange: changed });
    this.own = h("textarea", {
      rows: 4,
      spellcheck: "false",
      placeholder: "[[0.1, 0.2, …], …] or ids",
      onchange: changed,
    });
    this.filter = filterEditor(keys, {}, changed);
    this.start = button("Measure", start, { class: "primary" });
    this.stop = button("Stop", stop, { hidden: true });
    this.progress = h("span", { class: "quiet", role: "status" });
    const choices = [labelled("Vector", this.field), labelled("Queries", this.n), labelled("Points each", this.k)];
    const own = labelled("Own queries", this.own);
    this.element = h(
      "section",
      {},
      h("div", { class: "row" }, choices, this.start, this.stop, this.progress),
      h("p", { class: "quiet" }, kNote),
      h("details", { class: "block" }, h("summary", {}, "Filter and own queries"), this.filter.element, own),
    );
  }

  setRunning(is_running) {
    this.start.disabled = is_running;
    this.stop.hidden = !is_running;
  }

  /** The queries that were given; undefined if there are none. */
  ownQueries() {
    if (this.own.value.trim() === "") return undefined;
    const queries = readJson(this.own.value, "The list of queries");
    if (Array.isArray(queries) && queries.length > 0) return queries;
    throw new ApiError(0, "Give the queries as a JSON array of vectors or ids.");
  }
}

/** The page: measures what the controls say and shows it. */
class EffortPage {
  constructor(collection, info, keys, effort, signal) {
    Object.assign(this, { collection, signal, stopping: new AbortController() });
    this.problem = h("div");
    this.view = new ResultView(collection, effort, (one) => this.measure([one], this.view.measurement));
    const stop = () => this.stopping.abort();
    const changed = () => {
      stop();
      this.view.show(undefined);
    };
    const start = () => this.measure(kEfforts);
    this.controls = new Controls(fieldsOf(info), keys, { changed, start, stop });
  }

  async newMeasurement() {
    const { controls, collection, signal } = this;
    const [field, k, filter] = [controls.field.value, Number(controls.k.value), controls.filter.value()];
    const queries = controls.ownQueries() ?? await randomQueries(collection, field, Number(controls.n.value), signal);
    if (queries.length === 0) throw new ApiError(0, "No point has this vector, so there is nothing to measure with.");
    return new Measurement({ collection, field, queries, k, filter, signal });
  }

  /** Measures efforts anew, or adds them to an earlier measurement. */
  async measure(efforts, earlier) {
    this.stopping.abort();
    const stopping = this.stopping = new AbortController();
    replace(this.problem);
    this.controls.setRunning(true);
    await guarded(this.problem, async () => {
      const measurement = earlier ?? await this.newMeasurement();
      measurement.signal = AbortSignal.any([this.signal, stopping.signal]);
      await measurement.run(efforts, (n) => {
        if (measurement.signal.aborted) return;
        replace(this.controls.progress, `${n} of ${measurement.queries.length} queries`);
        this.view.show(measurement);
      });
    });
    if (stopping === this.stopping) this.controls.setRunning(false);
  }
}

export async function show(content, { collection, parameters, signal }) {
  const info = await get(pathOf(collection), signal);
  const title = h("h1", {}, "Recall & latency");
  if (fieldsOf(info).length === 0) {
    replace(content, title, h("p", {}, "This collection has no vectors. Ranked texts are always searched exactly."));
    return;
  }
  const keys = await payloadKeys(collection, info, signal);
  const page = new EffortPage(collection, info, keys, Number(parameters.get("effort")) || kDefaultEffort, signal);
  replace(content, title, page.controls.element, page.problem, page.view.element);
}
