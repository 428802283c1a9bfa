// Search by text, vector, point, sparse vector or several of them; two settings side by side.
import { button, debounced, h, labelled, replace, select } from "../lib/dom.js";
import { call, fieldsOf, get, pathOf, rankedTexts } from "../lib/api.js";
import { errorBox, guarded } from "../lib/dialog.js";
import { filterEditor, orNothing } from "../lib/filter.js";
import { median, milliseconds, percent } from "../lib/format.js";
import { addressOf } from "../lib/frame.js";
import { take } from "../lib/handoff.js";
import { hitList, overlap } from "../lib/hits.js";
import { parseJson, readJson, writeJson } from "../lib/http.js";
import { planGraph } from "../lib/plan_graph.js";
import { requestForm } from "../lib/request_form.js";
import { settingForm, withFilter, withParams } from "../lib/settings.js";
import { payloadKeys } from "../lib/payload_keys.js";
import { jsonText, tree } from "../lib/tree.js";

const kRepeats = [[1, "once"], [5, "5 times"], [20, "20 times"]];
const kRedraw_ms = 150;

/** Sends a request once and adds its times to `run`; an error is kept there. */
async function sendOnce(context, request, run) {
  try {
    const got = await call("POST", pathOf(context.collection, "/points/query"), request, context.signal);
    run.answer = got.answer;
    run.points = got.result.points;
    run.servers_s.push(got.answer.time);
    run.browsers_ms.push(got.elapsed_ms);
  } catch (error) {
    run.error = error;
  }
}

/** Sends each request so often, in turn, so that a busy moment hits both settings. Times are medians. */
async function measured(context, requests, n_runs) {
  const runs = requests.map(() => ({ servers_s: [], browsers_ms: [] }));
  for (let n = 0; n < n_runs; ++n) {
    for (const [i, request] of requests.entries()) {
      if (!runs[i].error) await sendOnce(context, request, runs[i]);
    }
  }
  return runs.map((run) => ({ ...run, server_s: median(run.servers_s), browser_ms: median(run.browsers_ms) }));
}

function figure(name, value) {
  return h("span", {}, h("b", {}, value), " ", h("span", { class: "quiet" }, name));
}

/** What the server says of how it answered, if it does. */
function explanation(answer) {
  const explain = answer.result?.explain ?? answer.explain;
  if (explain === undefined) return null;
  return h("details", { class: "block explain", open: true }, h("summary", {}, "How it was answered"), tree(explain));
}

function resultCard(title, run, marks) {
  if (run.error) return h("section", {}, title ? h("h2", {}, title) : null, errorBox(run.error));
  return h(
    "section",
    { class: "answer" },
    title ? h("h2", {}, title) : null,
    h(
      "p",
      { class: "figures" },
      figure("in the server", milliseconds(1000 * run.server_s)),
      figure("with the network", milliseconds(run.browser_ms)),
      figure("points", run.points.length),
    ),
    hitList(run.points, marks),
    explanation(run.answer),
    h("details", { class: "block" }, h("summary", { class: "quiet" }, "Answer as JSON"), jsonText(run.answer)),
  );
}

function comparison(runs) {
  if (runs.some((run) => run.error)) {
    return h(
      "div",
      { class: "compare" },
      runs.map((run, i) => resultCard(`Setting ${"AB"[i]}`, run)),
    );
  }
  const { n_shared, marks } = overlap(runs[0].points, runs[1].points);
  const n = Math.max(runs[0].points.length, runs[1].points.length);
  const ratio = runs[1].server_s / runs[0].server_s;
  return [
    h(
      "p",
      { class: "figures overlap", role: "status" },
      figure("shared", `${n_shared} of ${n}`),
      figure("overlap", percent(n ? n_shared / n : 1, 0)),
      figure("time of B to A", `${ratio.toFixed(2)} ×`),
    ),
    h("div", { class: "compare" }, runs.map((run, i) => resultCard(`Setting ${"AB"[i]}`, run, marks[i]))),
  ];
}

function wordsHint(collection) {
  const overview = h("a", { href: addressOf("overview", collection) }, "index a key");
  return h("p", { class: "quiet" }, "To search by words, ", overview, " as “text, ranked”.");
}

/** The controls of the page, and the requests that they make. */
class SearchForm {
  constructor(context, parameters) {
    const changed = () => this.changed();
    this.context = context;
    const kind = context.texts.length > 0 ? "text" : "id";
    this.form = requestForm(context, {
      kind: parameters.get("kind") ?? kind,
      field: parameters.get("using") ?? undefined,
      text: parameters.get("q") ?? "",
    }, changed);
    this.filter = filterEditor(context.keys, take("filter") ?? {}, changed);
    this.limit = h("input", { type: "number", min: 1, max: 1000, value: 10, oninput: changed });
    this.repeats = select({}, kRepeats, 1);
    this.explain = h("input", { type: "checkbox", onchange: changed, class: "wants-explain" });
    this.settings = [
      settingForm("Setting A", { effort: parameters.get("effort") }, changed),
      settingForm("Setting B", { exact: true }, changed),
    ];
    this.compare = h("input", {
      type: "checkbox",
      class: "wants-compare",
      onchange: () => {
        this.settings[1].element.hidden = !this.compare.checked;
        changed();
      },
    });
    this.settings[1].element.hidden = true;
    this.json = h("textarea", {
      rows: 14,
      spellcheck: "false",
      "aria-label": "Request as JSON",
      oninput: () => {
        this.is_edited = true;
        this.drawGraph();
      },
    });
    this.graph = h("div");
    this.reset = button("Back to the form", () => {
      this.is_edited = false;
      changed();
    }, { class: "plain", hidden: true });
    this.changed = debounced(() => this.write(), kRedraw_ms);
  }

  /** The request of the form, without settings. */
  formRequest() {
    const body = withFilter({ ...this.form.read() }, orNothing(this.filter.value()));
    const texts = this.form.texts();
    return {
      ...body,
      limit: Number(this.limit.value),
      with_payload: true,
      ...(texts.length > 0 ? { highlight: { fields: texts, pre: "", post: "" } } : {}),
      ...(this.explain.checked ? { explain: true } : {}),
    };
  }

  /** Writes the request of the form as JSON, unless the JSON was edited. */
  write() {
    if (this.is_edited) return;
    try {
      this.json.value = writeJson(this.formRequest(), 2);
    } catch {
      this.json.value = "";
    }
    this.drawGraph();
  }

  drawGraph() {
    this.reset.hidden = !this.is_edited;
    try {
      replace(this.graph, planGraph(withParams(parseJson(this.json.value), this.settings[0].read())));
    } catch {
      replace(this.graph);
    }
  }

  /** The requests to send: one, or two to compare. */
  requests() {
    const request = this.is_edited ? readJson(this.json.value, "The request") : this.formRequest();
    const settings = this.compare.checked ? this.settings : this.settings.slice(0, 1);
    return settings.map((setting) => withParams(request, setting.read()));
  }

  element(run) {
    const onkeydown = (event) => {
      const is_field = event.target.matches("input:not([type=checkbox])") && !event.target.closest("form");
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || is_field)) run();
    };
    return h(
      "div",
      { onkeydown, role: "search" },
      h(
        "section",
        {},
        this.form.element,
        h(
          "div",
          { class: "actions start" },
          button("Search", run, { class: "primary" }),
          h("small", {}, "Ctrl + Enter"),
        ),
        this.context.texts.length > 0 ? null : wordsHint(this.context.collection),
      ),
      h("section", {}, h("h2", {}, "Filter"), this.filter.element),
      h(
        "section",
        {},
        h("h2", {}, "Settings"),
        h(
          "div",
          { class: "row" },
          labelled("Points", this.limit),
          labelled("Run", this.repeats),
          h("label", { class: "check" }, this.explain, "explain"),
          h("label", { class: "check" }, this.compare, "compare two settings"),
        ),
        this.settings.map((setting) => setting.element),
      ),
      this.graph,
      h("details", { class: "block" }, h("summary", {}, "Request as JSON"), this.json, this.reset),
    );
  }
}

export async function show(content, { collection, parameters, signal }) {
  const info = await get(pathOf(collection), signal);
  const context = {
    collection,
    signal,
    fields: fieldsOf(info),
    texts: rankedTexts(info),
    keys: await payloadKeys(collection, info, signal),
  };
  const search = new SearchForm(context, parameters);
  const results = h("div", { class: "results" });
  const problem = h("div");
  let turn = 0;
  const run = () =>
    guarded(problem, async () => {
      replace(problem);
      const requests = search.requests();
      results.setAttribute("aria-busy", "true");
      const mine = ++turn;
      const runs = await measured(context, requests, Number(search.repeats.value));
      if (signal.aborted || mine !== turn) return; // a later search has been started
      results.removeAttribute("aria-busy");
      replace(results, runs.length === 1 ? resultCard("", runs[0]) : comparison(runs));
    });
  replace(content, h("h1", {}, "Search"), search.element(run), problem, results);
  search.write();
  if (parameters.has("q")) await run();
}
