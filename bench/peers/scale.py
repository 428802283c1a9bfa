#!/usr/bin/env python3
"""Measures how the cost of a search grows with the number of rows: generated data (bench/generators.py), ours and one peer.

    bench/peers/scale.py --rows 100000 300000 1000000 --rounds 3 3 2 --results bench/results
    bench/peers/scale.py --kind dense --source arxiv-100k/dense --results bench/results

Sparse: learned-sparse documents; one index of ours, searched by scan, by blocks and exactly, and `pyseismic-lsr`. Dense: the
rows of --source (a name of bench/datasets.py) repeated with noise, and FAISS's inverted lists of 4-bit product codes. One
thread on one core, in turn. No settings are chosen beforehand, because generated data shows cost, not quality: the tables take
the fastest measured point that reaches a recall. A million rows need about 8 GB of memory and 2 GB of disk.
"""
import argparse
import dataclasses
import itertools
import os
from pathlib import Path

import numpy as np

import run as runs  # first: it sets the path of the other modules
import datasets
import points
import results
from adapters.faiss_cpu import IvfPqFastScan
from adapters.seismic_lsr import Seismic
from data import MARGIN, Data, candidates
from ours import Ours

LEGEND = ("Generated data shows how cost grows, not quality. Each row is the fastest measured point of an engine that "
          "reaches the recall. Ours is one index, searched one query per call. " + results.COLUMNS)


@dataclasses.dataclass
class Plan:
    """The measurements for one kind of vectors."""
    generator: str          # in bench/datasets.py
    n_queries: int
    ours: callable          # rows -> the index type of ours and its flags
    grid: dict              # our parameters
    by_method: dict         # method -> the parameters of the grid that it uses; empty if there is one method
    peer: type
    build: callable         # rows -> its build parameters
    peer_grid: dict


def postings(rows):
    """Average length of a list by OpenSearch's rule."""
    return max(150, rows // 2000)


PLANS = {
    "sparse": Plan(
        "splade-like", 200,
        lambda rows: f"seismic --build blocks_from=1,n_postings={postings(rows)} --sweep method=scan,blocks,exact",
        {"postings": (0.01, 0.02, 0.05, 0.1), "query_cut": (3, 4, 5, 10), "heap_factor": (1.0, 1.1, 1.2)},
        {"scan": ("postings",), "blocks": ("query_cut", "heap_factor"), "exact": ()},
        Seismic, lambda rows: {"n_postings": postings(rows), "centroid_fraction": 0.2, "summary_energy": 0.5},
        {"query_cut": (3, 5, 8, 12, 20), "heap_factor": (0.7, 0.8, 0.9, 1.0), "sorted": (True,)}),
    "dense": Plan(
        "jittered", 1000,
        lambda rows: "ivf",
        {"effort": (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)},
        {},
        IvfPqFastScan, lambda rows: IvfPqFastScan.builds[0],
        {"nprobe": (8, 16, 32, 64, 128), "k_factor": (4, 8, 16)}),
}


def combinations(grid):
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def generated(plan, rows, o):
    """Generates the set, with ground truth for the first queries."""
    files = datasets.catalog()[plan.generator].files(datasets.Options(cache=o.cache / "datasets", rows=rows, source=o.source))
    data = Data(f"{plan.generator}-{rows}/{o.kind}", files)
    o.queries = min(o.queries or plan.n_queries, len(data.raw("queries")))
    files.truth = files.base.parent / f"gt.{o.queries}.{o.k}.npy"
    if not files.truth.exists():
        runs.say(f"{data.name}: truth")
        np.save(files.truth, np.array(list(candidates(data, range(o.queries), o.k + MARGIN)), np.int32))
        data.release()
    return data


def our_settings(plan):
    """Returns the distinct settings of the grid: a parameter of one method keeps its first value for the others."""
    if not plan.by_method:
        return combinations(plan.grid)
    found = []
    for method, own in plan.by_method.items():
        found += combinations({"method": (method,)} | {k: v if k in own else v[:1] for k, v in plan.grid.items()})
    return found


def measure(o, rows, rounds):
    plan = PLANS[o.kind]
    data = generated(plan, rows, o)
    few = {"repeats": rounds, "tune_queries": o.queries, "report_queries": o.queries, "exact_queries": o.queries}
    run = runs.Run(argparse.Namespace(**vars(o) | few), data)
    run.report = range(o.queries)
    words = plan.ours(rows) + "".join(f" --sweep {k}={','.join(map(str, v))}" for k, v in plan.grid.items())
    engine = run.start(plan.peer, plan.build(rows))
    work = [runs.Work(engine, setting, batch=batch) for batch in plan.peer.calls
            for setting in combinations(plan.peer_grid)] if engine else []
    found = run.rounds(work, [(Ours(o.quiver, words, data, o.cache), [(s, []) for s in our_settings(plan)])])
    if engine:
        engine.close()
    return run, named(plan, found, o.targets)


def named(plan, found, targets):
    """Makes each method of ours a curve. `chosen_for` lists the targets at which a point is the fastest of its curve."""
    for p in found:
        method = p["params"].get("method")
        p["exact"] = method == "exact"
        if method:
            p["index"] += f" {method}"
            p["params"] = {k: v for k, v in p["params"].items() if k in plan.by_method[method]}
        p["chosen_for"] = []
    for group in points.grouped([p for p in found if not p["exact"]], points.engine).values():
        for target in targets:
            reach = [p for p in group if p["recall"] >= target]
            if reach:
                max(reach, key=lambda p: p["qps"])["chosen_for"].append(target)
    return found


def about(run):
    """Returns the head of a run without queries for choosing."""
    return runs.head(run).replace(f"queries {run.choose.start} to {run.choose.stop - 1} choose, ", "queries ")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=list(PLANS), default="sparse")
    parser.add_argument("--source", default="arxiv-3k/dense", help="real dense rows")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--rounds", type=int, nargs="+", default=[3, 3, 2], help="for each of --rows")
    parser.add_argument("--queries", type=int, help="default 200 sparse, 1000 dense")
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
    return argparse.Namespace(**vars(o) | {"tune_queries": 0, "report_queries": 0, "cached": False})


def main():
    o = options()
    o.cache.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {o.cpu})
    done = []
    for rows, rounds in zip(o.rows, o.rounds):
        run, found = measure(o, rows, rounds)
        done.append((run, found))
        parts = [results.page(r.data.name, f, o.targets, about(r), LEGEND, r.missing) for r, f in done]
        results.write(o.results, f"{o.kind}-scale", itertools.chain(*(f for _, f in done)), parts)
        runs.say(f"{rows:,} rows measured")


if __name__ == "__main__":
    main()
