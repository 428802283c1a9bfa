// What the server is doing: small charts of /metrics, read every two seconds while the page is shown.
import { h, replace } from "../lib/dom.js";
import { raw } from "../lib/api.js";
import { lineChart } from "../lib/chart.js";
import { guarded } from "../lib/dialog.js";
import { bytes, count, seconds, short } from "../lib/format.js";
import { ApiError } from "../lib/http.js";
import { quantile, Snapshot } from "../lib/prometheus.js";
import { number, table, text } from "../lib/table.js";
import { pause, whileHidden } from "../lib/poll.js";

const kPoll_ms = 2000;
/** Snapshots that are kept: five minutes. */
const kKept = 150;
const kMaxEndpoints = 8;
/** This page's own requests are not counted. */
const others = (labels) => labels.endpoint !== "/metrics";
const isError = ({ status }) => status >= "400" || /^[1-9]\d?$/.test(status);
const kDuration = "rest_responses_duration_seconds";

/** Answers over REST and gRPC. */
const kAnswers = ["rest_responses_total", "grpc_responses_total"];

const rate = (name, passes) => (before, after) =>
  Math.max(0, after.sum(name, passes) - before.sum(name, passes)) / (after.at_s - before.at_s);
const answers = (passes) => (before, after) =>
  kAnswers.reduce((sum, name) => sum + rate(name, passes)(before, after), 0);
const now = (name) => (_, after) => after.sum(name);

/** [title, how a value is written, [name of a line, value of two snapshots]]. */
const kCharts = [
  ["Requests a second", short, [["", answers(others)]]],
  ["Time of an answer", seconds, [["median", (a, b) => quantile(0.5, kDuration, a, b, others)], [
    "95 %",
    (a, b) => quantile(0.95, kDuration, a, b, others),
  ]]],
  ["Errors a second", short, [["", answers((labels) => others(labels) && isError(labels))]]],
  ["CPU cores in use", short, [["", rate("process_cpu_seconds_total")]]],
  ["Memory", bytes, [["", now("process_resident_memory_bytes")]]],
  ["Points", short, [["", now("collection_points")]]],
  ["Running optimizations", short, [["", now("collection_running_optimizations")]]],
  ["Waiting updates", short, [["", now("collection_update_queue_length")]]],
  ["Open connections", short, [["", (_, b) => b.sum("rest_open_connections") + b.sum("grpc_open_connections")]]],
];

/** A round number at or above the largest value; of bytes, a power of two. */
function topOf(values, format) {
  const most = Math.max(...values.filter(Number.isFinite), 0);
  if (most === 0) return 1;
  if (format === bytes) return 2 ** Math.ceil(Math.log2(most * 1.0001));
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= most * 1.0001) ?? most;
}

function chartCard([title, format, lines], history) {
  const last = history.at(-1);
  const series = lines.map(([, valueOf]) => ({
    points: history.slice(1).map((after, i) => [after.at_s - last.at_s, valueOf(history[i], after)]),
  }));
  const latest = series.map(({ points }) => points.at(-1)[1]);
  const shown = lines.map(([name], i) => `${name ? `${name} ` : ""}${format(latest[i])}`).join(", ");
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  return h(
    "section",
    {},
    h("h2", {}, title, h("b", {}, shown)),
    lineChart({
      series,
      small: true,
      label: `${title}: now ${shown}`,
      x: { min: Math.min(-30, history[1].at_s - last.at_s), max: 0, format: (at) => (at === 0 ? "now" : `${at} s`) },
      y: { min: 0, max: topOf(values, format), format, marks: format === bytes ? 2 : undefined },
    }),
  );
}

/** The endpoints with most requests in the time that is shown. */
function endpointTable(history) {
  const [first, last] = [history[0], history.at(-1)];
  const keyOf = (labels) => `${labels.method} ${labels.endpoint}`;
  const keys = [
    ...new Set(
      last.samples("rest_responses_total").filter(({ labels }) => others(labels)).map(({ labels }) => keyOf(labels)),
    ),
  ];
  const rows = keys.map((key) => {
    const passes = (labels) => keyOf(labels) === key;
    const n = last.sum("rest_responses_total", passes) - first.sum("rest_responses_total", passes);
    const time = last.sum(`${kDuration}_sum`, passes) - first.sum(`${kDuration}_sum`, passes);
    return { key, n, mean_s: n > 0 ? time / n : NaN };
  }).filter(({ n }) => n > 0).sort((a, b) => b.n - a.n).slice(0, kMaxEndpoints);
  if (rows.length === 0) return h("p", { class: "quiet" }, "No requests since this page was opened.");
  const columns = [text("Endpoint"), number("Requests"), number("Mean time")];
  return table(
    columns,
    rows.map(({ key, n, mean_s }) => [h("span", { class: "mono" }, key), count(n), seconds(mean_s)]),
  );
}

async function read(signal) {
  const { status, text: body } = await raw("GET", "metrics", undefined, signal);
  if (status !== 200) throw new ApiError(status, body);
  return new Snapshot(body, performance.now() / 1000);
}

export async function show(content, { signal }) {
  const problem = h("div");
  const charts = h("div", { class: "charts" }, h("p", { class: "quiet" }, "Reading …"));
  const endpoints = h("div");
  replace(
    content,
    h("h1", {}, "Metrics"),
    problem,
    charts,
    h("section", {}, h("h2", {}, "Requests since this page was opened"), endpoints),
    h("p", { class: "quiet" }, "For more than the last minutes, have Prometheus read /metrics."),
  );
  const history = [];
  do {
    await guarded(problem, async () => {
      history.push(await read(signal));
      if (history.length > kKept) history.shift();
      replace(problem);
      if (history.length < 2 || signal.aborted) return;
      replace(charts, kCharts.map((chart) => chartCard(chart, history)));
      replace(endpoints, endpointTable(history));
    });
    await whileHidden(signal);
  } while (await pause(history.length < 2 ? kPoll_ms / 4 : kPoll_ms, signal));
}
