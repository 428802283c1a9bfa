// Numbers for people.

export function count(n) {
  return n === null || n === undefined ? "–" : n.toLocaleString("en");
}

/** 1.2 M, 45 k: for charts. */
export function short(n) {
  if (!Number.isFinite(n)) return "–";
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(n) >= size) return `${trimmed(n / size)} ${unit}`;
  }
  return trimmed(n);
}

const trimmed = (n) => String(Number(n.toPrecision(3)));

export function bytes(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; ++unit) n /= 1024;
  return `${trimmed(n)} ${units[unit]}`;
}

export function seconds(s) {
  if (s === null || s === undefined || !Number.isFinite(s)) return "–";
  if (s < 1e-3) return `${trimmed(s * 1e6)} µs`;
  if (s < 1) return `${trimmed(s * 1e3)} ms`;
  if (s < 120) return `${trimmed(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return `${trimmed(s / 3600)} h`;
}

export const milliseconds = (ms) => seconds(ms / 1000);
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A score with as many digits as tell hits apart. */
export const score = (value) => (Number.isInteger(value) ? String(value) : value.toPrecision(6));
