// Any request to the API, with examples and a history.
import { button, h, labelled, replace, select, tabs } from "../lib/dom.js";
import { raw } from "../lib/api.js";
import { errorBox, guarded, notify } from "../lib/dialog.js";
import { kExamples } from "../lib/examples.js";
import { bytes, milliseconds } from "../lib/format.js";
import { ApiError, parseJson, readJson, writeJson } from "../lib/http.js";
import { jsonText, tree } from "../lib/tree.js";

const kMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const kHistoryKey = "quiver.history";
const kMaxHistory = 30;
const kMaxKept = 20000;

/** Earlier requests of this tab, the latest first. Bodies may hold data, so they end with the tab. */
function history() {
  return JSON.parse(sessionStorage.getItem(kHistoryKey) ?? "[]");
}

function remember(request) {
  const is_same = (other) =>
    other.method === request.method && other.path === request.path && other.body === request.body;
  const kept = [request, ...history().filter((other) => !is_same(other))].slice(0, kMaxHistory).filter(({ body }) =>
    body.length <= kMaxKept
  );
  sessionStorage.setItem(kHistoryKey, JSON.stringify(kept));
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request as a command line. The key stays out of it. */
export function asCurl({ method, path, body }) {
  const address = new URL("..", document.baseURI).href + path.replace(/^\//, "");
  return [
    `curl -X ${method} ${quoted(address)} -H "api-key: $QUIVER_API_KEY"`,
    ...(body ? [`-H 'content-type: application/json' -d ${quoted(body)}`] : []),
  ].join(" \\\n  ");
}

function answerView({ status, text, elapsed_ms }) {
  const head = h(
    "p",
    { class: "figures", role: "status" },
    h("span", {}, h("b", {}, status), h("span", { class: "quiet" }, " status")),
    h("span", {}, h("b", {}, milliseconds(elapsed_ms)), h("span", { class: "quiet" }, " with the network")),
    h("span", {}, h("b", {}, bytes(new Blob([text]).size))),
  );
  let value;
  try {
    value = parseJson(text);
  } catch {
    return [head, h("pre", { class: "json", tabindex: 0 }, text)];
  }
  const place = h("div", {}, jsonText(value));
  const views = { json: jsonText, tree };
  const pick = (view) => replace(place, views[view](value));
  return [
    head,
    status === 401 || status === 403 ? errorBox(new ApiError(status, value.status?.error ?? text)) : null,
    tabs("Answer as", [["json", "JSON"], ["tree", "Tree"]], "json", pick),
    place,
  ];
}

function requestList(title, requests, take) {
  return h(
    "section",
    {},
    h("h2", {}, title),
    requests.length === 0 ? h("p", { class: "quiet" }, "None yet.") : h(
      "ul",
      { class: "list" },
      requests.map(({ label, ...request }) =>
        h(
          "li",
          {},
          button([h("span", { class: "method" }, request.method), label ?? request.path], () => take(request)),
        )
      ),
    ),
  );
}

/** The editor of a request. */
class Editor {
  constructor(send) {
    this.method = select({}, kMethods, "GET");
    this.path = h("input", { value: "/collections", spellcheck: "false", class: "mono", autocomplete: "off" });
    this.body = h("textarea", { rows: 14, spellcheck: "false", "aria-label": "Body as JSON" });
    this.problem = h("div");
    const onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target === this.path)) send();
    };
    this.element = h(
      "section",
      { onkeydown },
      h(
        "div",
        { class: "row" },
        labelled("Method", this.method),
        h("div", { class: "field wide" }, labelled("Path", this.path)),
        button("Send", send, { class: "primary" }),
      ),
      h("div", { class: "rows" }, this.body),
      h(
        "div",
        { class: "row" },
        button("Format", () => this.format()),
        button("Copy as curl", () => this.copy()),
        h("small", {}, "Ctrl + Enter sends"),
      ),
      this.problem,
    );
  }

  request() {
    return {
      method: this.method.value,
      path: this.path.value.trim(),
      body: this.method.value === "GET" ? "" : this.body.value.trim(),
    };
  }

  set({ method, path, body = "" }) {
    [this.method.value, this.path.value, this.body.value] = [method, path, body];
  }

  format() {
    guarded(this.problem, async () => {
      replace(this.problem);
      this.body.value = writeJson(readJson(this.body.value, "The body"), 2);
    });
  }

  async copy() {
    await guarded(null, async () => {
      await navigator.clipboard.writeText(asCurl(this.request()));
      notify("Copied. The key is taken from $QUIVER_API_KEY.");
    });
  }
}

export async function show(content, { signal }) {
  const answer = h("section", { hidden: true, "aria-label": "Answer" });
  const past = h("div");
  const collection = sessionStorage.getItem("quiver.collection") ?? "notes";
  const examples = kExamples.map(([label, method, path, body]) => ({
    label,
    method,
    path: path.replace("{c}", encodeURIComponent(collection)),
    body,
  }));
  const send = () => {
    const request = editor.request();
    answer.hidden = false;
    return guarded(answer, async () => {
      const got = await raw(request.method, request.path, request.body || undefined, signal);
      remember(request);
      replace(answer, answerView(got));
      drawPast();
    });
  };
  const editor = new Editor(send);
  const take = (request) => {
    editor.set(request);
    editor.path.focus();
  };
  const drawPast = () => replace(past, requestList("History of this tab", history(), take));
  drawPast();
  replace(
    content,
    h("h1", {}, "API"),
    h(
      "div",
      { class: "columns" },
      h("div", {}, editor.element, answer),
      h("div", {}, requestList("Examples", examples, take), past),
    ),
  );
}
