#!/usr/bin/env python3
"""Compares other libraries with ours: same data, queries, k and rule of recall; one thread, one core, in turn.

    bench/peers/run.py --data examples/arxiv-3k
    bench/peers/run.py --data …/arxiv-100k --peers 'faiss|hnswlib' --ours flat --ours 'flat --dtype f16'

Every engine's grid is tried on the queries for choosing. The points on its front are measured again on other queries, all
engines in turn, --repeats times. The first half of the queries (its first --tune-queries) is for choosing, the other half
for reporting. JSON lines in the form of `quiver bench ann` go to --out, for bench/plot.py. --cache keeps built indexes and the
results of peers over the queries for choosing.
"""
import argparse
import datetime
import itertools
import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
import datasets  # noqa: E402
import points  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
from calibration import Calibrator  # noqa: E402
from choosing import Tried, chosen  # noqa: E402
from data import Truth, find  # noqa: E402
from ours import Ours, merged  # noqa: E402
from peer import all_peers  # noqa: E402
from worker import Engine, folder_of  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
FEW_ROWS = 10_000  # with fewer rows, builds hardly differ


def say(text):
    print(f"{datetime.datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


class Work(NamedTuple):
    """A setting of a peer's engine to measure: the targets it was chosen for, and the queries per call."""
    engine: Engine
    setting: dict
    targets: list = []
    batch: int = 1


class Run:
    """All engines over one data set."""

    def __init__(self, options, data):
        self.o, self.data = options, data
        self.calibrator = Calibrator()
        n = len(data.raw("queries"))
        half = n // 2
        self.choose = range(0, min(half, options.tune_queries))
        self.report = range(half, min(2 * half, n, half + options.report_queries))
        self.truths = {}
        self.missing = []

    def truth(self, rows):
        if rows not in self.truths:
            given = datasets.load(self.data.files.truth) if self.data.files.truth else None
            self.truths[rows] = Truth(self.data, rows, self.o.k, given, self.o.cache)
        return self.truths[rows]

    # Engines.

    def peers(self):
        """Returns (class, build parameters) of all wanted engines that suit the data."""
        for name, peer in all_peers().items():
            if self.data.kind not in peer.kinds or self.data.metric not in peer.metrics:
                continue
            if not re.search(self.o.peers, name):
                continue
            if peer.version() is None:
                self.missing.append(f"{name}: {peer.package} is not installed")
                continue
            self.missing += peer.not_here
            few = 2 if len(self.data) < FEW_ROWS else None
            yield from ((peer, parameters) for parameters in peer.builds[:self.o.builds or few])

    def start(self, peer, parameters):
        if self.o.cached and peer.load and not (folder_of(peer, self.data, parameters, self.o.cache) / "built.json").exists():
            self.missing.append(f"{peer.name()} {points.settings(parameters)}: not built, and only cached ones are wanted")
            return None
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

    def tried(self, engine, batch):
        """Tries the settings of a peer's engine over the queries for choosing; the cache keeps the results."""
        words = [engine.folder.name, f"k{self.o.k}", f"{self.choose.start}-{self.choose.stop}"]
        words += [f"batch{batch}"] if batch > 1 else []
        store = Tried(engine.folder.parent / f"tried-{'-'.join(words)}.json")
        points_of = [{"setting": setting, "engine": engine} | store.of(setting, lambda: self.try_one(engine, setting, batch))
                     for setting in self.settings(engine.peer)]
        store.keep()
        return points_of

    def try_one(self, engine, setting, batch):
        found = engine.measure(**self.request(self.choose, setting, seconds=0, seed=0, batch=batch))
        return self.truth(self.choose).recall(found.pop("ids")) | {"cpu_us": found["cpu_us"]}

    def chosen_peers(self, engines):
        """Returns work for `rounds`. The builds of a peer share one front; each number of queries per call has its own."""
        work = []
        for name, group in points.grouped(engines, lambda e: e.index).items():
            for batch in group[0].peer.calls:
                work += self.chosen_of(name, group, batch)
        return work

    def chosen_of(self, name, group, batch):
        found = chosen([p for engine in group for p in self.tried(engine, batch)], self.o.targets)
        if not found:
            self.missing.append(f"{name}: no point near the targets")
        say(f"{name}, {batch} queries a call: {len(found)} settings chosen")
        return [Work(p["engine"], p["setting"], p["chosen_for"], batch) for p in found]

    def chosen_ours(self, own):
        """Returns {setting: targets} as a list of pairs, because settings are dictionaries."""
        found = own.measure(self.choose.start, self.choose.stop, self.o.k, 0, 1, 0)
        picked = [(p["params"], p["chosen_for"]) for p in chosen(found, self.o.targets)]
        say(f"{own.index}: {len(picked)} of {len(found)} settings chosen")
        return picked

    def request(self, rows, setting, seconds, seed, batch=1):
        return {"first": rows.start, "end": rows.stop, "k": self.o.k, "search": setting, "seconds": seconds, "batch": batch,
                "seed": seed}

    # Reporting.

    def rows_of(self, exact):
        """Returns the queries for an engine. Exact scans cost the same for every query, and much: they get fewer."""
        return self.report[:self.o.exact_queries] if exact else self.report

    def rounds(self, work, ours, batch=1):
        """Measures in turn the points of `work` and of (ours, its chosen settings or None for all)."""
        kept = {}
        self.calibrator.measure()
        for number in range(self.o.repeats):
            for at, (own, picked) in enumerate(ours):
                self.own_round(kept, ("ours", at), own, picked, number, batch)
            for at, one in enumerate(work):
                self.peer_round(kept, at, one, number)
            say(f"round {number + 1} of {self.o.repeats}")
        found = [merged(repeats) for repeats in kept.values()]
        for point in found:
            point["calibrations"] = [c for p in kept[point.pop("key")] for c in p["calibrations"]]
            point |= {"disturbed": self.calibrator.disturbed(point)}
        return found

    def bracketed(self, measure):
        before = self.calibrator.all[-1]
        found = measure()
        return found, [before, self.calibrator.measure()]

    def own_round(self, kept, key, own, picked, number, batch):
        settings = None if picked is None else [setting for setting, _ in picked]
        rows = self.rows_of(own.exact)
        found, around = self.bracketed(
            lambda: own.measure(rows.start, rows.stop, self.o.k, self.o.seconds, batch, number + 1, settings))
        for place, point in enumerate(found):
            targets = next((t for s, t in picked or () if s == point["params"]), [])
            kept.setdefault((*key, place), []).append(
                point | {"calibrations": around, "key": (*key, place), "chosen_for": targets, "exact": own.exact})

    def peer_round(self, kept, key, work, number):
        rows = self.rows_of(work.engine.peer.exact)
        if work.engine.peer.load is None:  # ours is a new process in each round, too
            work.engine.renew()
        found, around = self.bracketed(
            lambda: work.engine.measure(**self.request(rows, work.setting, self.o.seconds, number + 1, work.batch)))
        ids = found.pop("ids")
        recall = {k: kept[key][0][k] for k in ("recall", "recall_p5", "short", "better_than_truth")} if key in kept else \
            self.truth(rows).recall(ids)
        kept.setdefault(key, []).append(self.line(work, rows) | found | recall |
                                        {"calibrations": around, "key": key, "chosen_for": work.targets,
                                         "exact": work.engine.peer.exact})

    def line(self, work, rows):
        """Returns the keys of a JSON line that are not measured."""
        n, engine, facts = len(self.data), work.engine, work.engine.facts
        return {"data": self.data.name, "index": engine.index, "params": work.setting, "k": self.o.k,
                "build_s": round(facts["build_s"], 3), "build_cpu_s": round(facts["build_cpu_s"], 3),
                "build_peak_bytes": facts["build_peak_bytes"], "bytes_per_vector": round(facts["bytes"] / n, 3),
                "exact_bytes_per_vector": round(facts["exact_bytes"] / n, 3),
                "commit": f"{engine.peer.package} {engine.peer.version()}", "cpu": cpu_name(), "isa": facts["isa"],
                "date": f"{datetime.datetime.now(datetime.timezone.utc):%FT%TZ}", "build_params": engine.build_parameters,
                "threads": 1, "batch": work.batch, "kind": self.data.kind, "metric": self.data.metric,
                "dim": self.data.dim, "rows": n, "first_query": rows.start, "queries": len(rows)}

    # Main.

    def run(self):
        say(f"{self.data.name}: {len(self.data):,} rows, truth")
        for rows in (self.choose, self.report):
            self.truth(rows)
        ours = [Ours(self.o.quiver, words, self.data, self.o.cache) for words in self.o.ours or ["flat"]]
        engines = [e for e in (self.start(*p) for p in self.peers()) if e]
        exact = [Work(e, s) for e in engines if e.peer.exact for s in self.settings(e.peer)]
        graded = self.chosen_peers([e for e in engines if not e.peer.exact])
        exact_ours = [(o, None) for o in ours if o.exact]
        graded_ours = [(o, self.chosen_ours(o)) for o in ours if not o.exact]
        found = {}
        if exact or exact_ours:
            found["exact"] = self.rounds(exact, exact_ours)
        if graded or graded_ours:
            found["graded"] = self.rounds(graded, graded_ours)
        for batch in self.o.batch:
            batched = [w._replace(batch=batch) for w in exact if batch in w.engine.peer.batches]
            if batched:
                found[f"batch {batch}"] = self.rounds(batched, exact_ours, batch)
        for engine in engines:
            engine.close()
        return found


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
    parser.add_argument("--kind", choices=["dense", "sparse", "multi"], help="only this; default: what the folder holds")
    parser.add_argument("--rows", type=int, help="only so many, the first")
    parser.add_argument("--peers", default="", help="only those whose name matches this regular expression")
    parser.add_argument("--ours", action="append", metavar="'INDEX FLAGS…'", help="of quiver bench ann; default flat")
    parser.add_argument("--quiver", default=os.environ.get("QUIVER_BINARY", ROOT / "build" / "release" / "quiver"))
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--targets", type=lambda t: [float(x) for x in t.split(",")], default=[.9, .95, .98, .99])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a repeat, in whole passes")
    parser.add_argument("--builds", type=int, help="how many of a peer's build settings; default: all, of few rows two")
    parser.add_argument("--cached", action="store_true", help="of the peers' builds only those that lie in --cache")
    parser.add_argument("--batch", type=int, nargs="*", default=[8, 32], help="sizes for the exact scans")
    parser.add_argument("--tune-queries", type=int, default=1000)
    parser.add_argument("--report-queries", type=int, default=5000)
    parser.add_argument("--exact-queries", type=int, default=200)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cache", default=ROOT / "build" / "cache" / "peers", type=Path)
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="also KIND-NAME.jsonl and .md, to be kept in the tree")
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
            run = Run(o, data.first(o.rows) if o.rows else data)
            found = run.run()
            write(run, found, o.out)
            if o.results:
                single = [p for name in ("graded", "exact") for p in found.get(name, [])]
                page = results.page(run.data.name, single, o.targets, head(run), results.LEGEND, run.missing)
                results.write(o.results, results.name_of(run.data), single, [page])
            print_tables(run, found)


if __name__ == "__main__":
    main()
