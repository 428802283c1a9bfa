// Line charts as SVG.
import { svg } from "./dom.js";

const kSize = { width: 640, height: 260, left: 54, right: 16, top: 34, bottom: 38 };
const kSmall = { width: 320, height: 120, left: 56, right: 16, top: 8, bottom: 20 };

/** Round numbers that divide [low, high]. */
export function ticks(low, high, wanted = 5) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => span / candidate <= wanted);
  const made = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    made.push(Number(at.toPrecision(12)));
  }
  return made;
}

/** Maps values to pixels, by logarithm if asked. */
function scale(axis, from, to) {
  const of = axis.log ? (value) => Math.log10(value) : (value) => value;
  const low = of(axis.min);
  const span = of(axis.max) - low || 1;
  return (value) => from + ((of(value) - low) / span) * (to - from);
}

function logTicks(low, high) {
  const made = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of [1, 2, 5]) {
      const at = factor * 10 ** power;
      if (at >= low * 0.999 && at <= high * 1.001) made.push(at);
    }
  }
  if (made.length < 3) return ticks(low, high);
  return made.length > 7 ? made.filter((_, i) => i % 2 === 0) : made;
}

/** Round numbers, or equal parts of the axis if it says how many. */
function yTicks({ min, max, marks }, size) {
  if (marks === undefined) return ticks(min, max, size === kSmall ? 3 : 5);
  return Array.from({ length: marks + 1 }, (_, i) => min + (i * (max - min)) / marks);
}

function grid(size, x, y, x_axis, y_axis) {
  const bottom = size.height - size.bottom;
  const horizontal = yTicks(y_axis, size).map((at) =>
    svg(
      "g",
      {},
      svg("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(at), y2: y(at) }),
      svg("text", { x: size.left - 6, y: y(at) + 4, "text-anchor": "end" }, y_axis.format(at)),
    )
  );
  const marks = x_axis.log ? logTicks(x_axis.min, x_axis.max) : ticks(x_axis.min, x_axis.max, size === kSmall ? 3 : 6);
  const vertical = marks.map((at) =>
    svg("text", { x: x(at), y: bottom + 15, "text-anchor": "middle" }, x_axis.format(at))
  );
  return [horizontal, vertical];
}

function line(series, index, x, y) {
  const points = series.points.filter(([, value]) => Number.isFinite(value));
  const path = points.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const dots = series.dots
    ? points.map(([at, value], i) => svg("circle", { cx: x(at), cy: y(value), r: 4 }, svg("title", {}, series.dots[i])))
    : null;
  return svg("g", { class: `series s${index}` }, svg("path", { d: path }), dots);
}

function markOf(mark, x, y, size) {
  const at = { x: x(mark.x), y: y(mark.y) };
  const is_right = at.x > size.width * 0.7;
  return svg(
    "g",
    { class: "mark" },
    svg("line", { x1: at.x, x2: at.x, y1: size.top, y2: size.height - size.bottom }),
    svg("circle", { cx: at.x, cy: at.y, r: 7 }),
    svg(
      "text",
      { x: at.x + (is_right ? -12 : 12), y: at.y + 18, "text-anchor": is_right ? "end" : "start" },
      mark.label,
    ),
  );
}

/**
 * `series`: [{points: [[x, y]], dots: [title]}]; `x`, `y`: {min, max, format, label, log}, for `y` also `marks`, the
 * number of parts; `marks`: [{x, y, label}].
 * `label` says what is drawn, for screen readers.
 */
export function lineChart({ series, x: x_axis, y: y_axis, marks = [], label, small = false }) {
  const size = small ? kSmall : kSize;
  const x = scale(x_axis, size.left, size.width - size.right);
  const y = scale(y_axis, size.height - size.bottom, size.top);
  return svg(
    "svg",
    {
      class: small ? "chart small" : "chart",
      viewBox: `0 0 ${size.width} ${size.height}`,
      role: "img",
      "aria-label": label,
    },
    grid(size, x, y, x_axis, y_axis),
    x_axis.label
      ? svg("text", {
        class: "axis",
        x: (size.left + size.width - size.right) / 2,
        y: size.height - 4,
        "text-anchor": "middle",
      }, x_axis.label)
      : null,
    y_axis.label ? svg("text", { class: "axis", x: 4, y: 15 }, y_axis.label) : null,
    series.map((one, i) => line(one, i, x, y)),
    marks.map((mark) => markOf(mark, x, y, size)),
  );
}
