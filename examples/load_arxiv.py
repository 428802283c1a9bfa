#!/usr/bin/env python3
"""Loads a folder in the format of arxiv-100k (dense, sparse, payload) through the HTTP API and checks exact recall.

    .venv/bin/python examples/load_arxiv.py --data DIR/arxiv-100k --url http://127.0.0.1:6333 --check

The folder holds `docs.jsonl.zst`, `dense.npy[.zst]`, `sparse.{indptr,indices,values}.npy[.zst]`, the same for the
queries (`queries.dense.npy`, `queries.sparse.*`) and exact ground truth (`gt.{dense,sparse}.{ids,scores}.npy`). Row `i`
becomes point `i`. `--check` compares with that truth and, under filters, with NumPy. The exit status is 1 if recall is
below 1.
"""
import argparse
import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import orjson
import zstandard

from sample import INDEXES, Api, recall, sparse_row, to_bytes

PAYLOAD = ("title", "primary", "cats", "created", "num_authors")
FILTERS = {
    "math.CO": ({"must": [{"key": "cats", "match": {"value": "math.CO"}}]},
                lambda d: "math.CO" in d["cats"]),
    "2018 or later, at most 3 authors": (
        {"must": [{"key": "created", "range": {"gte": "2018-01-01"}}, {"key": "num_authors", "range": {"lte": 3}}]},
        lambda d: d["created"] >= "2018-01-01" and d["num_authors"] <= 3),
    "2000 or later, several authors": (
        {"must_not": [{"key": "created", "range": {"lt": "2000-01-01"}}, {"key": "num_authors", "match": {"value": 1}}]},
        lambda d: d["created"] >= "2000-01-01" and d["num_authors"] != 1),
}


def decompressed(path):
    with open(path, "rb") as f:
        return zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(f).read()


class Data:
    def __init__(self, folder, limit):
        self.folder = folder
        self.lines = decompressed(folder / "docs.jsonl.zst").splitlines()[:limit]
        self.dense = self.array("dense")
        self.sparse = [self.array(f"sparse.{part}") for part in ("indptr", "indices", "values")]
        self.query_dense = self.array("queries.dense")
        self.query_sparse = [self.array(f"queries.sparse.{part}") for part in ("indptr", "indices", "values")]

    def array(self, name):
        plain = self.folder / f"{name}.npy"
        return np.load(plain) if plain.exists() else np.load(io.BytesIO(decompressed(f"{plain}.zst")))

    def payload(self, i):
        doc = orjson.loads(self.lines[i])
        return {"arxiv_id": doc["id"]} | {key: doc[key] for key in PAYLOAD}

    def body(self, first, last):
        """Returns the upsert of rows `first` to `last` as bytes."""
        dense = self.dense[first:last].astype(np.float32)
        points = [{"id": i, "vector": {"dense": dense[i - first], "sparse": sparse_row(self.sparse, i)},
                   "payload": self.payload(i)} for i in range(first, last)]
        return to_bytes({"points": points})


def load(a, data):
    api = Api(a.url, a.api_key)
    api("DELETE", f"/collections/{a.collection}")
    api("PUT", f"/collections/{a.collection}", {
        "vectors": {"dense": {"size": data.dense.shape[1], "distance": "Dot"}}, "sparse_vectors": {"sparse": {}},
        "shard_number": a.shards})
    for field, schema in INDEXES.items():
        api("PUT", f"/collections/{a.collection}/index?wait=true", {"field_name": field, "field_schema": schema})
    n, start = len(data.lines), time.perf_counter()
    connections = [Api(a.url, a.api_key) for _ in range(a.connections)]

    def send(number):  # each connection sends every n-th batch, so encoding overlaps with the server's work
        for first in range(number * a.batch, n, a.connections * a.batch):
            body = data.body(first, min(first + a.batch, n))
            connections[number]("PUT", f"/collections/{a.collection}/points?wait=true", body)
            if number == 0 and sys.stderr.isatty():
                print(f"\r{first:,} of {n:,}", end="", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(a.connections) as pool:
        list(pool.map(send, range(a.connections)))
    seconds = time.perf_counter() - start
    print(f"loaded {n:,} points in {seconds:.1f} s, {n / seconds:,.0f} points/s "
          f"({a.connections} connections, batches of {a.batch}, acknowledged means durable)")


def wait_green(a, api):
    start = time.perf_counter()
    while (info := api("GET", f"/collections/{a.collection}"))["status"] != "green":
        time.sleep(0.2)
    print(f"green after {time.perf_counter() - start:.1f} s: {info['points_count']:,} points, "
          f"{info['segments_count']} segments")


class Check:
    """Runs queries and reports recall and latency. `score(q, ids)`: exact f32 scores of points for a query."""

    def __init__(self, a, data, api):
        self.a, self.data, self.api, self.good = a, data, api, True

    def dense_score(self, q, ids):
        return self.data.dense[ids].astype(np.float32) @ self.data.query_dense[q]

    def sparse_score(self, q, ids):
        query = dict(zip(*(sparse_row(self.data.query_sparse, q)[k].tolist() for k in ("indices", "values"))))
        rows = [sparse_row(self.data.sparse, int(i)) for i in ids]
        return np.array([sum(query.get(i, 0.0) * v for i, v in zip(r["indices"].tolist(), r["values"].tolist()))
                         for r in rows], np.float32)

    def run(self, label, queries, make_query, best_scores, score, k, filter=None):
        recalls, latencies, off = [], [], 0.0
        for n, q in enumerate(queries):
            body = to_bytes(make_query(q) | {"limit": k, "filter": filter})
            start = time.perf_counter()
            hits = self.api("POST", f"/collections/{self.a.collection}/points/query", body)["points"]
            latencies.append(time.perf_counter() - start)
            exact = score(q, np.array([h["id"] for h in hits], np.int64))
            off = max([off] + [abs(h["score"] - s) / max(1.0, abs(s)) for h, s in zip(hits, exact)])
            recalls.append(recall([h["id"] for h in hits], best_scores(n, q), exact))
        self.good &= min(recalls) == 1.0 and off < 1e-4
        p50, p95 = np.percentile(latencies, [50, 95]) * 1e3
        print(f"{label:50}{len(recalls):6}{np.mean(recalls):9.4f}{min(recalls):8.3f}{off:11.1e}{p50:9.2f}{p95:9.2f}")

    def all(self, k):
        data, n = self.data, len(self.data.lines)
        print(f"{'':50}{'n':>6}{'recall':>9}{'worst':>8}{'score off':>11}{'p50 ms':>9}{'p95 ms':>9}")
        queries = range(min(self.a.queries, len(data.query_dense)))
        dense_query = lambda q: {"query": data.query_dense[q], "using": "dense"}
        sparse_query = lambda q: {"query": sparse_row(data.query_sparse, q), "using": "sparse"}
        if n == len(data.dense):  # the shipped truth covers all documents
            for kind, query, score in (("dense", dense_query, self.dense_score), ("sparse", sparse_query, self.sparse_score)):
                truth = data.array(f"gt.{kind}.scores")
                self.run(f"{kind}, shipped truth", queries, query, lambda _, q: truth[q, :k], score, k)
        docs = [orjson.loads(line) for line in data.lines]
        some = list(queries)[:self.a.filtered_queries]
        scores = data.query_dense[some] @ data.dense[:n].astype(np.float32).T
        for name, (condition, test) in FILTERS.items():
            passes = np.array([test(d) for d in docs])
            filtered = np.where(passes, scores, -np.inf)
            best = -np.sort(-filtered, axis=1)[:, :k]
            self.run(f"dense, {name} ({passes.sum():,})", some, dense_query, lambda i, _: best[i], self.dense_score, k, condition)
        return self.good


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--url", default="http://127.0.0.1:6333")
    p.add_argument("--api-key")
    p.add_argument("--collection", default="arxiv")
    p.add_argument("--shards", type=int, default=1)
    p.add_argument("--docs", type=int, help="load only this many documents")
    p.add_argument("--batch", type=int, default=500)
    p.add_argument("--connections", type=int, default=2)
    p.add_argument("--no-load", action="store_true", help="use the existing collection")
    p.add_argument("--check", action="store_true", help="check exact recall against the shipped truth and NumPy")
    p.add_argument("--queries", type=int, default=2000)
    p.add_argument("--filtered-queries", type=int, default=200)
    p.add_argument("-k", type=int, default=100)
    return p.parse_args()


def main():
    a = parse_arguments()
    data = Data(a.data, a.docs)
    if not a.no_load:
        load(a, data)
    api = Api(a.url, a.api_key)
    wait_green(a, api)
    if a.check and not Check(a, data, api).all(a.k):
        sys.exit("recall is below 1")


if __name__ == "__main__":
    main()
