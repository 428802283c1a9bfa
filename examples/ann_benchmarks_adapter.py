#!/usr/bin/env python3
"""Quiver embedded, as an algorithm of ann-benchmarks (https://github.com/erikbern/ann-benchmarks).

There it is `ann_benchmarks/algorithms/quiver/module.py`, with `constructor: QuiverEmbedded`, `args: ["@metric"]` and efforts
as `query_args: [[16, 32, 64, 128, 256, 512, 1024]]`. Run alone, it measures the sample beside exact search:

    PYTHONPATH=python .venv/bin/python examples/ann_benchmarks_adapter.py [DATA_DIR]
"""
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import quiver

try:
    from ann_benchmarks.algorithms.base.module import BaseANN
except ImportError:
    BaseANN = object

DISTANCES = {"angular": "Cosine", "euclidean": "Euclid", "ip": "Dot"}
CHUNK = 100_000  # rows


class QuiverEmbedded(BaseANN):
    """One collection in a data directory of its own, searched in this process."""

    def __init__(self, metric, data_dir=None):
        self.distance = DISTANCES[metric]
        self.data_dir = data_dir or tempfile.mkdtemp(prefix="quiver-")
        self.database = quiver.open(self.data_dir)
        self.effort, self.found = 128, None

    def fit(self, X):
        X = np.ascontiguousarray(X, np.float32)
        self.collection = self.database.create_collection("ann", dim=X.shape[1], distance=self.distance)
        for begin in range(0, len(X), CHUNK):
            rows = X[begin:begin + CHUNK]
            self.collection.bulk_load(np.arange(begin, begin + len(rows), dtype=np.uint64), rows)
        self.collection.wait_until_indexed()

    def set_query_arguments(self, effort):
        self.effort = effort

    def query(self, v, n):
        return self.collection.search(np.ascontiguousarray(v, np.float32), n, params={"hnsw_ef": self.effort}).ids

    def batch_query(self, X, n):
        self.found = self.collection.search(np.ascontiguousarray(X, np.float32), n, params={"hnsw_ef": self.effort}).ids

    def get_batch_results(self):
        return self.found

    def done(self):
        self.database.close()

    def __str__(self):
        return f"Quiver(effort={self.effort})"


def main():
    sample = Path(__file__).resolve().parent / "arxiv-3k"
    base = np.load(sample / "dense.npy").astype(np.float32)
    queries = np.load(sample / "queries.dense.npy").astype(np.float32)
    truth = np.load(sample / "gt.dense.ids.npy")[:, :10]
    algorithm = QuiverEmbedded("ip", *sys.argv[1:2])
    algorithm.fit(base)
    algorithm.set_query_arguments(128)
    began = time.perf_counter()
    found = [algorithm.query(query, 10) for query in queries]
    seconds = time.perf_counter() - began
    algorithm.batch_query(queries, 10)
    assert (np.array(found) == algorithm.get_batch_results()).all()
    algorithm.done()
    recall = np.mean([len(set(f.tolist()) & set(t.tolist())) / 10 for f, t in zip(found, truth)])
    print(json.dumps({"algorithm": str(algorithm), "recall": round(float(recall), 4), "qps": round(len(queries) / seconds)}))


if __name__ == "__main__":
    main()
