// Search parameters as a form, and how they come into a request.
import { h, labelled } from "./dom.js";
import { readJson } from "./http.js";

const prefetchesOf = (node) => [node.prefetch ?? []].flat();

/** The request with `params` added to each search for vectors. Texts and fusions have none. */
export function withParams(request, params) {
  if (Object.keys(params).length === 0) return request;
  if (request.prefetch !== undefined) {
    return {
      ...request,
      prefetch: prefetchesOf(request).map((child) => withParams(child, params)),
    };
  }
  if (request.query === undefined || request.query?.text !== undefined) return request;
  return { ...request, params: { ...request.params, ...params } };
}

/** The request with a filter at each search, so that each finds enough points. */
export function withFilter(request, filter) {
  if (filter === undefined) return request;
  if (request.prefetch !== undefined) {
    return {
      ...request,
      prefetch: prefetchesOf(request).map((child) => withFilter(child, filter)),
    };
  }
  return { ...request, filter };
}

/** A form of one setting. Returns {element, read()}, which gives `params` of a search. */
export function settingForm(name, initial, changed) {
  const effort = h("input", {
    type: "number",
    min: 1,
    max: 100000,
    placeholder: "128",
    value: initial.effort ?? "",
    oninput: changed,
    class: "effort",
  });
  const exact = h("input", { type: "checkbox", onchange: changed, class: "exact" });
  const more = h("input", {
    placeholder: '{"ivf": {"rerank": 200}}',
    oninput: changed,
    spellcheck: "false",
    class: "mono",
  });
  exact.checked = initial.exact ?? false;
  const element = h(
    "fieldset",
    { class: "setting" },
    h("legend", {}, name),
    h(
      "div",
      { class: "row" },
      labelled("Effort (hnsw_ef)", effort),
      h("label", { class: "check" }, exact, "exact"),
      h("div", { class: "field wide" }, labelled("Other params", more)),
    ),
  );
  const read = () => ({
    ...(effort.value ? { hnsw_ef: Number(effort.value) } : {}),
    ...(exact.checked ? { exact: true } : {}),
    ...(more.value.trim() ? readJson(more.value, "The params") : {}),
  });
  return { element, read };
}
