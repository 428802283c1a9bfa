#!/usr/bin/env python3
"""Measures whether searches reach the recall that they were asked for, and at what cost (docs/recall.md), with servers of its own.

    QUIVER_DATASETS=DIR bench/recall.py arxiv-100k/dense fashion-mnist lsa … --out table.md      names: bench/datasets.py list

Calibrates with queries 0 to 511, or with none, and judges by the last 1,000 others: every target, number of hits and share of the
points that a random filter leaves is a cell. `fixed` is the least effort of the measured ones that reaches the same recall on the
very queries that are judged; `cost` are the bytes that searches read, as a share of those with that effort.

    QUIVER_DATASETS=DIR bench/recall.py --drift arxiv-100k --out drift.md

shows what happens when a promise breaks: calibrated with titles, then whole abstracts are asked; and calibrated with titles, then 30 % of
the rows are replaced by means of two. Rows 95000 to 100000 are asked as queries. It counts searches until the alarm, and seconds from
there to the next table.
"""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets  # noqa: E402
from served import BINARY, Server, import_vectors  # noqa: E402

TARGETS = (.8, .9, .95, .98, .99)
HITS = (1, 10, 100)
PARTS = (1, 3, 20, 200)  # a filter leaves one of so many
CALIBRATED, JUDGED = 512, 1000
BATCH = 50
COST_BAR = 1.15
# What happens after a promise was broken.
DRIFT_TARGET = .95
DRIFT_ROWS = 95_000
DRIFT_JUDGED = 300
MAX_SEARCHES, MAX_SECONDS = 2_000, 60  # the bars


class Collection(Server):
    """A server with one collection. Paths name it by {}."""

    def __init__(self, data_dir, vectors, metrics, rows=None, settings=()):
        """`rows`: FIRST:END of the sources, or None."""
        import_vectors(BINARY, data_dir, "rows", vectors, metrics, ["--rows", rows] if rows else [])
        super().__init__(BINARY, data_dir, settings)
        self.wait_until_green("rows")  # without its index a field is searched exactly

    def ask_collection(self, path, body=None, method="POST"):
        return self(method, path.format("rows"), body)


def json_rows(kind, source, first=0, end=None):
    """Returns rows of a set as the API takes them. `source`: a file, or the prefix of the files of sparse and multi-vectors."""
    if kind == "dense":
        return np.asarray(datasets.load(source)[first:end], np.float32).tolist()
    names = ("indptr", "values", "indices")[:3 if kind == "sparse" else 2]
    starts, values, *indices = (datasets.load(datasets.existing(source.with_name(f"{source.name}.{name}.npy"))) for name in names)
    bounds = starts[first:None if end is None else end + 1].tolist()
    rows = [slice(*pair) for pair in zip(bounds, bounds[1:])]
    if kind == "multi":
        return [values[row].astype(np.float32).tolist() for row in rows]
    return [{"indices": indices[0][row].tolist(), "values": values[row].astype(np.float32).tolist()} for row in rows]


def search(server, field, queries, k, n_parts, params):
    """Returns the (score, id) lists of the queries, bytes read by a search, and the last word on recall."""
    found, n_bytes, told = [], 0, None
    # Another part than the one that is calibrated with.
    filter_ = {"must": [{"slice": {"total": n_parts, "index": 1 % n_parts}}]} if n_parts > 1 else None
    for first in range(0, len(queries), BATCH):
        searches = [{"query": query, "using": field, "limit": k, "filter": filter_, "params": params, "explain": True}
                    for query in queries[first:first + BATCH]]
        for answer in server.ask_collection("/collections/{}/points/query/batch?timeout=600", {"searches": searches}):
            found.append([(point["score"], point["id"]) for point in answer["points"]])
            n_bytes += bytes_of(answer["explain"])
            told = answer.get("recall")
    return found, n_bytes / len(queries), told


def bytes_of(report):
    """The sum of `bytes` of all work in a report."""
    if isinstance(report, list):
        return sum(map(bytes_of, report))
    if not isinstance(report, dict):
        return 0
    return sum(value.get("bytes", 0) if name == "work" else bytes_of(value) for name, value in report.items())


def recall(truth, found, sign=1):
    """`sign`: -1 if scores are distances."""
    shares = []
    for wanted, hits in zip(truth, found):
        if not wanted:  # nothing scores at all
            continue
        least = sign * wanted[-1][0] - 1e-6 * abs(wanted[-1][0])
        shares.append(min(1, sum(sign * score >= least for score, _ in hits) / len(wanted)))
    return float(np.mean(shares))


def source_of(folder, field):
    return datasets.existing(folder / "dense.npy") if field == "dense" else folder / "sparse"


def titles_of(folder, field):
    return json_rows(field, folder / ("queries.dense.npy" if field == "dense" else "queries.sparse"))


def replace_rows(server, folder, share=.3):
    """Puts the mean of two random rows, of unit length, in the place of that share of the dense rows."""
    random = np.random.default_rng(3)
    rows = datasets.load(source_of(folder, "dense"))[:DRIFT_ROWS].astype("f4")
    replaced = np.sort(random.permutation(DRIFT_ROWS)[:int(share * DRIFT_ROWS)])
    for first in range(0, len(replaced), 500):
        ids = replaced[first:first + 500]
        mean = rows[random.integers(0, DRIFT_ROWS, len(ids))] + rows[random.integers(0, DRIFT_ROWS, len(ids))]
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        points = [{"id": int(i), "vector": {"dense": row}} for i, row in zip(ids, mean.round(5).tolist())]
        server.ask_collection("/collections/{}/points/vectors?wait=true", {"points": points}, "PUT")
    server.wait_until_green("rows")


def state_of(server, field):
    fields = server.ask_collection("/v1/collections/{}/recall", method="GET")["fields"]
    return next(found for found in fields if found["using"] == field)


def judge(server, field, queries):
    """Recall that `params.recall` reaches now, without a search that is counted or watched: by the effort that it told."""
    *_, told = search(server, field, queries[:1], 10, 1, {"recall": DRIFT_TARGET})
    params = {"exact": True} if told["exact"] else {"hnsw_ef": told["effort"]}
    truth = search(server, field, queries, 10, 1, {"exact": True})[0]
    return recall(truth, search(server, field, queries, 10, 1, params)[0]), "exact" if told["exact"] else told["effort"]


def ask_until(server, field, queries, done, most):
    """Searches by recall, ten at a time, until `done(state)`; returns their number and the state."""
    n = 0
    while n < most:
        at = n % (len(queries) - 10)
        search(server, field, queries[at:at + 10], 10, 1, {"recall": DRIFT_TARGET})
        n += 10
        state = state_of(server, field)
        if done(state):
            break
    return n, state


def drift_line(server, field, name, change, queries):
    """`change()` breaks the promise for `queries`, or not."""
    titles = titles_of(server.folder, field)
    table = server.ask_collection("/v1/collections/{}/recall/calibrate?timeout=1800", {"using": field, "queries": titles[:CALIBRATED]})
    # As after some time of service: more than the first searches after a measurement are over.
    kept, _ = judge(server, field, titles[1000:1000 + DRIFT_JUDGED])
    ask_until(server, field, titles[CALIBRATED:], lambda state: False, 3000)
    before = state_of(server, field)
    change()
    broken, effort = judge(server, field, queries[-DRIFT_JUDGED:])
    n, state = ask_until(server, field, queries[:-DRIFT_JUDGED], lambda now: now["watch"]["alarms"] > before["watch"]["alarms"], 10 * MAX_SEARCHES)
    alarmed, began = state["watch"]["alarms"] > before["watch"]["alarms"], time.monotonic()
    watched = state["watch"]["watched"] - before["watch"]["watched"]
    seconds = None
    if alarmed:
        _, state = ask_until(server, field, queries[:-DRIFT_JUDGED], lambda now: now["measured_at"] != table["measured_at"], 10 ** 6)
        seconds = time.monotonic() - began
    back, effort_after = judge(server, field, queries[-DRIFT_JUDGED:])
    is_broken = broken < DRIFT_TARGET - .01
    verdict = "kept: no alarm is due" if not is_broken and not alarmed else \
        "as the bar wants" if alarmed and n <= MAX_SEARCHES and seconds <= MAX_SECONDS and back >= DRIFT_TARGET - .01 else "misses the bar"
    return (f"| {field} | {name} | {kept:.3f} | {broken:.3f} ({effort}) | {n if alarmed else '–'} | {watched} | "
            f"{'–' if seconds is None else f'{seconds:.0f} s'} | {back:.3f} ({effort_after}) | {verdict} |")


def drift(server):
    lines = [f"Target {DRIFT_TARGET}, 10 hits, no filter, one client, ten searches a request. Bars: an alarm within {MAX_SEARCHES} searches, a new table within {MAX_SECONDS} s of it.",
             "", "| field | change | recall before | after (effort) | searches until the alarm | watched | alarm to table | recall then (effort) | |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for field in ("sparse", "dense"):
        # Rows as queries: the vectors of whole abstracts.
        abstracts = json_rows(field, source_of(server.folder, field), DRIFT_ROWS, DRIFT_ROWS + 4000)
        lines.append(drift_line(server, field, "titles, then abstracts", lambda: None, abstracts))
        print(lines[-1], flush=True)
    titles = titles_of(server.folder, "dense")[CALIBRATED:]
    lines.append(drift_line(server, "dense", "30 % of the rows replaced", lambda: replace_rows(server, server.folder), titles))
    print(lines[-1], flush=True)
    return lines


class Cells:
    """The cells of one set that is asked by one kind of table."""

    def __init__(self, server, metric, queries, source, truths):
        self.server, self.judged, self.truths = server, queries[CALIBRATED:][-JUDGED:], truths
        self.sign = -1 if metric == "euclid" else 1
        body = {"using": "rows"} | ({"queries": queries[:CALIBRATED]} if source == "given" else {})
        table = server.ask_collection("/v1/collections/{}/recall/calibrate?timeout=1800", body)
        self.grid = sorted({point["effort"] for curve in table["curves"] for point in curve["efforts"]})
        self.by_effort = {}

    def truth(self, k, n_parts):
        if (k, n_parts) not in self.truths:
            self.truths[k, n_parts] = search(self.server, "rows", self.judged, k, n_parts, {"exact": True})[0]
        return self.truths[k, n_parts]

    def reached(self, k, n_parts, params):
        found, n_bytes, told = search(self.server, "rows", self.judged, k, n_parts, params)
        return recall(self.truth(k, n_parts), found, self.sign), n_bytes, told

    def fixed(self, k, n_parts, wanted):
        """The least effort that reaches a recall, and its bytes; (None, None) if none does."""
        for effort in self.grid:
            cell = k, n_parts, effort
            if cell not in self.by_effort:
                self.by_effort[cell] = self.reached(k, n_parts, {"hnsw_ef": effort})[:2]
            if self.by_effort[cell][0] >= wanted:
                return effort, self.by_effort[cell][1]
        return None, None

    def lines(self, name, source):
        """Yields (line, recall missed, cost or None)."""
        for k in HITS:
            for n_parts in PARTS:
                for target in TARGETS:
                    reached, n_bytes, told = self.reached(k, n_parts, {"recall": target})
                    effort, least = self.fixed(k, n_parts, reached)
                    cost = n_bytes / least if least else None
                    shown = "–" if cost is None else f"{cost:.2f}"
                    yield (f"| {name} | {source} | {k} | 1 : {n_parts} | {target} | {reached:.4f} | {'exact' if told['exact'] else told['effort']} | "
                           f"{effort or '–'} | {shown} |"), target - reached, cost


def share(values, most):
    return f"{np.mean(np.array(values) <= most):.1%}" if values else "–"


def summary(name, cells):
    misses, costs = [miss for miss, _ in cells], [cost for _, cost in cells if cost is not None]
    told = f"median {np.median(costs):.2f}, most {max(costs):.2f}" if costs else "unknown"
    return (f"{name}: {len(misses)} cells, {share(misses, .005)} at the target less .005 or above (bar: 95 %), {share(misses, .02)} at the target less .02 or above "
            f"(bar: all); cost at most {COST_BAR} in {share(costs, COST_BAR)} of {len(costs)} cells, {told}.")


def measure(name, files, sources, folder):
    """Yields (line, recall missed, cost or None) of all cells of a set."""
    prefix = "" if files.kind == "dense" else files.kind + ":"
    rows = f"0:{files.rows}" if files.rows else None
    queries, truths = json_rows(files.kind, files.queries), {}
    if len(queries) <= CALIBRATED:
        raise SystemExit(f"{name} has {len(queries)} queries; wanted more than {CALIBRATED}: {CALIBRATED} to measure with, others to judge by")
    with Collection(folder / "data", [f"{prefix}rows={files.base}"], [] if files.kind == "sparse" else [f"rows={files.metric}"], rows,
                    ["storage.watch_recall=false"]) as server:
        for source in sources:
            yield from Cells(server, files.metric, queries, source, truths).lines(name, source)


def report(arguments):
    lines = ["| set | calibrated by | k | filter leaves | target | recall | effort | fixed | cost |", "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    ends, options = [], datasets.Options(rows=arguments.rows, set=arguments.set)
    for name in arguments.sets:
        files = datasets.catalog()[name].files(options)
        cells = []
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            for line, miss, cost in measure(name, files, arguments.sources.split(","), Path(folder)):
                lines.append(line)
                print(line, flush=True)
                cells.append((miss, cost))
        ends.append(summary(name, cells))
        print(ends[-1], flush=True)
    return lines + [""] + ends


def report_drift(arguments):
    """Of the dense and the sparse vectors of a folder below QUIVER_DATASETS."""
    lines = []
    for name in arguments.sets:
        folder = Path(os.environ.get("QUIVER_DATASETS", "")) / name
        if not (folder / "queries.dense.npy").exists():
            raise SystemExit(f"{folder} has no queries.dense.npy: QUIVER_DATASETS names the folder of {name}")
        vectors = [f"dense={source_of(folder, 'dense')}", f"sparse:sparse={source_of(folder, 'sparse')}"]
        with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
                Collection(Path(work) / "data", vectors, ["dense=dot"], f"0:{DRIFT_ROWS}") as server:
            server.folder = folder
            lines += drift(server)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--from", dest="sources", default="given,synthetic")
    parser.add_argument("--drift", action="store_true", help="what happens when queries or rows change")
    parser.add_argument("--work", type=Path, help="where the data directory of the server is made")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, default=100_000, help="of a generated set")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of a generator")
    arguments = parser.parse_args()
    unknown = [] if arguments.drift else sorted(set(arguments.sets) - set(datasets.catalog()))
    if unknown:
        parser.error(f"no data set {', '.join(unknown)}; one of {', '.join(datasets.catalog())}")
    lines = (report_drift if arguments.drift else report)(arguments)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
