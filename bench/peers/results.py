"""Writes the results kept in the tree: all points as JSON lines, and a page with each engine's best at each recall."""
import json

import points
import report

COLUMNS = ("*ours / it*: rate of our fastest point at that recall divided by the row's, median of the rounds (min–max); "
           "*by CPU*: the same by CPU time. *build s*: time on one thread, CPU time for peers. *B/vector*: index and codes, "
           "without *exact rows*. `*`: the machine was disturbed.")
LEGEND = ("Each row is the setting of an engine that reached the recall most cheaply over the queries for choosing, measured "
          "over the other queries. The builds of an engine share one front. " + COLUMNS)
HEADS = ["recall", "engine", "settings", "measured", "QPS", "ours / it", "by CPU", "p50 µs", "p99 µs", "build s", "B/vector",
         "exact rows"]


def write(folder, name, found, pages):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(p) + "\n" for p in found))
    (folder / f"{name}.md").write_text("\n".join(pages))


def name_of(data):
    return f"{data.kind}-{data.name.split('/')[0]}"


def page(name, found, targets, head, legend, missing):
    """Returns Markdown: data, method and the table."""
    ours = next((p for p in found if report.is_ours(p)), found[0])
    lines = [f"# {name}: Quiver and other libraries", "", *head.splitlines(), "",
             f"Commit {ours['commit'][:12]}, {ours['isa']}, {ours['date'][:10]}. "
             f"{sum(p['disturbed'] for p in found)} of {len(found)} points were disturbed.", "", legend, ""]
    rows = [row for target in targets for row in rows_at(found, target)]
    rows += rows_of([p for p in found if p["exact"] and p.get("batch", 1) == 1], "exact")
    lines += markdown(HEADS, rows) + [""]
    lines += sorted({f"- {p['index']} {points.settings(p.get('build_params', {}))}".rstrip() + f": {version(p)}"
                     for p in found if not report.is_ours(p)})
    lines += [f"- not compared: {text}" for text in missing]
    return "\n".join(lines) + "\n"


def version(point):
    return f"{point['commit']}, {point['isa']}"


def rows_at(found, target):
    return rows_of([p for p in found if target in p.get("chosen_for", [])], f"{target:g}".replace("0.", "."))


def rows_of(group, label):
    """Ours first, then by rate."""
    ours = max((p for p in group if report.is_ours(p)), key=lambda p: p["qps"], default=None)
    order = sorted(group, key=lambda p: (not report.is_ours(p), -p["qps"]))
    return [row(p, ours, label) for p in order]


def row(p, ours, label):
    settings = " ".join(x for x in (points.settings(p.get("build_params", {})), points.settings(p["params"])) if x)
    beside = report.ratios(ours, p) if ours and p is not ours else ["", ""]
    return [label, points.engine(p), settings, f"{p['recall']:.4f}", points.number(p["qps"]) + ("\\*" if p["disturbed"] else ""),
            *beside, points.number(p["p50_us"]), points.number(p["p99_us"]), f"{p.get('build_cpu_s', p['build_s']):.1f}",
            points.number(p["bytes_per_vector"]), points.number(p["exact_bytes_per_vector"])]


def markdown(heads, rows):
    lines = [heads, ["---"] * 3 + ["--:"] * (len(heads) - 3), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]
