#!/usr/bin/env python3
"""Other libraries beside ours: the same data, queries, k and rule of recall; one thread, one core, in turn.

    bench/peers/run.py --data examples/arxiv-3k
    bench/peers/run.py --data …/arxiv-100k --peers 'faiss|hnswlib' --ours flat --ours 'flat --dtype f16'

Every engine's grid is tried on the queries for choosing; the points on its front are measured again on other queries,
all engines in turn, --repeats times. Of 2,000 queries the first thousand choose; of fewer, the first half. JSON lines as
`quiver bench ann` writes them go to --out, for bench/plot.py; built indexes are kept in --cache.
"""
import argparse
import datetime
import itertools
import json
import os
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
import datasets  # noqa: E402
import points  # noqa: E402
import report  # noqa: E402
from calibration import Calibrator  # noqa: E402
from data import Truth, find  # noqa: E402
from ours import Ours, merged  # noqa: E402
from peer import all_peers  # noqa: E402
from worker import Engine  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
MARGIN_BELOW = 0.05  # points that miss the least target by more are not measured again


def say(text):
    print(f"{datetime.datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


class Run:
    """All engines over one data set."""

    def __init__(self, options, data):
        self.o, self.data = options, data
        self.calibrator = Calibrator()
        n = len(data.raw("queries"))
        half = 1000 if n >= 2000 else n // 2
        self.choose = range(0, min(half, options.tune_queries))
        self.report = range(half, min(2 * half, n, half + options.report_queries))
        self.truths = {}
        self.missing = []

    def truth(self, rows):
        if rows not in self.truths:
            given = datasets.load(self.data.files.truth) if self.data.files.truth else None
            self.truths[rows] = Truth(self.data, rows, self.o.k, given)
        return self.truths[rows]

    # Engines.

    def peers(self):
        """(class, build parameters) of all that suit the data and are wanted."""
        for name, peer in all_peers().items():
            if self.data.kind not in peer.kinds or self.data.metric not in peer.metrics:
                continue
            if not re.search(self.o.peers, name):
                continue
            if peer.version() is None:
                self.missing.append(f"{name}: {peer.package} is not installed")
                continue
            yield from ((peer, parameters) for parameters in peer.builds[:self.o.builds])

    def start(self, peer, parameters):
        try:
            engine = Engine(peer.name(), self.data, parameters, self.o.cache, self.o.cpu)
        except RuntimeError as error:
            self.missing.append(f"{peer.name()} {points.settings(parameters)}: {error}")
            return None
        say(f"{peer.name()} {points.settings(parameters)}: built in {engine.facts['build_s']:.1f} s")
        engine.peer = peer
        return engine

    # Choosing.

    def settings(self, peer):
        values = itertools.product(*peer.sweep.values())
        return [dict(zip(peer.sweep, v)) for v in values]

    def chosen(self, engine):
        """The settings of an engine that are worth being measured: those on the front over the queries for choosing."""
        settings = self.settings(engine.peer)
        if engine.peer.exact:
            return settings
        tried = []
        for setting in settings:
            found = engine.measure(**self.request(self.choose, setting, seconds=0, seed=0))
            tried.append(found | self.truth(self.choose).recall(found.pop("ids")) | {"setting": setting})
        least = min(self.o.targets) - MARGIN_BELOW
        front = [p for p in points.front(tried) if p["recall"] >= least]
        return [p["setting"] for p in thinned(front, self.o.targets)]

    def request(self, rows, setting, seconds, seed, batch=1):
        return {"first": rows.start, "end": rows.stop, "k": self.o.k, "search": setting, "seconds": seconds, "batch": batch,
                "seed": seed}

    # Reporting.

    def rows_of(self, exact):
        """Exact scans cost the same for every query and much: fewer of them do."""
        return self.report[:self.o.exact_queries] if exact else self.report

    def rounds(self, work, ours, exact=False, batch=1):
        """Points of (engine, setting) pairs and of ours, measured in turn."""
        rows, kept = self.rows_of(exact), {}
        self.calibrator.measure()
        for number in range(self.o.repeats):
            for at, own in enumerate(ours):
                self.own_round(kept, ("ours", at), own, rows, number, batch)
            for at, (engine, setting) in enumerate(work):
                self.peer_round(kept, at, engine, setting, rows, number, batch)
            say(f"round {number + 1} of {self.o.repeats}")
        found = [merged(repeats) for repeats in kept.values()]
        for point in found:
            point["calibrations"] = [c for p in kept[point.pop("key")] for c in p["calibrations"]]
            point["disturbed"] = self.calibrator.disturbed(point)
        return found

    def bracketed(self, measure):
        before = self.calibrator.all[-1]
        found = measure()
        return found, [before, self.calibrator.measure()]

    def own_round(self, kept, key, own, rows, number, batch):
        found, around = self.bracketed(
            lambda: own.measure(rows.start, rows.stop, self.o.k, self.o.seconds, batch, number + 1))
        for place, point in enumerate(found):
            kept.setdefault((*key, place), []).append(point | {"calibrations": around, "key": (*key, place)})

    def peer_round(self, kept, key, engine, setting, rows, number, batch):
        if engine.peer.load is None:  # ours is a new process in each round, too
            engine.renew()
        found, around = self.bracketed(
            lambda: engine.measure(**self.request(rows, setting, self.o.seconds, number + 1, batch)))
        ids = found.pop("ids")
        recall = {k: kept[key][0][k] for k in ("recall", "recall_p5", "short", "better_than_truth")} if key in kept else \
            self.truth(rows).recall(ids)
        kept.setdefault(key, []).append(self.line(engine, setting, rows, batch) | found | recall |
                                        {"calibrations": around, "key": key})

    def line(self, engine, setting, rows, batch):
        """The keys of a JSON line that do not come from measuring."""
        n, facts = len(self.data), engine.facts
        return {"data": self.data.name, "index": engine.index, "params": setting, "k": self.o.k,
                "build_s": round(facts["build_s"], 3), "build_cpu_s": round(facts["build_cpu_s"], 3),
                "build_peak_bytes": facts["build_peak_bytes"], "bytes_per_vector": round(facts["bytes"] / n, 3),
                "exact_bytes_per_vector": round(facts["exact_bytes"] / n, 3),
                "commit": f"{engine.peer.package} {engine.peer.version()}", "cpu": cpu_name(), "isa": engine.peer.isa(),
                "date": f"{datetime.datetime.now(datetime.timezone.utc):%FT%TZ}", "build_params": engine.build_parameters,
                "threads": 1, "batch": batch, "kind": self.data.kind, "metric": self.data.metric,
                "dim": self.data.dim, "rows": n, "first_query": rows.start, "queries": len(rows)}

    # The whole.

    def run(self):
        say(f"{self.data.name}: {len(self.data):,} rows, truth")
        for rows in (self.choose, self.report):
            self.truth(rows)
        ours = [Ours(self.o.quiver, words, self.data, self.o.cache) for words in self.o.ours or ["flat"]]
        exact_ours, graded_ours = [o for o in ours if o.exact], [o for o in ours if not o.exact]
        engines = [e for e in (self.start(*p) for p in self.peers()) if e]
        exact, graded = [], []
        for engine in engines:
            settings = self.chosen(engine)
            (exact if engine.peer.exact else graded).extend((engine, s) for s in settings)
            if not settings:
                self.missing.append(f"{engine.index} {points.settings(engine.build_parameters)}: no point near the targets")
        found = {}
        if exact or exact_ours:
            found["exact"] = self.rounds(exact, exact_ours, exact=True)
        if graded or graded_ours:
            found["graded"] = self.rounds(graded, graded_ours)
        for batch in self.o.batch:
            batched = [w for w in exact if batch in w[0].peer.batches]
            if batched:
                found[f"batch {batch}"] = self.rounds(batched, exact_ours, exact=True, batch=batch)
        for engine in engines:
            engine.close()
        return found


def thinned(front, targets):
    """Of a front: for each target the fastest point that reaches it and its neighbours, so that there is a curve."""
    keep = set()
    for target in targets:
        reach = next((i for i, p in enumerate(front) if p["recall"] >= target), None)
        if reach is not None:
            keep |= {reach - 1, reach, reach + 1}
    return [p for i, p in enumerate(front) if i in keep] or front[-1:]


def cpu_name():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "unknown")


def head(run):
    usual = run.calibrator.all
    reads = [c["read_gb_per_s"] for c in usual]
    return (f"{run.data.name}: {len(run.data):,} rows, dim {run.data.dim}, {run.data.kind}, {run.data.metric}, k {run.o.k}; "
            f"queries {run.choose.start} to {run.choose.stop - 1} choose, {run.report.start} to {run.report.stop - 1} report\n"
            f"{cpu_name()}, one thread on core {run.o.cpu}, {run.o.repeats} rounds in turn; one thread of numpy reads "
            f"{min(reads):.1f} to {max(reads):.1f} GB/s")


def print_tables(run, found):
    print("\n" + head(run))
    single = found.get("graded", []) + found.get("exact", [])
    if single:
        print("\n" + report.pareto(single, run.o.targets))
        print("(in brackets: our fastest at that recall / it; * disturbed)" if any(map(report.is_ours, single)) else "")
    for name, group in found.items():
        if name != "graded":
            print(f"\n{name}:" if name != "exact" else "")
            print(report.in_turn(group))
    for text in run.missing:
        print(f"not compared: {text}")
    for point in itertools.chain(*found.values()):
        if point.get("better_than_truth"):
            print(f"the ground truth is wrong: {point['index']} answers {point['better_than_truth']} queries better")


def write(run, found, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, group in found.items():
        path = folder / f"{run.data.name.replace('/', '-')}-{name.replace(' ', '-')}.jsonl"
        path.write_text("".join(json.dumps(p) + "\n" for p in group))
        say(f"written: {path}")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=str(ROOT / "examples" / "arxiv-3k"), help="folder, or a name of bench/datasets.py")
    parser.add_argument("--kind", choices=["dense", "sparse"], help="only this; default: what the folder holds")
    parser.add_argument("--peers", default="", help="only those whose name matches this regular expression")
    parser.add_argument("--ours", action="append", metavar="'INDEX FLAGS…'", help="of quiver bench ann; default flat")
    parser.add_argument("--quiver", default=os.environ.get("QUIVER_BINARY", ROOT / "build" / "release" / "quiver"))
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--targets", type=lambda t: [float(x) for x in t.split(",")], default=[.9, .95, .98, .99])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a repeat, in whole passes")
    parser.add_argument("--builds", type=int, default=9, help="how many of a peer's build settings")
    parser.add_argument("--batch", type=int, nargs="*", default=[8, 32], help="sizes for the exact scans")
    parser.add_argument("--tune-queries", type=int, default=1000)
    parser.add_argument("--report-queries", type=int, default=1000)
    parser.add_argument("--exact-queries", type=int, default=200)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cache", default=ROOT / "build" / "cache" / "peers", type=Path)
    parser.add_argument("--out", default=ROOT / "build" / "bench-peers", type=Path)
    return parser.parse_args()


def main():
    o = options()
    if o.repeats < 5:
        say("fewer than 5 repeats: not to be reported")
    o.cache.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {o.cpu})
    for data in find(o.data):
        if o.kind in (None, data.kind):
            run = Run(o, data)
            found = run.run()
            write(run, found, o.out)
            print_tables(run, found)


if __name__ == "__main__":
    main()
