#!/usr/bin/env python3
"""Compares late interaction with exhaustive scans: rate at a recall for each first stage, bytes, build time.

    bench/late_interaction.py --data …/tokens-30k                  a folder of token vectors, or a name of bench/datasets.py
    make bench-late-interaction DATA=…/tokens-30k

The first half of the queries (at most --tune-queries) serves to choose settings, the other half to report. All searches are
measured in turn, --repeats times, each in a process of its own that builds its index again, on one thread of one core. The
exhaustive scans answer only the first --exact-queries of the second half: every query costs them about the same, and much.
Writes late-interaction-NAME.md and .jsonl to --results.
"""
import argparse
import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))
import run as runs  # noqa: E402  first: it sets the path of the other modules
import points  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
from data import find  # noqa: E402
from ours import Ours  # noqa: E402

STAGES = ("auto", "fde", "features", "mean")
EFFORTS = "16,24,32,48,64,96,128,192,256,384,512,768,1024"
ALL = 1_000_000  # candidates: more than there are documents
TOKEN_BITS = 8
SCANS = {"exhaustive exact": "flat",
         "exhaustive codes": f"multi --build stage=mean --sweep candidates={ALL} --sweep patience={ALL} --sweep rerank=codes"}
RATIOS = [head for name in SCANS for head in (f"× {name}", "by CPU")]
HEADS = ["recall", "search", "settings", "measured", *RATIOS, "QPS", "p50 µs", "p99 µs"]
SIZES = ["search", "build s", "build peak MB", "B/document", "token codes", "first stage and the rest", "exact tokens"]
LEGEND = ("*×*: rate divided by the scan's, median of the rounds (min–max); *by CPU*: the same by CPU time. A setting is "
          "the cheapest that reached the recall over the queries for choosing. `*`: the machine was disturbed.")


def named(own, name, exact):
    own.index, own.exact = f"{report.OURS}{name}", exact
    return own


def searches(o, data):
    """Returns the engines (scans, stages)."""
    def engine(words, name, exact):
        return named(Ours(o.quiver, f"{words} --dtype {o.dtype}", data, o.cache), name, exact)

    return ([engine(words, name, True) for name, words in SCANS.items()],
            [engine(f"multi --build stage={stage} --sweep effort={o.efforts}", stage, False) for stage in o.stages])


def measure(o, data):
    run = runs.Run(o, data)
    scans, stages = searches(o, data)
    return run, run.rounds([], [one for one in (attempted(run, own) for own in scans + stages) if one])


def attempted(run, own):
    """Returns (engine, chosen settings or None for a scan). None if this binary lacks the engine; the page then says so."""
    first = run.choose.start
    try:
        if own.exact:
            own.measure(first, first + 1, run.o.k, 0, 1, 0)
        return own, None if own.exact else run.chosen_ours(own)
    except RuntimeError as error:
        told = [line for line in str(error).splitlines() if line and "--help" not in line]
        run.missing.append(f"{own.index}: {told[-1].removeprefix(shlex.join(own.command) + ': ')}")
        return None


# The page.

def rate_row(p, found, label):
    scans = [next((s for s in found if s["index"] == report.OURS + name), None) for name in SCANS]
    beside = [cell for s in scans for cell in (["", ""] if s in (None, p) else report.ratios(p, s))]
    return [label, p["index"].removeprefix(report.OURS), points.settings(p["params"]), f"{p['recall']:.4f}", *beside,
            points.number(p["qps"]) + ("\\*" if p["disturbed"] else ""), points.number(p["p50_us"]), points.number(p["p99_us"])]


def rates(found, targets):
    rows = [rate_row(p, found, f"{target:g}".replace("0.", ".")) for target in targets
            for p in found if target in p["chosen_for"]]
    return rows + [rate_row(p, found, "all") for p in found if p["exact"]]


def sizes(found, data):
    """Returns one row per index. The bytes of token codes are computed; the rest of the index is the difference."""
    rows = []
    for name, group in points.grouped(found, lambda p: p["index"]).items():
        p = group[0]
        index = p["bytes_per_vector"]  # the flat one has no build parameters, and no codes
        codes = data.raw("base").values.size * TOKEN_BITS / 8 / len(data) if p["build_params"] else 0
        peak = p["build_peak_bytes"]
        rows.append([name.removeprefix(report.OURS), f"{p['build_s']:.1f}", "" if peak is None else points.number(peak * 1e-6),
                     points.number(index), points.number(codes), points.number(max(index - codes, 0)),
                     points.number(p["exact_bytes_per_vector"])])
    return rows


def page(run, found):
    about, exact = found[0], run.rows_of(True)
    lines = [f"# {run.data.name}: late interaction", "", *runs.head(run).splitlines(), ""]
    tokens = [run.data.raw(which).counts().mean() for which in ("base", "queries")]
    lines += [f"{tokens[0]:.1f} tokens a document, {tokens[1]:.1f} a query, exact tokens in {about['dtype']}; exhaustive scans "
              f"answer queries {exact.start} to {exact.stop - 1}. Commit {about['commit'][:12]}, {about['isa']}, "
              f"{about['date'][:10]}. {sum(p['disturbed'] for p in found)} of {len(found)} points were disturbed.", "", LEGEND, ""]
    lines += results.markdown(HEADS, rates(found, run.o.targets)) + [""]
    lines += results.markdown(SIZES, sizes(found, run.data)) + [""]
    lines += [f"- not measured: {text}" for text in run.missing]
    return "\n".join(lines) + "\n"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=str(runs.ROOT / "examples" / "arxiv-3k"))
    parser.add_argument("--rows", type=int, help="only so many documents, the first")
    parser.add_argument("--stages", nargs="+", default=list(STAGES))
    parser.add_argument("--efforts", default=EFFORTS)
    parser.add_argument("--dtype", default="f32", help="of the exact tokens: f32 or f16")
    parser.add_argument("--quiver", default=os.environ.get("QUIVER_BINARY", runs.ROOT / "build" / "release" / "quiver"))
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--targets", type=lambda t: [float(x) for x in t.split(",")], default=[.9, .95, .98])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a repeat, in whole passes")
    parser.add_argument("--tune-queries", type=int, default=1000)
    parser.add_argument("--report-queries", type=int, default=1000)
    parser.add_argument("--exact-queries", type=int, default=200)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cache", type=Path, default=runs.ROOT / "build" / "cache" / "peers")
    parser.add_argument("--results", type=Path, default=runs.ROOT / "build" / "bench-late-interaction")
    return parser.parse_args()


def main():
    o = options()
    o.cache.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {o.cpu})
    data = next((d for d in find(o.data) if d.kind == "multi"), None)
    if data is None:
        raise SystemExit(f"{o.data}: no token vectors there")
    run, found = measure(o, data.first(o.rows) if o.rows else data)
    if not found:
        raise SystemExit("\n".join(run.missing))
    text = page(run, found)
    results.write(o.results, f"late-interaction-{run.data.name.split('/')[0]}", found, [text])
    print(text)


if __name__ == "__main__":
    main()
