// The collections with their live state.
import { h, redraw, replace, button } from "../lib/dom.js";
import { call, fieldsOf, fieldLabel, get, pathOf } from "../lib/api.js";
import { confirmBy, errorBox, guarded, notify } from "../lib/dialog.js";
import { addressOf } from "../lib/frame.js";
import { bytes, count, percent, seconds } from "../lib/format.js";
import { writeJson } from "../lib/http.js";
import { pause, whileHidden } from "../lib/poll.js";
import { createCollection } from "./create.js";

const kPoll_ms = 2000;
/** Requests for one picture of all collections that run at a time. */
const kAtOnce = 6;
/** Each collection that is shown is asked for at each look. */
const kMaxShown = 40;
const kStates = { green: "ready", yellow: "optimizing", grey: "waiting", red: "damaged" };

export function stateBadge(info) {
  return h("span", { class: `badge ${info.status}` }, kStates[info.status] ?? info.status);
}

/** Running work of a collection, with a bar each. `optimizations` may be undefined. */
export function progressOf(optimizations) {
  return (optimizations?.running ?? []).map((work) => {
    const { done = 0, total = 0, eta_sec } = work.progress ?? {};
    const share = total > 0 ? done / total : 0;
    const text = `${work.optimizer} ${percent(share, 0)}${eta_sec ? `, ${seconds(eta_sec)} left` : ""}`;
    return h("div", { class: "progress" }, h("progress", { value: share, max: 1, "aria-label": text }), h("small", {}, text));
  });
}

async function stateOf(name, signal) {
  const optional = (path) => get(path, signal).catch(() => undefined);
  try {
    const [info, optimizations, memory] = await Promise.all([
      get(pathOf(name), signal), optional(pathOf(name, "/optimizations")), optional(pathOf(name, "/memory"))]);
    return { name, info, optimizations, memory };
  } catch (error) {
    return { name, error };
  }
}

async function statesOf(names, signal) {
  const states = new Array(names.length);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < names.length; i = next++) states[i] = await stateOf(names[i], signal);
  };
  await Promise.all(Array.from({ length: kAtOnce }, work));
  return states;
}

function askToDelete(name, refresh) {
  confirmBy("Delete collection", `All points of ${name} will be lost.`, name, "Delete", async () => {
    await call("DELETE", pathOf(name));
    notify(`${name} is deleted.`);
    refresh();
    return true;
  });
}

const kindText = (field) => (field.size ? `${field.kind}, ${field.size}, ${field.distance}` : field.kind);

function row({ name, info, optimizations, memory, error }, refresh) {
  const link = h("a", { href: addressOf("overview", name) }, name);
  if (error) return h("tr", {}, h("th", { scope: "row" }, link), h("td", { colspan: 6 }, errorBox(error)));
  const total = memory?.total;
  return h("tr", {},
    h("th", { scope: "row" }, link),
    h("td", { "data-label": "State" }, stateBadge(info), progressOf(optimizations)),
    h("td", { class: "number", "data-label": "Points" }, count(info.points_count)),
    h("td", { "data-label": "Vectors" }, fieldsOf(info).map((field) => h("div", {}, fieldLabel(field.name), " ", h("small", {}, kindText(field))))),
    h("td", { class: "number", "data-label": "Memory" }, bytes(total?.ram_bytes)),
    h("td", { class: "number", "data-label": "Disk" }, bytes(total?.disk_bytes)),
    h("td", { class: "actions" }, button("Delete", () => askToDelete(name, refresh), { class: "plain", "aria-label": `Delete ${name}` })));
}

function table(states, refresh) {
  const heads = [["Name"], ["State"], ["Points", "number"], ["Vectors"], ["Memory", "number"], ["Disk", "number"], [""]];
  return h("div", { class: "scroll", tabindex: 0 }, h("table", { class: "cards" },
    h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text || h("span", { class: "hidden" }, "Actions"))))),
    h("tbody", {}, states.map((state) => row(state, refresh)))));
}

function emptyText() {
  return h("div", { class: "empty" }, h("p", {}, "There are no collections yet."),
           h("p", { class: "quiet" }, "Create one here, or send your first request from the ", h("a", { href: "#/requests" }, "API page"), "."));
}

/** The collections to show: those whose names contain the text, as many as can be asked for at each look. */
function chosen(names, text) {
  const found = names.filter((name) => name.toLowerCase().includes(text.toLowerCase())).sort();
  return { shown: found.slice(0, kMaxShown), n_left: Math.max(0, found.length - kMaxShown) };
}

export async function show(content, { signal }) {
  const list = h("div");
  let wake = () => {};
  const refresh = () => wake();
  const search = h("input", { type: "search", placeholder: "Find by name", "aria-label": "Find by name", hidden: true, oninput: refresh });
  replace(content, h("div", { class: "title" }, h("h1", {}, "Collections"),
                     h("div", { class: "actions" }, search, button("New collection", () => createCollection(refresh), { class: "primary" }))), list);
  let last = "";
  do {
    const is_drawn = await guarded(list, async () => {
      const names = (await get("collections", signal)).collections.map((collection) => collection.name);
      search.hidden = names.length <= kMaxShown / 4;
      const { shown, n_left } = chosen(names, search.value);
      const states = await statesOf(shown, signal);
      const now = writeJson([states, n_left]);
      if (signal.aborted || now === last) return true; // nothing to draw
      last = now;
      redraw(list, states.length > 0 ? table(states, refresh) : names.length > 0 ? h("p", {}, "No name contains this.") : emptyText(),
             n_left > 0 ? h("p", { class: "quiet" }, `${count(n_left)} more. Find them by name.`) : null);
      return true;
    });
    if (!is_drawn) last = "";
    await whileHidden(signal);
  } while (await Promise.race([pause(kPoll_ms, signal), new Promise((resolve) => { wake = () => resolve(true); })]));
}
