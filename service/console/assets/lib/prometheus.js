// Reads the text of /metrics.

const kSample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const kLabel = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const unescaped = (text) => text.replace(/\\(.)/g, (_, letter) => (letter === "n" ? "\n" : letter));

/** [{name, labels, value}] of all samples. */
export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : kSample.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries(
      [...(found[2] ?? "").matchAll(kLabel)].map(([, name, value]) => [name, unescaped(value)]),
    );
    samples.push({ name: found[1], labels, value: Number(found[3].replace("Inf", "Infinity")) });
  }
  return samples;
}

/** Samples at one moment, by name. A prefix of all names, which the server may have, is dropped. */
export class Snapshot {
  constructor(text, at_s) {
    this.at_s = at_s;
    const samples = parseMetrics(text);
    const prefix = samples.find(({ name }) => name.endsWith("app_info"))?.name.slice(0, -"app_info".length) ?? "";
    this.by_name = Map.groupBy(samples, ({ name }) => name.slice(name.startsWith(prefix) ? prefix.length : 0));
  }

  samples(name) {
    return this.by_name.get(name) ?? [];
  }

  /** The sum of a metric over the labels that pass. */
  sum(name, passes = () => true) {
    return this.samples(name).reduce((sum, { labels, value }) => (passes(labels) ? sum + value : sum), 0);
  }
}

/** A quantile of what histograms counted between two snapshots, linear within a bucket; NaN without observations. */
export function quantile(share, name, before, after, passes) {
  const counts = new Map();
  for (const [snapshot, sign] of [[before, -1], [after, 1]]) {
    for (const { labels, value } of snapshot.samples(`${name}_bucket`)) {
      if (passes(labels)) {
        counts.set(
          Number(labels.le.replace("Inf", "Infinity")),
          (counts.get(Number(labels.le.replace("Inf", "Infinity"))) ?? 0) + sign * value,
        );
      }
    }
  }
  const buckets = [...counts].sort(([a], [b]) => a - b);
  const wanted = share * (buckets.at(-1)?.[1] ?? 0);
  if (!(wanted > 0)) return NaN;
  let [low, below] = [0, 0];
  for (const [bound, n] of buckets) {
    if (n >= wanted) return Number.isFinite(bound) ? low + ((bound - low) * (wanted - below)) / (n - below || 1) : low;
    [low, below] = [bound, n];
  }
  return low;
}
