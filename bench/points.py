"""Reads, names and selects points from the JSON lines of `quiver bench ann` and `quiver bench load`."""
import json
from pathlib import Path


def read(paths):
    """Returns all points of the files, in order."""
    points = []
    for path in paths:
        for number, line in enumerate(Path(path).read_text().splitlines(), 1):
            try:
                points.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise SystemExit(f"{path}:{number}: no JSON: {error}") from error
    return points


def settings(parameters):
    return " ".join(f"{k}={v}" for k, v in parameters.items())


def series(point):
    """Returns the identity of a curve: everything but the search parameters."""
    parts = [point["index"], settings(point.get("build_params", {}))]
    if point.get("dtype", "f32") != "f32":
        parts.append(point["dtype"])
    if point.get("batch", 1) > 1:
        parts.append(f"batch {point['batch']}")
    parts.append(clients(point))
    return " ".join(p for p in parts if p)


def clients(point):
    """Returns the concurrency if it is not one thread: threads, or connections to a server and the arrival rate."""
    if "connections" not in point:
        return f"{point['threads']} threads" if point.get("threads", 1) > 1 else ""
    parts = [f"{point['connections']} connection{'s' if point['connections'] > 1 else ''}"]
    if point["pipeline"] > 1:
        parts.append(f"of {point['pipeline']} requests")
    if "rate" in point:
        parts.append(f"at {point['rate']:g}/s")
    return " ".join(parts)


def engine(point):
    """Returns the identity of a curve on pages: an index with all its builds, and one type of rows. Batches and several threads
have curves of their own."""
    parts = [point["index"] + ("" if point.get("dtype", "f32") == "f32" else f" {point['dtype']}")]
    if point.get("batch", 1) > 1:
        parts.append(f"{point['batch']:,} a call")
    return ", ".join(p for p in (*parts, clients(point)) if p)


def with_recall(points):
    """Returns the points with a recall; `bench load` measures it only if given the ground truth."""
    return [p for p in points if p.get("recall") is not None]


def grouped(points, key):
    groups = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return groups


def front(points, value="qps", larger=True):
    """Returns the points that no other point beats in both recall and `value`, by recall."""
    sign = 1 if larger else -1
    best, chosen = None, []
    for point in sorted(points, key=lambda p: (-p["recall"], -sign * p[value])):
        if best is None or sign * point[value] > best:
            best = sign * point[value]
            chosen.append(point)
    return chosen[::-1]


def align(heads, rows):
    """Returns lines of text; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(str(r[c])) for r in [heads, *rows]) for c in range(len(heads))]
    cells = [heads, ["─" * w for w in widths], *rows]
    return "\n".join("  ".join(f"{x:<{w}}" if c == 0 else f"{x:>{w}}" for c, (x, w) in enumerate(zip(r, widths))).rstrip()
                     for r in cells)


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"
