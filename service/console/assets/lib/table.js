// Tables.
import { h } from "./dom.js";

/** A column: its head and, for numbers, how it is aligned. */
export const text = (head) => ({ head });
export const number = (head) => ({ head, kind: "number" });
/** A column of buttons, whose head only screen readers say. */
export const actions = () => ({ head: h("span", { class: "hidden" }, "Actions"), kind: "actions", is_nameless: true });

/**
 * `columns`: made by the functions above; `rows`: arrays of cells, the first of which names its row. The table scrolls
 * sideways where it does not fit; with `cards`, rows become cards on narrow screens.
 */
export function table(columns, rows, { cards = false } = {}) {
  const kindOf = (i) => (columns[i].kind === "actions" ? undefined : columns[i].kind);
  const head = columns.map((column, i) => h("th", { scope: "col", class: kindOf(i) }, column.head));
  const cell = (content, i) => {
    const column = columns[i];
    if (i === 0) return h("th", { scope: "row", class: column.kind }, content);
    return h("td", { class: column.kind, "data-label": column.is_nameless ? undefined : column.head }, content);
  };
  const body = rows.map((cells) => h("tr", {}, cells.map(cell)));
  const made = h(
    "table",
    { class: cards ? "cards" : undefined },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, body),
  );
  return h("div", { class: "scroll", tabindex: 0 }, made);
}
