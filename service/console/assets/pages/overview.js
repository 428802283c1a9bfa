// One collection: state, memory by part, fields, payload schema, indexes, configuration.
import { h, replace, button, labelled, select } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf } from "../lib/api.js";
import { guarded, notify, openDialog } from "../lib/dialog.js";
import { bytes, count, seconds } from "../lib/format.js";
import { tree } from "../lib/tree.js";
import { pause, whileHidden } from "../lib/poll.js";
import { progressOf, stateBadge } from "./collections.js";

const kPoll_ms = 2000;
const kSchemas = ["keyword", "integer", "float", "bool", "geo", "datetime", "uuid", "text", "text, ranked"];

function fact(name, value) {
  return h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value));
}

function facts(info, memory, optimizations) {
  return [
    h("dl", { class: "facts" },
      fact("State", stateBadge(info)), fact("Points", count(info.points_count)), fact("Segments", count(info.segments_count)),
      fact("Indexed vectors", count(info.indexed_vectors_count)), fact("Waiting updates", count(info.update_queue?.length)),
      fact("Memory", bytes(memory?.total.ram_bytes)), fact("Disk", bytes(memory?.total.disk_bytes)),
      info.created_at ? fact("Created", new Date(info.created_at).toLocaleString()) : null),
    progressOf(optimizations),
  ];
}

/** [part, bytes on disk, bytes in memory] of each part that has any. */
function memoryParts(memory) {
  const of = (label, usage) => [label, usage?.disk_bytes ?? 0, usage?.ram_bytes ?? 0];
  const fields = [...memory.vectors ?? [], ...memory.sparse_vectors ?? []].flatMap((field) => [
    of(`${fieldLabel(field.name)}: vectors`, field.storage), of(`${fieldLabel(field.name)}: index`, field.index)]);
  const payload_indexes = (memory.payload_index ?? []).map((index) => of(`index of ${index.name}`, index.usage ?? index));
  return [...fields, of("payload", memory.payload), ...payload_indexes].filter(([, disk, ram]) => disk + ram > 0);
}

function memoryTable(memory) {
  const parts = memory ? memoryParts(memory) : [];
  if (parts.length === 0) return null;
  const largest = Math.max(...parts.map(([, disk, ram]) => disk + ram));
  const bar = (size) => h("meter", { min: 0, max: largest, value: size, "aria-hidden": "true" });
  return section("Disk and memory by part", h("table", {},
    h("thead", {}, h("tr", {}, ["Part", "", "Disk", "Memory"].map((text, i) => h("th", { scope: "col", class: i > 1 ? "number" : undefined }, text)))),
    h("tbody", {}, parts.map(([label, disk, ram]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", {}, bar(disk + ram)),
      h("td", { class: "number" }, bytes(disk)), h("td", { class: "number" }, bytes(ram)))))));
}

function section(title, ...body) {
  return h("section", {}, h("h2", {}, title), body);
}

function fieldsTable(info, indexes) {
  const rows = fieldsOf(info).map((field) => {
    const own = (indexes?.indexes ?? []).filter((index) => index.field === field.name);
    const types = [...new Set(own.map((index) => index.index))].join(", ") || "–";
    const recalls = own.map((index) => index.facts?.trial_recall).filter((recall) => recall !== undefined);
    return h("tr", {}, h("th", { scope: "row" }, fieldLabel(field.name)), h("td", {}, field.kind), h("td", { class: "number" }, field.size ?? "–"),
             h("td", {}, field.distance), h("td", {}, types), h("td", { class: "number" }, recalls.length ? Math.min(...recalls).toFixed(3) : "–"));
  });
  if (rows.length === 0) return null;
  const heads = ["Name", "Kind", "Dimensions", "Distance", "Index", "Recall when built"];
  return section("Vectors", h("div", { class: "scroll", tabindex: 0 }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows))));
}

function createIndex(collection, refresh) {
  const key = h("input", { required: true, autocomplete: "off" });
  const type = select({}, kSchemas, "keyword");
  openDialog("New payload index", [labelled("Key", key), labelled("Type", type)], async () => {
    const schema = type.value === "text, ranked" ? { type: "text", scoring: true } : type.value;
    await call("PUT", pathOf(collection, "/index?wait=true"), { field_name: key.value.trim(), field_schema: schema });
    notify(`${key.value.trim()} is indexed.`);
    refresh();
    return true;
  }, "Create");
}

function dropIndex(collection, key, refresh) {
  openDialog("Delete payload index", h("p", {}, `Filters on ${key} stay exact, but may take longer.`), async () => {
    await call("DELETE", pathOf(collection, `/index/${encodeURIComponent(key)}?wait=true`));
    refresh();
    return true;
  }, "Delete", "danger");
}

function schemaTable(collection, info, refresh) {
  const rows = Object.entries(info.payload_schema).map(([key, schema]) => h("tr", {},
    h("th", { scope: "row" }, key), h("td", {}, schema.data_type, schema.params?.scoring ? ", ranked" : ""),
    h("td", { class: "number" }, count(schema.points)),
    h("td", { class: "actions" }, button("Delete", () => dropIndex(collection, key, refresh), { class: "plain", "aria-label": `Delete the index of ${key}` }))));
  const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "Type"),
    h("th", { scope: "col", class: "number" }, "Points"), h("th", {}, h("span", { class: "hidden" }, "Actions")))), h("tbody", {}, rows));
  return section("Payload indexes", rows.length ? table : h("p", { class: "quiet" }, "None. Filters work without them."),
                 button("New index", () => createIndex(collection, refresh)));
}

function work(optimizations) {
  const done = optimizations?.completed ?? [];
  if (done.length === 0) return null;
  return section("Recent work", h("table", {}, h("tbody", {}, done.slice(0, 8).map(({ optimizer, status, progress }) => h("tr", {},
    h("th", { scope: "row" }, optimizer), h("td", {}, status), h("td", { class: "number" }, `${count(progress?.total)} points`),
    h("td", { class: "number" }, seconds(progress?.duration_sec)),
    h("td", {}, progress?.finished_at ? new Date(progress.finished_at).toLocaleTimeString() : ""))))));
}

const folded = (title, value) => h("details", { class: "block" }, h("summary", {}, title), tree(value));

export async function show(content, { collection, signal }) {
  const head = h("div");
  const body = h("div");
  replace(content, h("h1", {}, collection), head, body);
  const optional = (path) => get(path, signal).catch(() => undefined);
  const indexes_path = `v1/collections/${encodeURIComponent(collection)}/indexes`;
  const load = () => Promise.all([get(pathOf(collection), signal), optional(pathOf(collection, "/memory")),
                                  optional(pathOf(collection, "/optimizations?with=completed")), optional(indexes_path)]);
  const draw = ([info, memory, optimizations, indexes]) => {
    replace(head, facts(info, memory, optimizations));
    replace(body, fieldsTable(info, indexes), schemaTable(collection, info, refresh), memoryTable(memory), work(optimizations),
            section("Details", folded("Configuration", info.config), indexes ? folded("Segments and their indexes", indexes) : null));
  };
  const refresh = () => guarded(body, async () => draw(await load()));
  await refresh();
  while (await pause(kPoll_ms, signal)) {
    await whileHidden(signal);
    await guarded(head, async () => {
      const [info, memory, optimizations] = await load();
      replace(head, facts(info, memory, optimizations));
    });
  }
}
