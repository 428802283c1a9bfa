// One collection: state, memory by part, fields, payload schema, indexes, configuration.
import { button, h, labelled, replace, select, suggesting } from "../lib/dom.js";
import { call, fieldLabel, fieldsOf, get, pathOf } from "../lib/api.js";
import { guarded, notify, openDialog } from "../lib/dialog.js";
import { bytes, count, seconds } from "../lib/format.js";
import { payloadKeys } from "../lib/payload_keys.js";
import { actions, number, table, text } from "../lib/table.js";
import { tree } from "../lib/tree.js";
import { pause, whileHidden } from "../lib/poll.js";
import { progressOf, stateBadge } from "./collections.js";

const kPoll_ms = 2000;
const kMaxWork = 8;
const kSchemas = ["keyword", "integer", "float", "bool", "geo", "datetime", "uuid", "text", "text, ranked"];

function fact(name, value) {
  return h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value));
}

function facts(info, memory, optimizations) {
  return [
    h(
      "dl",
      { class: "facts" },
      fact("State", stateBadge(info)),
      fact("Points", count(info.points_count)),
      fact("Segments", count(info.segments_count)),
      fact("Indexed vectors", count(info.indexed_vectors_count)),
      fact("Waiting updates", count(info.update_queue?.length)),
      fact("Memory", bytes(memory?.total.ram_bytes)),
      fact("Disk", bytes(memory?.total.disk_bytes)),
      info.created_at ? fact("Created", new Date(info.created_at).toLocaleString()) : null,
    ),
    progressOf(optimizations),
  ];
}

/** [part, bytes on disk, bytes in memory] of each part that has any. */
function memoryParts(memory) {
  const of = (label, usage) => [label, usage?.disk_bytes ?? 0, usage?.ram_bytes ?? 0];
  const fields = [...memory.vectors ?? [], ...memory.sparse_vectors ?? []].flatMap((field) => [
    of(`${fieldLabel(field.name)}: vectors`, field.storage),
    of(`${fieldLabel(field.name)}: index`, field.index),
  ]);
  const payload_indexes = (memory.payload_index ?? []).map((index) =>
    of(`index of ${index.name}`, index.usage ?? index)
  );
  return [...fields, of("payload", memory.payload), ...payload_indexes].filter(([, disk, ram]) => disk + ram > 0);
}

/** The head of the column of bars, which only screen readers say. */
const barHead = () => h("span", { class: "hidden" }, "Size");

function memoryTable(memory) {
  const parts = memory ? memoryParts(memory) : [];
  if (parts.length === 0) return null;
  const largest = Math.max(...parts.map(([, disk, ram]) => disk + ram));
  const bar = (size) => h("meter", { min: 0, max: largest, value: size, "aria-hidden": "true" });
  const rows = parts.map(([label, disk, ram]) => [label, bar(disk + ram), bytes(disk), bytes(ram)]);
  const columns = [text("Part"), text(barHead()), number("Disk"), number("Memory")];
  return section("Disk and memory by part", table(columns, rows));
}

function section(title, ...body) {
  return h("section", {}, h("h2", {}, title), body);
}

function fieldsTable(info, indexes) {
  const rows = fieldsOf(info).map((field) => {
    const own = (indexes?.indexes ?? []).filter((index) => index.field === field.name);
    const types = [...new Set(own.map((index) => index.index))].join(", ") || "–";
    const recalls = own.map((index) => index.facts?.trial_recall).filter((recall) => recall !== undefined);
    const recall = recalls.length > 0 ? Math.min(...recalls).toFixed(3) : "–";
    return [fieldLabel(field.name), field.kind, field.size ?? "–", field.distance, types, recall];
  });
  if (rows.length === 0) return null;
  const columns = [text("Name"), text("Kind"), number("Dimensions"), text("Distance"), text("Index")];
  return section("Vectors", table([...columns, number("Recall when built")], rows, { cards: true }));
}

async function createIndex(collection, info, refresh) {
  const keys = await payloadKeys(collection, info);
  const [key, suggestions] = suggesting(keys, { required: true, autocomplete: "off" });
  const type = select({}, kSchemas, "keyword");
  openDialog("New payload index", [labelled("Key", key), suggestions, labelled("Type", type)], async () => {
    const schema = type.value === "text, ranked" ? { type: "text", scoring: true } : type.value;
    await call("PUT", pathOf(collection, "/index?wait=true"), { field_name: key.value.trim(), field_schema: schema });
    notify(`${key.value.trim()} is indexed.`);
    refresh();
    return true;
  }, "Create");
}

function dropIndex(collection, key, refresh) {
  openDialog(
    "Delete payload index",
    h("p", {}, `Filters on ${key} stay exact, but may take longer.`),
    async () => {
      await call("DELETE", pathOf(collection, `/index/${encodeURIComponent(key)}?wait=true`));
      refresh();
      return true;
    },
    "Delete",
    "danger",
  );
}

function schemaTable(collection, info, refresh) {
  const drop = (key) => {
    const attributes = { class: "plain", "aria-label": `Delete the index of ${key}` };
    return button("Delete", () => dropIndex(collection, key, refresh), attributes);
  };
  const kind = (schema) => schema.data_type + (schema.params?.scoring ? ", ranked" : "");
  const rows = Object.entries(info.payload_schema).map((
    [key, schema],
  ) => [key, kind(schema), count(schema.points), drop(key)]);
  const nothing = h("p", { class: "quiet" }, "None. Filters work without them.");
  return section(
    "Payload indexes",
    rows.length > 0 ? table([text("Key"), text("Type"), number("Points"), actions()], rows) : nothing,
    button("New index", () => createIndex(collection, info, refresh)),
  );
}

function work(optimizations) {
  const done = optimizations?.completed ?? [];
  if (done.length === 0) return null;
  const timeOf = (progress) => (progress?.finished_at ? new Date(progress.finished_at).toLocaleTimeString() : "");
  const rows = done.slice(0, kMaxWork).map((
    { optimizer, status, progress },
  ) => [optimizer, status, count(progress?.total), seconds(progress?.duration_sec), timeOf(progress)]);
  return section(
    "Recent work",
    table([text("Work"), text("State"), number("Points"), number("Time"), text("Ended")], rows, { cards: true }),
  );
}

const folded = (title, value) => h("details", { class: "block" }, h("summary", {}, title), tree(value));

export async function show(content, { collection, signal }) {
  const head = h("div");
  const body = h("div");
  replace(content, h("h1", {}, collection), head, body);
  const optional = (path) => get(path, signal).catch(() => undefined);
  const indexes_path = `v1/collections/${encodeURIComponent(collection)}/indexes`;
  const load = () =>
    Promise.all([
      get(pathOf(collection), signal),
      optional(pathOf(collection, "/memory")),
      optional(pathOf(collection, "/optimizations?with=completed")),
      optional(indexes_path),
    ]);
  const draw = ([info, memory, optimizations, indexes]) => {
    replace(head, facts(info, memory, optimizations));
    replace(
      body,
      fieldsTable(info, indexes),
      schemaTable(collection, info, refresh),
      memoryTable(memory),
      work(optimizations),
      section(
        "Details",
        folded("Configuration", info.config),
        indexes ? folded("Segments and their indexes", indexes) : null,
      ),
    );
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
