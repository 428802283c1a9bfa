"""Prints the tables as text."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import points  # noqa: E402

OURS = "quiver "


def is_ours(point):
    return point["index"].startswith(OURS)


def name_of(point):
    return points.series(point)


def fastest(found, target):
    return max((p for p in found if p["recall"] >= target), key=lambda p: p["qps"], default=None)


def pareto(found, targets):
    """QPS at each target for each engine and build, followed by the ratio of our best to it."""
    ours = [p for p in found if is_ours(p)]
    rows = []
    for name, group in points.grouped(found, name_of).items():
        first = group[0]
        cells = [target_cell(group, ours, target) for target in targets]
        # On one thread, CPU time is the build cost, whatever else the machine did meanwhile.
        rows.append([name, f"{first.get('build_cpu_s', first['build_s']):.1f}", points.number(first["bytes_per_vector"]),
                     points.number(first["exact_bytes_per_vector"]), *cells])
    heads = ["one query a call, or batch", "build s", "B/vector", "+ exact", *(f"QPS at {t:g}".replace("0.", ".") for t in targets)]
    return points.align(heads, rows)


def target_cell(group, ours, target):
    best, best_ours = fastest(group, target), fastest(ours, target)
    if best is None:
        return "–"
    text = points.number(best["qps"]) + ("*" if best["disturbed"] else "")
    if best_ours is None or is_ours(best):
        return text
    return f"{text} ({best_ours['qps'] / best['qps']:.2f}x)"


def in_turn(found):
    """Compares points of the same rounds with our first: medians of the ratios within each round."""
    ours = next((p for p in found if is_ours(p)), None)
    rows = []
    for p in found:
        row = [f"{name_of(p)} {points.settings(p['params'])}".rstrip(), f"{p['recall']:.4f}", points.number(p["qps"]),
               f"{100 * p['qps_spread']:.1f} %", points.number(p["p50_us"]), points.number(p["p99_us"]),
               points.number(p["cpu_us"])]
        rows.append(row + (ratios(ours, p) if ours and p is not ours else ["", ""]) + ["disturbed" if p["disturbed"] else ""])
    heads = ["in turn", "recall", "QPS", "spread", "p50 µs", "p99 µs", "CPU µs", "ours / it, QPS", "by CPU", ""]
    return points.align(heads, rows)


def ratios(ours, peer):
    return [of_rounds(ours["qps_repeats"], peer["qps_repeats"]), of_rounds(peer["cpu_us_repeats"], ours["cpu_us_repeats"])]


def of_rounds(a, b):
    each = [x / y for x, y in zip(a, b)]
    return f"{statistics.median(each):.2f} ({min(each):.2f}–{max(each):.2f})"
