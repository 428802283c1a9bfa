"""What is kept in the tree: all measured points as JSON lines, and a page of the best of each engine at each recall."""
import json

import points
import report

COLUMNS = ("*ours / it* is the fastest of ours at that recall against the row: median of the rounds (least–most). *build s*: "
           "one thread; of peers CPU time. Bytes a vector: of index and codes, beside them exact rows. `*`: disturbed.")
LEGEND = ("For each recall the setting of an engine that was the cheapest to reach it over the queries for choosing, "
          "measured over the others; the builds of an engine share one front. " + COLUMNS)
HEADS = ["recall", "engine", "settings", "measured", "QPS", "ours / it", "by CPU", "p50 µs", "p99 µs", "build s", "B/vector",
         "exact rows"]


def write(folder, name, found, pages):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(p) + "\n" for p in found))
    (folder / f"{name}.md").write_text("\n".join(pages))


def name_of(data):
    return f"{data.kind}-{data.name.split('/')[0]}"


def page(name, found, targets, head, legend, missing):
    """Markdown: what was measured with what, and the table."""
    ours = next((p for p in found if report.is_ours(p)), found[0])
    lines = [f"# {name}: ours beside other libraries", "", *head.splitlines(), "",
             f"Commit {ours['commit'][:12]}, {ours['isa']}, {ours['date'][:10]}. "
             f"{sum(p['disturbed'] for p in found)} of {len(found)} points disturbed.", "", legend, ""]
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
