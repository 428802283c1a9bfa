// Colours of points by a key of their payloads.
import { count, short } from "./format.js";

// Paul Tol's "bright" and "muted" colours, which colour-blind people can tell apart.
const kCategories = [
  "#4477aa",
  "#ee6677",
  "#228833",
  "#ccbb44",
  "#66ccee",
  "#aa3377",
  "#ee8866",
  "#44bb99",
  "#bb5566",
  "#9988dd",
];
// Steps of viridis.
const kRamp = ["#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30"];
const kOthers = "#8a94a3";
const kMaxCategories = 12;

/** The first value under a key; undefined if there is none. */
export function valueOf(payload, key) {
  const value = key.split(".").reduce((at, part) => (Array.isArray(at) ? at[0] : at)?.[part], payload);
  return Array.isArray(value) ? value[0] : value;
}

const isDate = (value) =>
  typeof value === "string" && /^\d{4}-\d\d(-\d\d)?/.test(value) && !Number.isNaN(Date.parse(value));

/** The value as a number, if it is a number or a date. */
function numberOf(value) {
  return typeof value === "number" ? value : isDate(value) ? Date.parse(value) : NaN;
}

function byRanges(values, numbers) {
  const sorted = Float64Array.from(numbers.filter(Number.isFinite)).sort();
  const bounds = [...new Set(kRamp.map((_, i) => sorted[Math.floor((i * sorted.length) / kRamp.length)]))];
  const are_dates = values.some(isDate);
  const text = (number) => (are_dates ? new Date(number).toISOString().slice(0, 10) : short(number));
  const are_integers = !are_dates && numbers.every((number) => !Number.isFinite(number) || Number.isInteger(number));
  const labelOf = (from, to) => {
    if (to === undefined) return `from ${text(from)}`;
    if (are_integers) return to - from === 1 ? text(from) : `${text(from)} to ${text(to - 1)}`;
    return `${text(from)} to ${text(to)}`;
  };
  const colourOf = (i) => kRamp[Math.round((i * (kRamp.length - 1)) / Math.max(1, bounds.length - 1))];
  const groups = bounds.map((from, i) => ({ label: labelOf(from, bounds[i + 1]), colour: colourOf(i) }));
  const of = (
    number,
  ) => (Number.isFinite(number) ? Math.max(0, bounds.findLastIndex((bound) => bound <= number)) : groups.length);
  return {
    groups: [...groups, { label: "none", colour: kOthers, is_rest: true }],
    group: Uint8Array.from(numbers, of),
  };
}

function byValues(values) {
  const counts = new Map();
  for (const value of values) {
    if (value !== undefined && value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, kCategories.length);
  const rank = new Map(most.map(([value], i) => [value, i]));
  const groups = most.map(([value], i) => ({ label: String(value), value, colour: kCategories[i] }));
  const is_rest = values.length > most.reduce((sum, [, n]) => sum + n, 0);
  return {
    groups: is_rest ? [...groups, { label: "others", colour: kOthers, is_rest: true }] : groups,
    group: Uint8Array.from(values, (value) => rank.get(value) ?? groups.length),
  };
}

/**
 * Groups points: {groups: [{label, value, colour, n, is_rest}], group: of each point}. Many different numbers or dates
 * become ranges.
 */
export function colourGroups(payloads, key) {
  const values = key === "" ? payloads.map(() => "points") : payloads.map((payload) => valueOf(payload ?? {}, key));
  const numbers = values.map(numberOf);
  const known = values.filter((value) => value !== undefined && value !== null);
  const are_numbers = known.length > 0 && numbers.filter(Number.isFinite).length === known.length &&
    new Set(known).size > kMaxCategories;
  const made = are_numbers ? byRanges(values, numbers) : byValues(values);
  for (const group of made.groups) group.n = 0;
  for (const group of made.group) ++made.groups[group].n;
  return { ...made, title: (group) => `${group.label}: ${count(group.n)} points` };
}

/** [red, green, blue], 0 to 255. */
export function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
