#!/usr/bin/env python3
"""Draws the JSON lines of `quiver bench ann` and `quiver bench load` as PNG or SVG, by the name of --out.

    bench/plot.py curves FILE.jsonl… --out curves.png     recall against rate and latency; a front for each index
    bench/plot.py rates FILE.jsonl… --out rates.svg       recall against rate; a front for each engine over its builds
    bench/plot.py exact FILE.jsonl… --out exact.svg       runs at recall 1: rate and latency of each

A front joins the points that no other point of the same index beats in both figures; other points are faint. Hollow points
were measured while the machine was disturbed. Plots of recall omit points without one.
"""
import argparse
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
import points  # noqa: E402

# Okabe and Ito's colours for colour-blind readers, without yellow.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
LINES = ["-", "--", ":"]
PERCENTILES = [("p50_us", "p50"), ("p95_us", "p95"), ("p99_us", "p99"), ("p999_us", "p99.9")]
STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e4e4",
         "axes.axisbelow": True, "axes.titlelocation": "left", "figure.dpi": 130, "svg.fonttype": "none",
         "svg.hashsalt": "quiver", "figure.constrained_layout.use": True}


def short(value, _=None):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def log_axis(axis, values):
    """Makes an axis logarithmic, with legible ticks even if it spans less than a decade."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = min(values), max(values)
    axis.axes.set(**{f"{axis.axis_name}lim": (low / 1.35, high * 1.35)})
    axis.set_major_formatter(FuncFormatter(short))
    if high / low < 15:
        axis.set_minor_formatter(FuncFormatter(lambda v, _: short(v) if str(f"{v:e}")[0] in "1235" else ""))
    else:
        axis.set_minor_formatter(NullFormatter())


def draw_curve(axes, group, value, larger, colour, label, dashes="-"):
    front = points.front(group, value, larger)
    rest = [p for p in group if not any(p is f for f in front)]
    axes.plot([p["recall"] for p in rest], [p[value] for p in rest], "o", ms=3.5, color=colour, alpha=0.25, mew=0)
    axes.plot([p["recall"] for p in front], [p[value] for p in front], dashes, lw=1.8, color=colour)
    for p in front:
        axes.plot(p["recall"], p[value], "o", ms=5.5, color=colour, mfc="white" if p["disturbed"] else colour, mew=1.3)
    return [front[0]["recall"], front[0][value], label, colour]


def place_labels(axes, labels):
    """Places labels left of each curve, moved apart where they would overlap."""
    axes.figure.canvas.draw()
    gap = 1.35 * 9 * axes.figure.dpi / 72
    lowest = -math.inf
    for x, y, text, colour in sorted(labels, key=lambda l: axes.transData.transform((l[0], l[1]))[1]):
        at = axes.transData.transform((x, y))
        lowest = max(at[1], lowest + gap)
        shift = (lowest - at[1]) * 72 / axes.figure.dpi
        axes.annotate(text, (x, y), (-9, shift), textcoords="offset points", color=colour, fontsize=9, ha="right",
                      va="center", annotation_clip=False)


# Recall is drawn as -log10(1.001 - recall), to spread the range from .9 to 1.
RECALL_TICKS = [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1]


def stretch(recall):
    return -np.log10(np.maximum(1.001 - np.asarray(recall, float), 1e-9))


def recall_axis(axes, found, k, longest_label):
    axes.set_xscale("function", functions=(stretch, lambda x: 1.001 - 10.0 ** -np.asarray(x, float)))
    low = float(stretch(min(min(p["recall"] for p in found), 0.95)))
    left = low - (0.06 + 0.015 * longest_label) * (3 - low)  # room for the labels
    axes.set_xlim(1.001 - 10.0 ** -left, 1.0003)
    axes.set_xticks([t for t in RECALL_TICKS if stretch(t) >= low - 0.05 * (3 - low)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".lstrip("0") or "0"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"recall@{k}")


def curves(found, title):
    sets = points.grouped(found, lambda p: (p["data"], p["k"]))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(points.grouped(found, points.series))}
    figure, grid = plt.subplots(len(sets), 2, figsize=(11.5, 4.6 * len(sets)), squeeze=False)
    for row, ((data, k), group) in zip(grid, sets.items()):
        panels = [(row[0], "qps", True, "queries per second"), (row[1], "p99_us", False, "latency of a call, p99 (µs)")]
        for axes, value, larger, name in panels:
            log_axis(axes.yaxis, [p[value] for p in group])
            recall_axis(axes, group, k, max(len(points.series(p)) for p in group))
            axes.set_ylabel(name)
            lines = [draw_curve(axes, line, value, larger, colours[label], label)
                     for label, line in points.grouped(group, points.series).items()]
            place_labels(axes, lines)
        row[0].set_title(f"{data}: up and right is better")
        row[1].set_title("down and right is better")
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def look(number, name):
    """Returns colour, label and line style of a curve. More curves than colours repeat colours with other line styles."""
    return COLOURS[number % len(COLOURS)], name, LINES[number // len(COLOURS) % len(LINES)]


def rates(found, title):
    """Draws one panel per set, for pages. The builds of an engine share a front; exact ones are its last point."""
    sets = points.grouped(found, lambda p: (p["data"], p["k"]))
    names = list(points.grouped(found, points.engine))
    figure, grid = plt.subplots(len(sets), 1, figsize=(7.2, 4.4 * len(sets)), squeeze=False)
    for axes, ((data, k), group) in zip(grid[:, 0], sets.items()):
        log_axis(axes.yaxis, [p["qps"] for p in group])
        recall_axis(axes, group, k, max(map(len, names)))
        axes.set(ylabel=rate_label(group), title=f"{data}: up and right is better")
        place_labels(axes, [draw_curve(axes, line, "qps", True, *look(names.index(name), name))
                            for name, line in points.grouped(group, points.engine).items()])
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def rate_label(found):
    """Labels the axis with what all points share; differences are in the names of the curves."""
    askers = {points.clients(p) for p in found}
    return "queries per second" + (f", {askers.pop() or 'one thread'}" if len(askers) == 1 else "")


def exact(found, title):
    """Draws bars of the rate, and the latency percentiles on a logarithmic axis."""
    names = [" ".join([p["data"].rsplit("/", 1)[-1], *points.series(p).split()[1:]]) for p in found]
    places = range(len(found))
    figure, (rate, latency) = plt.subplots(1, 2, figsize=(11.5, 1.5 + 0.52 * len(found)), sharey=True)
    for y, p in zip(places, found):
        rate.barh(y, p["qps"], color=COLOURS[0], alpha=0.45 if p["disturbed"] else 0.9, height=0.6)
        rate.annotate(points.number(p["qps"]), (p["qps"], y), (5, 0), textcoords="offset points", va="center", fontsize=9)
        latency.plot([p["p50_us"], p["p999_us"]], [y, y], "-", color="#bbbbbb", lw=2, zorder=1)
    for (key, label), colour in zip(PERCENTILES, (COLOURS[0], COLOURS[4], COLOURS[5], COLOURS[1])):
        latency.plot([p[key] for p in found], list(places), "o", ms=7, color=colour, label=label)
    rate.set_yticks(list(places), names)
    rate.invert_yaxis()
    rate.set(xlabel=rate_label(found), title="Rate", xlim=(0, 1.15 * max(p["qps"] for p in found)))
    rate.xaxis.set_major_formatter(FuncFormatter(short))
    log_axis(latency.xaxis, [p[k] for p in found for k, _ in PERCENTILES])
    latency.set(xlabel="latency of a call (µs)", title="Latency")
    latency.legend(ncols=4, loc="lower right", bbox_to_anchor=(1, 1), frameon=False, handletextpad=0.1, columnspacing=1)
    for axes in (rate, latency):
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def note(found):
    """Explains hollow points and pale bars, if there are any."""
    n = sum(p["disturbed"] for p in found)
    return f"   ({n} of {len(found)} hollow or pale: measured while the machine was disturbed)" if n else ""


WHAT = {"curves": curves, "rates": rates, "exact": exact}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(WHAT))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", required=True, help="FILE.png or FILE.svg")
    parser.add_argument("--title")
    a = parser.parse_args()
    found = points.read(a.files)
    if a.what != "exact":
        found = points.with_recall(found)
    if not found:
        raise SystemExit("plot: no points")
    with plt.rc_context(STYLE):
        undated = {"Date": None} if a.out.endswith(".svg") else {}  # equal points give equal files
        WHAT[a.what](found, (a.title or "") + note(found)).savefig(a.out, metadata=undated)


if __name__ == "__main__":
    main()
