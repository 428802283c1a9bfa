// JSON as a tree that folds, for payloads, configurations and explanations.
import { h } from "./dom.js";
import { writeJson } from "./http.js";

const kOpenLevels = 2;
const kMaxShown = 100;
const kLongText = 300;

function textValue(text) {
  if (text.length <= kLongText) return h("span", { class: "string" }, text);
  const rest = h("span", { class: "string" }, `${text.slice(0, kLongText)}…`);
  const more = h("button", {
    type: "button",
    class: "plain",
    onclick: () => {
      rest.textContent = text;
      more.remove();
    },
  }, "more");
  return h("span", {}, rest, " ", more);
}

function leaf(value) {
  if (typeof value === "string") return textValue(value);
  return h("span", { class: value === null ? "null" : typeof value }, String(value));
}

function summary(value) {
  if (!Array.isArray(value)) return `{${Object.keys(value).length}}`;
  const is_short = value.every((item) => typeof item !== "object" || item === null) && value.length <= 8;
  return is_short ? value.map(String).join(", ") : `[${value.length}]`;
}

function entry(name, value, level) {
  const label = h("span", { class: "key" }, name);
  if (typeof value !== "object" || value === null) return h("li", {}, label, " ", leaf(value));
  const items = Object.entries(value);
  if (items.length === 0) {
    return h("li", {}, label, " ", h("span", { class: "null" }, Array.isArray(value) ? "[]" : "{}"));
  }
  return h(
    "li",
    {},
    h(
      "details",
      { open: level < kOpenLevels && items.length <= kMaxShown },
      h("summary", {}, label, " ", h("span", { class: "quiet" }, summary(value))),
      list(items, level + 1),
    ),
  );
}

function list(items, level) {
  const shown = items.slice(0, kMaxShown).map(([name, value]) => entry(name, value, level));
  const left = items.length - shown.length;
  return h("ul", {}, shown, left > 0 ? h("li", { class: "quiet" }, `${left} more`) : null);
}

/** A tree of any JSON value. */
export function tree(value) {
  if (typeof value !== "object" || value === null) return h("div", { class: "tree" }, leaf(value));
  return h("div", { class: "tree" }, list(Object.entries(value), 0));
}

/** The value as indented text. */
export function jsonText(value) {
  return h("pre", { class: "json", tabindex: "0" }, writeJson(value, 2));
}
