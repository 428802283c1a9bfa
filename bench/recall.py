#!/usr/bin/env python3
"""Measures whether searches reach the recall that they were asked for (docs/recall.md), with a running server.

    quiver import --vectors dense=$D/dense.npy --vectors sparse:sparse=$D/sparse --data-dir DIR --collection arxiv --create \\
        --metric dot
    quiver serve --data-dir DIR &
    bench/recall.py $D --collection arxiv --out table.md         D: …/arxiv-100k

Calibrates with queries 0 to 511, or with none, and judges by others: every target, number of hits and share of the points that a
random filter leaves is a cell. `fixed` is the least effort of the measured ones that reaches the same recall on the very
queries that are judged.

    quiver import … --rows 0:95000 …                             rows 95000 to 100000 are asked as queries
    bench/recall.py $D --collection arxiv --drift --out drift.md

shows what happens when a promise breaks: calibrated with titles, then whole abstracts are asked; and calibrated with titles, then 30 % of
the rows are replaced by means of two. It counts searches until the alarm, and seconds from there to the next table.
"""
import argparse
import io
import time
from pathlib import Path

import numpy as np
from served import Connection

TARGETS = (.8, .9, .95, .98, .99)
HITS = (1, 10, 100)
PARTS = (1, 3, 20, 200)  # a filter leaves one of so many
CALIBRATED = 512
BATCH = 50
# What happens after a promise was broken.
DRIFT_TARGET = .95
DRIFT_ROWS = 95_000
DRIFT_JUDGED = 300
MAX_SEARCHES, MAX_SECONDS = 2_000, 60  # the bars


class Collection:
    def __init__(self, url, collection):
        self.connection, self.collection = Connection(url), collection

    def __call__(self, path, body=None, method="POST"):
        return self.connection(method, path.format(self.collection), body)

    def wait_until_green(self):
        self.connection.wait_until_green(self.collection)


def queries_of(folder, field):
    if field == "dense":
        return np.load(folder / "queries.dense.npy").tolist()
    indptr, indices, values = (np.load(folder / f"queries.sparse.{part}.npy") for part in ("indptr", "indices", "values"))
    rows = [slice(int(first), int(last)) for first, last in zip(indptr, indptr[1:])]
    return [{"indices": indices[row].tolist(), "values": values[row].tolist()} for row in rows]


def search(server, field, queries, k, n_parts, params):
    """Returns the (score, id) lists of the queries, and the last word on recall."""
    found, told = [], None
    # Another part than the one that is calibrated with.
    filter_ = {"must": [{"slice": {"total": n_parts, "index": 1 % n_parts}}]} if n_parts > 1 else None
    for first in range(0, len(queries), BATCH):
        searches = [{"query": query, "using": field, "limit": k, "filter": filter_, "params": params}
                    for query in queries[first:first + BATCH]]
        for answer in server("/collections/{}/points/query/batch?timeout=600", {"searches": searches}):
            found.append([(point["score"], point["id"]) for point in answer["points"]])
            told = answer.get("recall")
    return found, told


def recall(truth, found):
    shares = []
    for wanted, hits in zip(truth, found):
        least = wanted[-1][0] - 1e-6 * abs(wanted[-1][0])
        shares.append(min(1, sum(score >= least for score, _ in hits) / len(wanted)))
    return float(np.mean(shares))


def rows_of(folder, field, first, last):
    """Rows as queries: the vectors of whole abstracts."""
    def array(name):
        plain = folder / f"{name}.npy"
        if plain.exists():
            return np.load(plain, mmap_mode="r")
        import zstandard
        return np.load(io.BytesIO(zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader((folder / f"{name}.npy.zst").read_bytes()).read()))
    if field == "dense":
        return array("dense")[first:last].astype("f4")
    indptr, indices, values = (array(f"sparse.{part}") for part in ("indptr", "indices", "values"))
    bounds = [slice(int(indptr[i]), int(indptr[i + 1])) for i in range(first, last)]
    return [{"indices": indices[row].tolist(), "values": values[row].astype("f4").tolist()} for row in bounds]


def replace_rows(server, folder, share=.3):
    """Puts the mean of two random rows, of unit length, in the place of that share of the dense rows."""
    random = np.random.default_rng(3)
    rows = rows_of(folder, "dense", 0, DRIFT_ROWS)
    replaced = np.sort(random.permutation(DRIFT_ROWS)[:int(share * DRIFT_ROWS)])
    for first in range(0, len(replaced), 500):
        ids = replaced[first:first + 500]
        mean = rows[random.integers(0, DRIFT_ROWS, len(ids))] + rows[random.integers(0, DRIFT_ROWS, len(ids))]
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        points = [{"id": int(i), "vector": {"dense": row}} for i, row in zip(ids, mean.round(5).tolist())]
        server("/collections/{}/points/vectors?wait=true", {"points": points}, "PUT")
    server.wait_until_green()


def state_of(server, field):
    fields = server("/v1/collections/{}/recall", method="GET")["fields"]
    return next(found for found in fields if found["using"] == field)


def judge(server, field, queries):
    """Recall that `params.recall` reaches now, without a search that is counted or watched: by the effort that it told."""
    _, told = search(server, field, queries[:1], 10, 1, {"recall": DRIFT_TARGET})
    params = {"exact": True} if told["exact"] else {"hnsw_ef": told["effort"]}
    truth, _ = search(server, field, queries, 10, 1, {"exact": True})
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
    titles = queries_of(server.folder, field)
    table = server("/v1/collections/{}/recall/calibrate?timeout=1800", {"using": field, "queries": titles[:CALIBRATED]})
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


def drift(server, fields):
    lines = [f"Target {DRIFT_TARGET}, 10 hits, no filter, one client, ten searches a request. Bars: an alarm within {MAX_SEARCHES} searches, a new table within {MAX_SECONDS} s of it.",
             "", "| field | change | recall before | after (effort) | searches until the alarm | watched | alarm to table | recall then (effort) | |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for field in fields:
        abstracts = rows_of(server.folder, field, DRIFT_ROWS, DRIFT_ROWS + 4000)
        abstracts = abstracts.tolist() if field == "dense" else abstracts
        lines.append(drift_line(server, field, "titles, then abstracts", lambda: None, abstracts))
        print(lines[-1], flush=True)
    if "dense" in fields:
        titles = queries_of(server.folder, "dense")[CALIBRATED:]
        lines.append(drift_line(server, "dense", "30 % of the rows replaced", lambda: replace_rows(server, server.folder), titles))
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="arxiv")
    parser.add_argument("--fields", default="dense,sparse")
    parser.add_argument("--from", dest="sources", default="given,synthetic")
    parser.add_argument("--queries", default="1000:2000")
    parser.add_argument("--drift", action="store_true", help="what happens when queries or rows change")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    server = Collection(arguments.url, arguments.collection)
    server.folder = arguments.folder
    server.wait_until_green()  # without its index a field is searched exactly
    if arguments.drift:
        lines = drift(server, arguments.fields.split(","))
        if arguments.out:
            arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    first, last = map(int, arguments.queries.split(":"))
    lines, misses = ["| field | calibrated by | k | filter leaves | target | recall | effort | fixed |", "|---|---|---|---|---|---|---|---|"], []
    for field in arguments.fields.split(","):
        queries = queries_of(arguments.folder, field)
        judged = queries[first:last]
        truths = {(k, n): search(server, field, judged, k, n, {"exact": True})[0] for k in HITS for n in PARTS}
        for source in arguments.sources.split(","):
            body = {"using": field} | ({"queries": queries[:CALIBRATED]} if source == "given" else {})
            table = server("/v1/collections/{}/recall/calibrate?timeout=1800", body)
            grid = sorted({point["effort"] for curve in table["curves"] for point in curve["efforts"]})
            for k in HITS:
                for n in PARTS:
                    truth, by_effort = truths[k, n], {}

                    def fixed(wanted):
                        for effort in grid:
                            if effort not in by_effort:
                                by_effort[effort] = recall(truth, search(server, field, judged, k, n, {"hnsw_ef": effort})[0])
                            if by_effort[effort] >= wanted:
                                return effort
                        return "–"
                    for target in TARGETS:
                        found, told = search(server, field, judged, k, n, {"recall": target})
                        reached = recall(truth, found)
                        misses.append(target - reached)
                        effort = "exact" if told["exact"] else told["effort"]
                        lines.append(f"| {field} | {source} | {k} | 1 : {n} | {target} | {reached:.4f} | {effort} | {fixed(reached)} |")
                        print(lines[-1], flush=True)
    misses = np.array(misses)
    lines += ["", f"{len(misses)} cells: {np.mean(misses <= .005):.1%} at the target less .005 or above (bar: 95 %), "
                  f"{np.mean(misses <= .02):.1%} at the target less .02 or above (bar: all)."]
    print(lines[-1])
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
