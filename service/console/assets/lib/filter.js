// A filter as chips and as JSON. The JSON is the filter; chips are a view of it, so nothing gets lost.
import { button, h, redraw, replace, select, suggesting } from "./dom.js";
import { guarded, openDialog } from "./dialog.js";
import { ApiError, parseJson, readJson, writeJson } from "./http.js";

const kClauses = ["must", "must_not", "should"];
const kClauseWords = { must: "", must_not: "not ", should: "any of: " };
const wordsOf = (clause) => kClauseWords[clause] ?? `${clause} `;

/** `12`, `true` and quoted texts as JSON, everything else as text. */
export function parseValue(text) {
  try {
    const value = parseJson(text);
    if (["number", "boolean", "bigint", "string"].includes(typeof value)) return value;
  } catch { /* a text */ }
  return text;
}

const range = (name) => (key, text) => ({ key, range: { [name]: boundOf(text) } });

/** The bound of a range: a number, or a date as text. */
function boundOf(text) {
  const value = parseValue(text);
  if (typeof value === "number" || !Number.isNaN(Date.parse(text))) return value;
  throw new ApiError(0, `“${text}” is neither a number nor a date.`);
}

/** What can be asked of a key: [name, needs a value, condition]. */
const kOperators = [
  ["is", true, (key, text) => ({ key, match: { value: parseValue(text) } })],
  ["is one of", true, (key, text) => ({ key, match: { any: text.split(",").map((part) => parseValue(part.trim())) } })],
  ["≥", true, range("gte")],
  [">", true, range("gt")],
  ["≤", true, range("lte")],
  ["<", true, range("lt")],
  ["has the words", true, (key, text) => ({ key, match: { text } })],
  ["has a word of", true, (key, text) => ({ key, match: { text_any: text } })],
  ["has the phrase", true, (key, text) => ({ key, match: { phrase: text } })],
  ["is empty", false, (key) => ({ is_empty: { key } })],
  ["is null", false, (key) => ({ is_null: { key } })],
];

const asList = (clause) => (clause === undefined ? [] : Array.isArray(clause) ? clause : [clause]);

function matchText(match) {
  if ("value" in match) return `= ${match.value}`;
  if ("any" in match) return `is one of ${match.any.join(", ")}`;
  if ("except" in match) return `is none of ${match.except.join(", ")}`;
  const words = { text: "has the words", text_any: "has a word of", phrase: "has the phrase" };
  const [kind, text] = Object.entries(match)[0] ?? ["?", ""];
  return `${words[kind] ?? kind} ${text}`;
}

const kSigns = { gte: "≥", gt: ">", lte: "≤", lt: "<" };

/** A condition in words. */
export function describe(condition) {
  if (condition.key && condition.match) return `${condition.key} ${matchText(condition.match)}`;
  if (condition.key && condition.range) {
    return `${condition.key} ${
      Object.entries(condition.range).map(([sign, bound]) => `${kSigns[sign]} ${bound}`).join(" and ")
    }`;
  }
  if (condition.has_id) {
    return condition.has_id.length === 1 ? `id ${condition.has_id[0]}` : `one of ${condition.has_id.length} points`;
  }
  if (condition.is_empty) return `${condition.is_empty.key} is empty`;
  if (condition.is_null) return `${condition.is_null.key} is null`;
  return writeJson(condition);
}

/** The conditions of a filter: [clause, index, text]; clauses that are no lists of conditions are one each. */
export function chipsOf(filter) {
  return Object.entries(filter).flatMap(([clause, conditions]) => {
    if (clause === "should" && asList(conditions).length > 0) {
      return [[clause, -1, asList(conditions).map(describe).join(" or ")]];
    }
    if (!kClauses.includes(clause)) return [[clause, -1, writeJson(conditions)]];
    return asList(conditions).map((condition, i) => [clause, i, describe(condition)]);
  });
}

/** The filter without one of its chips. */
export function without(filter, clause, index) {
  const left = { ...filter };
  const conditions = index < 0 ? [] : asList(filter[clause]).filter((_, i) => i !== index);
  if (conditions.length > 0) left[clause] = conditions;
  else delete left[clause];
  return left;
}

export function withCondition(filter, clause, condition) {
  return { ...filter, [clause]: [...asList(filter[clause]), condition] };
}

/** The filter for a request: undefined if it restricts nothing. */
export const orNothing = (filter) => (Object.keys(filter).length > 0 ? filter : undefined);

function conditionForm(keys, add) {
  const [key, suggestions] = suggesting(keys, { "aria-label": "Key", placeholder: "key", size: 14 });
  const operator = select(
    {
      "aria-label": "Condition",
      onchange: () => {
        value.hidden = !kOperators[operator.value][1];
      },
    },
    kOperators.map(([name], i) => [i, name]),
    0,
  );
  const value = h("input", { "aria-label": "Value", placeholder: "value", size: 16 });
  const negated = h("input", { type: "checkbox" });
  const problem = h("div");
  const submit = (event) => {
    event.preventDefault();
    replace(problem);
    if (key.value.trim() === "") return key.focus();
    return guarded(problem, async () => {
      add(negated.checked ? "must_not" : "must", kOperators[operator.value][2](key.value.trim(), value.value));
    });
  };
  return h(
    "form",
    { class: "row", onsubmit: submit, "aria-label": "Add a condition" },
    key,
    suggestions,
    operator,
    value,
    h("label", { class: "check" }, negated, "not"),
    h("button", {}, "Add condition"),
    problem,
  );
}

function editJson(filter, changed) {
  const text = h("textarea", {
    rows: 12,
    spellcheck: "false",
    "aria-label": "Filter as JSON",
    value: writeJson(filter, 2),
  });
  openDialog("Filter as JSON", text, async () => {
    changed(text.value.trim() === "" ? {} : readJson(text.value, "The filter"));
    return true;
  }, "Apply");
}

/**
 * An editor of a filter. `keys` are suggested; `changed(filter)` is called after each change.
 * Returns {element, value(), set(filter)}.
 */
export function filterEditor(keys, initial, changed) {
  let filter = initial;
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Filter" });
  const set = (next) => {
    filter = next;
    draw();
    changed(filter);
  };
  const draw = () =>
    redraw(
      chips,
      chipsOf(filter).map(([clause, index, text]) =>
        h(
          "div",
          { class: `chip ${clause}` },
          h("span", { title: text }, wordsOf(clause), text),
          button("×", () => set(without(filter, clause, index)), { "aria-label": `Remove ${wordsOf(clause)}${text}` }),
        )
      ),
      button("Edit as JSON", () => editJson(filter, set), { class: "plain" }),
      Object.keys(filter).length > 0 ? button("Clear", () => set({}), { class: "plain" }) : null,
    );
  draw();
  const element = h(
    "div",
    { class: "rows" },
    conditionForm(keys, (clause, condition) => set(withCondition(filter, clause, condition))),
    chips,
  );
  return { element, value: () => filter, set };
}
