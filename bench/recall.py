#!/usr/bin/env python3
"""Measures whether searches reach the recall that they were asked for (docs/recall.md), with a running server.

    quiver import --vectors dense=$D/dense.npy --vectors sparse:sparse=$D/sparse --data-dir DIR --collection arxiv --create \\
        --metric dot
    quiver serve --data-dir DIR &
    bench/recall.py $D --collection arxiv --out table.md         D: …/arxiv-100k

Calibrates with queries 0 to 511, or with none, and judges by others: every target, number of hits and share of the points that a
random filter leaves is a cell. `fixed` is the least effort of the measured ones that reaches the same recall on the very
queries that are judged.
"""
import argparse
import http.client
import json
import urllib.parse
from pathlib import Path

import numpy as np

TARGETS = (.8, .9, .95, .98, .99)
HITS = (1, 10, 100)
PARTS = (1, 3, 20, 200)  # a filter leaves one of so many
CALIBRATED = 512
BATCH = 50


class Server:
    def __init__(self, url, collection):
        self.collection = collection
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=1800)

    def __call__(self, path, body):
        self.connection.request("POST", path.format(self.collection), json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {found}")
        return found["result"]


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="arxiv")
    parser.add_argument("--fields", default="dense,sparse")
    parser.add_argument("--from", dest="sources", default="given,synthetic")
    parser.add_argument("--queries", default="1000:2000")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    server = Server(arguments.url, arguments.collection)
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
