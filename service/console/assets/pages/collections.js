// The collections with their live state.
import { button, h, redraw, replace } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf } from "../lib/api.js";
import { confirmBy, errorBox, guarded, notify } from "../lib/dialog.js";
import { addressOf } from "../lib/frame.js";
import { bytes, count, percent, seconds } from "../lib/format.js";
import { writeJson } from "../lib/http.js";
import { pause, whileHidden } from "../lib/poll.js";
import { actions, number, table, text } from "../lib/table.js";
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
    return h(
      "div",
      { class: "progress" },
      h("progress", { value: share, max: 1, "aria-label": text }),
      h("small", {}, text),
    );
  });
}

async function stateOf(name, signal) {
  const optional = (path) => get(path, signal).catch(() => undefined);
  try {
    const [info, optimizations, memory] = await Promise.all([
      get(pathOf(name), signal),
      optional(pathOf(name, "/optimizations")),
      optional(pathOf(name, "/memory")),
    ]);
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
  if (error) return [link, errorBox(error), "", "", "", "", ""];
  const vectors = fieldsOf(info).map((field) =>
    h("div", {}, fieldLabel(field.name), " ", h("small", {}, kindText(field)))
  );
  const drop = button("Delete", () => askToDelete(name, refresh), { class: "plain", "aria-label": `Delete ${name}` });
  const state = [stateBadge(info), progressOf(optimizations)];
  return [
    link,
    state,
    count(info.points_count),
    vectors,
    bytes(memory?.total.ram_bytes),
    bytes(memory?.total.disk_bytes),
    drop,
  ];
}

function collectionTable(states, refresh) {
  const columns = [
    text("Name"),
    text("State"),
    number("Points"),
    text("Vectors"),
    number("Memory"),
    number("Disk"),
    actions(),
  ];
  return table(columns, states.map((state) => row(state, refresh)), { cards: true });
}

function emptyText() {
  return h(
    "div",
    { class: "empty" },
    h("p", {}, "There are no collections yet."),
    h(
      "p",
      { class: "quiet" },
      "Create one here, or send your first request from the ",
      h("a", { href: "#/requests" }, "API page"),
      ".",
    ),
  );
}

/** The collections to show: those whose names contain the text, as many as can be asked for at each look. */
function chosen(names, text) {
  const found = names.filter((name) => name.toLowerCase().includes(text.toLowerCase())).sort();
  return { shown: found.slice(0, kMaxShown), n_left: Math.max(0, found.length - kMaxShown) };
}

class CollectionList {
  constructor(signal) {
    Object.assign(this, { signal, drawn: "", wake: () => {} });
    this.element = h("div");
    const look = { type: "search", placeholder: "Find by name", "aria-label": "Find by name", hidden: true };
    this.search = h("input", { ...look, oninput: () => this.wake() });
  }

  /** Asks for the state of the collections and draws it, if it has changed. */
  async look() {
    const names = (await get("collections", this.signal)).collections.map((collection) => collection.name);
    this.search.hidden = names.length <= kMaxShown / 4;
    const { shown, n_left } = chosen(names, this.search.value);
    const states = await statesOf(shown, this.signal);
    const now = writeJson([states, n_left]);
    if (this.signal.aborted || now === this.drawn) return;
    this.drawn = now;
    const nothing = names.length > 0 ? h("p", {}, "No name contains this.") : emptyText();
    const more = n_left > 0 ? h("p", { class: "quiet" }, `${count(n_left)} more. Find them by name.`) : null;
    redraw(this.element, states.length > 0 ? collectionTable(states, () => this.wake()) : nothing, more);
  }

  /** Looks again and again until the page is left. */
  async follow() {
    do {
      await guarded(this.element, () => this.look());
      if (this.element.querySelector(".error")) this.drawn = "";
      await whileHidden(this.signal);
    } while (await Promise.race([pause(kPoll_ms, this.signal), this.woken()]));
  }

  woken() {
    return new Promise((resolve) => {
      this.wake = () => resolve(true);
    });
  }
}

export async function show(content, { signal }) {
  const list = new CollectionList(signal);
  const create = button("New collection", () => createCollection(() => list.wake()), { class: "primary" });
  const actions = h("div", { class: "actions" }, list.search, create);
  replace(content, h("div", { class: "title" }, h("h1", {}, "Collections"), actions), list.element);
  await list.follow();
}
