#!/usr/bin/env python3
"""Quiver as a client of VectorDBBench (https://github.com/zilliztech/VectorDBBench).

VectorDBBench searches from several processes, and one process has a data directory open. So this client speaks to a server,
which `quiver.Server` starts. There it is `vectordb_bench/backend/clients/quiver/quiver.py`. Run alone, it measures the sample:

    PYTHONPATH=python .venv/bin/python examples/vectordbbench_adapter.py [DATA_DIR]
"""
import contextlib
import http.client
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

import quiver

try:
    from vectordb_bench.backend.clients.api import VectorDB
except ImportError:
    VectorDB = object

DISTANCES = {"COSINE": "Cosine", "L2": "Euclid", "IP": "Dot"}


class QuiverClient(VectorDB):
    """db_config: {"url": …}. db_case_config: {"metric_type": "COSINE", "effort": 128}. Is pickled for other processes."""

    def __init__(self, dim, db_config, db_case_config, collection_name="bench", drop_old=False, **kwargs):
        self.url, self.name = db_config["url"], collection_name
        self.distance = DISTANCES[db_case_config["metric_type"]]
        self.effort = db_case_config.get("effort", 128)
        self.connection = None
        with self.init():
            if drop_old:
                self.call("DELETE", "")
                self.call("PUT", "", {"vectors": {"size": dim, "distance": self.distance}})

    @contextlib.contextmanager
    def init(self):
        """A connection of this process."""
        parts = urlsplit(self.url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port)
        try:
            yield
        finally:
            self.connection.close()
            self.connection = None

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body)
        self.connection.request(method, f"/collections/{self.name}{path}", data, {"Content-Type": "application/json"})
        answer = json.loads(self.connection.getresponse().read())
        if answer["status"] != "ok":
            raise RuntimeError(answer["status"]["error"])
        return answer["result"]

    def need_normalize_cosine(self):
        return False

    def insert_embeddings(self, embeddings, metadata, **kwargs):
        points = [{"id": id, "vector": list(map(float, vector)), "payload": {"id": id}} for id, vector in zip(metadata, embeddings)]
        try:
            self.call("PUT", "/points?wait=true", {"points": points})
        except RuntimeError as error:
            return 0, error
        return len(points), None

    def optimize(self, data_size=None):
        """Returns when the indexes are built: the state stays green for as long as new points wait to be sealed."""
        calm = 0
        while calm < 20:
            calm = calm + 1 if self.call("GET", "")["status"] == "green" else 0
            time.sleep(0.1)

    def search_embedding(self, query, k=100, filters=None, timeout=None, **kwargs):
        body = {"query": list(map(float, query)), "limit": k, "params": {"hnsw_ef": self.effort}}
        if filters:
            body["filter"] = {"must": [{"key": "id", "range": {"gte": filters["id"]}}]}
        return [point["id"] for point in self.call("POST", "/points/query", body)["points"]]


def main():
    sample = Path(__file__).resolve().parent / "arxiv-3k"
    base, queries = np.load(sample / "dense.npy"), np.load(sample / "queries.dense.npy")
    truth = np.load(sample / "gt.dense.ids.npy")[:, :10]
    with quiver.Server(*sys.argv[1:2]) as server:
        client = QuiverClient(base.shape[1], {"url": server.url}, {"metric_type": "IP"}, drop_old=True)
        with client.init():
            for begin in range(0, len(base), 500):
                ids = list(range(begin, min(begin + 500, len(base))))
                assert client.insert_embeddings(base[ids], ids) == (len(ids), None)
            client.optimize()
            began = time.perf_counter()
            found = [client.search_embedding(query, 10) for query in queries]
            seconds = time.perf_counter() - began
            assert min(client.search_embedding(queries[0], 10, filters={"id": 2000})) >= 2000
    recall = np.mean([len(set(f) & set(t.tolist())) / 10 for f, t in zip(found, truth)])
    print(json.dumps({"recall": round(float(recall), 4), "qps": round(len(queries) / seconds)}))


if __name__ == "__main__":
    main()
