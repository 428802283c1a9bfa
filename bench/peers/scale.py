#!/usr/bin/env python3
"""How the cost of learned-sparse search grows: generated documents (bench/generators.py), ours beside Seismic.

    bench/peers/scale.py --rows 100000 300000 1000000 --rounds 3 3 2 --results bench/results

For each size one index of ours, searched by scan, by blocks and exactly, and one of `pyseismic-lsr`, in turn, one thread
on one core. Nothing is chosen beforehand: generated data shows cost, not quality, and the tables take the fastest point
of those measured that reaches a recall. A million rows want about 8 GB of memory and 2 GB of disk.
"""
import argparse
import itertools
import os
from pathlib import Path

import numpy as np

import run as runs  # first: it says where the other modules are
import datasets
import results
from adapters.seismic_lsr import Seismic
from data import MARGIN, Data, candidates
from ours import Ours

OURS = "seismic --build blocks_from=1,n_postings={} --sweep method=scan,blocks,exact"
GRID = {"postings": (0.05, 0.1, 0.2), "query_cut": (5, 10), "heap_factor": (0.8, 1.0)}
BY_METHOD = {"scan": ("postings",), "blocks": ("query_cut", "heap_factor"), "exact": ()}
PEER_GRID = {"query_cut": (3, 5, 8, 12, 20), "heap_factor": (0.7, 0.8, 0.9, 1.0), "sorted": (True,)}


LEGEND = ("Generated documents show how cost grows, not quality. For each recall the fastest measured point of an engine that "
          "reaches it; ours is one index, searched in three ways. " + results.COLUMNS)


def postings(rows):
    """OpenSearch's rule for the average length of a list."""
    return max(150, rows // 2000)


def combinations(grid):
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def generated(rows, o):
    """The set, with ground truth for the first queries beside it."""
    files = datasets.catalog()["splade-like"].files(datasets.Options(cache=o.cache / "datasets", rows=rows))
    files.truth = files.base.parent / f"gt.{o.queries}.{o.k}.npy"
    data = Data(f"splade-like-{rows}/sparse", files)
    if not files.truth.exists():
        runs.say(f"{data.name}: truth")
        np.save(files.truth, np.array(list(candidates(data, range(o.queries), o.k + MARGIN)), np.int32))
        data.release()
    return data


def our_settings():
    """Of the grid of all methods what differs: a parameter of one method is kept at its first value for the others."""
    found = []
    for method, own in BY_METHOD.items():
        found += combinations({"method": (method,)} | {k: v if k in own else v[:1] for k, v in GRID.items()})
    return found


def measure(o, rows, rounds):
    data = generated(rows, o)
    run = runs.Run(argparse.Namespace(**vars(o) | {"repeats": rounds}), data)
    run.report = range(o.queries)
    words = OURS.format(postings(rows)) + "".join(f" --sweep {k}={','.join(map(str, v))}" for k, v in GRID.items())
    engine = run.start(Seismic, {"n_postings": postings(rows), "centroid_fraction": 0.2, "summary_energy": 0.5})
    work = [(engine, setting, []) for setting in combinations(PEER_GRID)] if engine else []
    found = run.rounds(work, [(Ours(o.quiver, words, data, o.cache), [(s, []) for s in our_settings()])])
    if engine:
        engine.close()
    return run, named(found, o.targets)


def named(found, targets):
    """Each method of ours is a curve; `chosen_for` the targets at which a point is the fastest of its curve."""
    for p in found:
        method = p["params"].get("method")
        p["exact"] = method == "exact"
        if method:
            p["index"] += f" {method}"
            p["params"] = {k: v for k, v in p["params"].items() if k in BY_METHOD[method]}
        p["chosen_for"] = []
    for name in {p["index"] for p in found if not p["exact"]}:
        for target in targets:
            reach = [p for p in found if p["index"] == name and p["recall"] >= target]
            if reach:
                max(reach, key=lambda p: p["qps"])["chosen_for"].append(target)
    return found


def about(run):
    """The head of a run, of which no queries chose."""
    return runs.head(run).replace(f"queries {run.choose.start} to {run.choose.stop - 1} choose, ", "queries ")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--rounds", type=int, nargs="+", default=[3, 3, 2], help="for each of --rows")
    parser.add_argument("--queries", type=int, default=200, help="of 500")
    parser.add_argument("--targets", type=lambda t: [float(x) for x in t.split(",")], default=[.9, .95, .98])
    parser.add_argument("--quiver", default=os.environ.get("QUIVER_BINARY", runs.ROOT / "build" / "release" / "quiver"))
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cache", type=Path, default=runs.ROOT / "build" / "cache" / "peers")
    parser.add_argument("--results", type=Path, default=runs.ROOT / "build" / "bench-peers")
    o = parser.parse_args()
    if len(o.rows) != len(o.rounds):
        parser.error(f"{len(o.rows)} sizes and {len(o.rounds)} numbers of rounds")
    return argparse.Namespace(**vars(o) | {"tune_queries": o.queries, "report_queries": o.queries, "exact_queries": o.queries,
                                 "cached": False})


def main():
    o = options()
    o.cache.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {o.cpu})
    done = []
    for rows, rounds in zip(o.rows, o.rounds):
        run, found = measure(o, rows, rounds)
        done.append((run, found))
        parts = [results.page(r.data.name, f, o.targets, about(r), LEGEND, r.missing) for r, f in done]
        results.write(o.results, "sparse-scale", itertools.chain(*(f for _, f in done)), parts)
        runs.say(f"{rows:,} rows measured")


if __name__ == "__main__":
    main()
