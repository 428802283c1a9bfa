#!/usr/bin/env python3
"""Measures joins of a field with itself (docs/joins.md) with a running server, beside their bars.

    quiver import --vectors dense=$D/dense.npy --data-dir DIR --collection arxiv --create --metric dot
    quiver serve --data-dir DIR &                     wait until its index is built
    bench/joins.py $D --collection arxiv              D: a folder with dense.npy, as of arxiv-100k

CPU seconds are those of the server's process: on a shared machine they say more than the clock. Truth is computed with numpy: for
neighbours of a sample of the points, for duplicates of all pairs (some minutes).
"""
import argparse
import json
import threading
import time
from pathlib import Path

import numpy as np
from served import Connection

POLL_S = .02


class Collection:
    """A collection, and its jobs. `{}` in a path stands for its name."""

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.connection = Connection(url)

    def raw(self, method, path, body=None):
        return self.connection.raw(method, path.format(self.name), body)

    def __call__(self, method, path, body=None):
        return self.connection(method, path.format(self.name), body)

    def cpu_s(self):
        for line in self.raw("GET", "/metrics").decode().splitlines():
            if "process_cpu_seconds" in line and not line.startswith("#"):
                return float(line.rsplit(" ", 1)[1])
        raise SystemExit("the metrics have no CPU time")

    def start(self, body):
        return self("POST", "/v1/collections/{}/jobs", body)["id"]

    def wait(self, job):
        while (status := self("GET", f"/v1/collections/{{}}/jobs/{job}"))["state"] not in ("done", "failed"):
            time.sleep(POLL_S)
        if status["state"] == "failed":
            raise SystemExit(status["error"])
        return status

    def run(self, body):
        """Returns the lines of the result, seconds and CPU seconds."""
        cpu = self.cpu_s()
        job = self.start(body)
        status = self.wait(job)
        cpu = self.cpu_s() - cpu
        lines = [json.loads(line) for line in self.raw("GET", f"/v1/collections/{{}}/jobs/{job}/result").splitlines()]
        self("DELETE", f"/v1/collections/{{}}/jobs/{job}")
        return lines, status["seconds"], cpu


def say(what, figure, bar=""):
    print(f"{what:58} {figure:>28}   {bar}", flush=True)


def knn(server, rows, arguments, params):
    lines, seconds, cpu = server.run({"knn": {"using": arguments.field, "k": arguments.k, "params": params}})
    chosen = np.random.default_rng(1).permutation(len(rows))[:arguments.sample]
    shares = []
    for part in np.array_split(chosen, max(1, len(chosen) // 200)):
        scores = rows[part] @ rows.T
        scores[np.arange(len(part)), part] = -np.inf
        least = -np.partition(-scores, arguments.k - 1, axis=1)[:, arguments.k - 1]
        for i, row in enumerate(part):
            found = [entry["id"] for entry in lines[row]["neighbours"]]
            shares.append(np.sum(scores[i, found] >= least[i] - 1e-6) / arguments.k)
    label = f"k-NN, k = {arguments.k}, params {json.dumps(params)}"
    say(label + ": recall", f"{np.mean(shares):.4f}", "bar: .98")
    say(label + ": seconds, CPU seconds", f"{seconds:.1f}, {cpu:.1f}", "bar: 6 s on two cores (100,000 rows)")


def all_pairs(rows, least):
    pairs, unsure = set(), set()
    for first in range(0, len(rows), 1000):
        scores = rows[first:first + 1000] @ rows[first:].T
        a, b = np.nonzero(scores >= least - 1e-5)
        for x, y in zip(a.tolist(), b.tolist()):
            if y > x:
                is_close = abs(scores[x, y] - least) <= 1e-5
                (unsure if is_close else pairs).add((first + x, first + y))
    return pairs, unsure


def duplicates(server, rows, arguments, params):
    lines, seconds, cpu = server.run({"duplicates": {"using": arguments.field, "min_score": arguments.min_score, "params": params}})
    found = {(row["id"], entry["id"]) for row in lines for entry in row["neighbours"] if entry["id"] > row["id"]}
    began = time.monotonic()
    pairs, unsure = all_pairs(rows, arguments.min_score)
    brute = time.monotonic() - began
    label = f"pairs >= {arguments.min_score}, params {json.dumps(params)}"
    say(label + ": found of true", f"{len(found & pairs)} of {len(pairs)}", "bar: .9999 of them")
    say(label + ": false", str(len(found - pairs - unsure)), "bar: 0")
    say(label + ": groups", str(len({row["kept"] for row in lines})))
    say(label + ": seconds, CPU seconds", f"{seconds:.1f}, {cpu:.1f}", f"brute force in numpy: {brute:.0f} s")


def latencies(server, queries, seconds, rate):
    """Microseconds of single searches that are sent at a steady rate over one connection."""
    client = Collection(server.url, server.name)
    found, due = [], time.monotonic()
    end = due + seconds
    while due < end:
        time.sleep(max(0, due - time.monotonic()))
        body = {"query": queries[len(found) % len(queries)], "using": "dense", "limit": 10}
        began = time.monotonic()
        client("POST", "/collections/{}/points/query", body)
        found.append((time.monotonic() - began) * 1e6)
        due = max(due + 1 / rate, time.monotonic())
    return found


def serving(server, rows, arguments):
    queries = rows[np.random.default_rng(2).permutation(len(rows))[:500]].tolist()
    latencies(server, queries, 2, arguments.rate)
    alone, beside = [], []
    for _ in range(arguments.rounds):
        alone += latencies(server, queries, arguments.serve_s, arguments.rate)
        stop = threading.Event()

        def keep_busy():
            own = Collection(server.url, server.name)
            while not stop.is_set():
                job = own.start({"knn": {"using": arguments.field, "k": arguments.k}})
                while own("GET", f"/v1/collections/{{}}/jobs/{job}")["state"] in ("waiting", "running") and not stop.is_set():
                    time.sleep(.1)
                own("DELETE", f"/v1/collections/{{}}/jobs/{job}")

        worker = threading.Thread(target=keep_busy)
        worker.start()
        time.sleep(.3)
        beside += latencies(server, queries, arguments.serve_s, arguments.rate)
        stop.set()
        worker.join()
    for name, some in (("alone", alone), ("beside k-NN jobs", beside)):
        say(f"search {name}: p50, p99 us ({arguments.rate}/s)", f"{np.percentile(some, 50):.0f}, {np.percentile(some, 99):.0f}")
    say("p99 beside / alone", f"{np.percentile(beside, 99) / np.percentile(alone, 99):.2f}", "bar: 1.5")


def clusters(server, arguments):
    lines, seconds, cpu = server.run({"clusters": {"using": arguments.field, "min_size": 15}})
    numbers = [row["cluster"] for row in lines]
    n_noise = numbers.count(None)
    say("clusters of 15 or more: number, share of noise", f"{len(set(numbers) - {None})}, {n_noise / len(numbers):.2f}")
    say("clusters: seconds, CPU seconds", f"{seconds:.1f}, {cpu:.1f}")
    _, seconds, cpu = server.run({"node_vectors": {"using": arguments.field, "size": 128}})
    say("node vectors: seconds, CPU seconds", f"{seconds:.1f}, {cpu:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="arxiv")
    parser.add_argument("--field", default="dense")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--min-score", type=float, default=.95)
    parser.add_argument("--params", default="{}", help="several as a JSON array")
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--serve-s", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--parts", default="knn,duplicates,clusters,serving")
    arguments = parser.parse_args()
    server = Collection(arguments.url, arguments.collection)
    rows = np.load(arguments.folder / "dense.npy").astype("f4")
    given = json.loads(arguments.params)
    for params in given if isinstance(given, list) else [given]:
        if "knn" in arguments.parts:
            knn(server, rows, arguments, params)
        if "duplicates" in arguments.parts:
            duplicates(server, rows, arguments, params)
    if "clusters" in arguments.parts:
        clusters(server, arguments)
    if "serving" in arguments.parts:
        serving(server, rows, arguments)


if __name__ == "__main__":
    main()
