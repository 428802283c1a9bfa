"""Reads `arxiv-3k` (see its README.md) and calls the HTTP API with plain http.client; JSON by orjson."""
import http.client
import json
import time
from pathlib import Path

import numpy as np
import orjson

FOLDER = Path(__file__).resolve().parent / "arxiv-3k"
TOKEN_SCALE = np.float32(1.0 / 127.0)

COLLECTION = {
    "vectors": {
        "dense": {"size": 384, "distance": "Dot"},
        "tokens": {"size": 128, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
    },
    "sparse_vectors": {"sparse": {}},
}
INDEXES = {"cats": "keyword", "created": "datetime", "num_authors": "integer"}


class Sample:
    """The stored arrays. `point(i)` and `*_query(k)` return API objects, with NumPy arrays in place of lists."""

    def __init__(self, folder=FOLDER):
        self.folder = Path(folder)
        self.docs = self._lines("docs.jsonl")
        self.queries = self._lines("queries.jsonl")
        self.filters = json.loads((self.folder / "filters.json").read_text())
        self.dense, self.query_dense = self.load("dense").astype(np.float32), self.load("queries.dense")
        self.sparse, self.query_sparse = self._csr("sparse"), self._csr("queries.sparse")
        self.tokens, self.query_tokens = self._tokens("tokens"), self._tokens("queries.tokens")

    def load(self, name):
        return np.load(self.folder / f"{name}.npy")

    def truth(self, name):
        """Exact ids and scores, [n_queries, k]; id -1 where there are fewer hits."""
        return self.load(f"gt.{name}.ids"), self.load(f"gt.{name}.scores")

    def _lines(self, name):
        with open(self.folder / name, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def _csr(self, prefix):
        return [self.load(f"{prefix}.{part}") for part in ("indptr", "indices", "values")]

    def _tokens(self, name):
        return self.load(f"{name}.indptr"), self.load(name).astype(np.float32) * TOKEN_SCALE

    @property
    def n_token_docs(self):
        return len(self.tokens[0]) - 1

    def point(self, i):
        vector = {"dense": self.dense[i], "sparse": sparse_row(self.sparse, i)}
        if i < self.n_token_docs:
            vector["tokens"] = token_rows(self.tokens, i)
        return {"id": i, "vector": vector, "payload": self.docs[i]}

    def exact_scores(self, kind, k):
        """Scores of all documents for query `k`, f32; -inf for documents that this kind of search cannot find."""
        if kind == "dense":
            return self.dense @ self.query_dense[k]
        if kind == "sparse":
            indptr, indices, values = self.sparse
            row = sparse_row(self.query_sparse, k)
            query = np.zeros(1 + max(int(indices.max()), int(row["indices"].max())), np.float32)
            query[row["indices"]] = row["values"]
            scores = np.add.reduceat(values.astype(np.float32) * query[indices], indptr[:-1].astype(np.int64))
            return np.where(scores > 0, scores, -np.inf)  # all weights are positive: zero means no index in common
        (starts, docs), query = self.tokens, token_rows(self.query_tokens, k)
        return np.maximum.reduceat(query @ docs.T, starts[:-1].astype(np.int64), axis=1).sum(axis=0)

    def dense_query(self, k):
        return {"query": self.query_dense[k], "using": "dense"}

    def sparse_query(self, k):
        return {"query": sparse_row(self.query_sparse, k), "using": "sparse"}

    def multi_query(self, k):
        return {"query": token_rows(self.query_tokens, k), "using": "tokens"}

    def hybrid_query(self, k, filter=None, depth=100):
        """The dense and the sparse list, fused by reciprocal ranks."""
        prefetch = [self.dense_query(k) | {"limit": depth}, self.sparse_query(k) | {"limit": depth}]
        if filter is not None:
            prefetch = [p | {"filter": filter} for p in prefetch]
        return {"prefetch": prefetch, "query": {"fusion": "rrf"}}

    def reranked_query(self, k, depth=50):
        """Dense and sparse candidates, ordered by their token vectors."""
        prefetch = [self.dense_query(k) | {"limit": depth}, self.sparse_query(k) | {"limit": depth}]
        return {"prefetch": prefetch} | self.multi_query(k)


def sparse_row(csr, i):
    indptr, indices, values = csr
    row = slice(int(indptr[i]), int(indptr[i + 1]))
    return {"indices": indices[row], "values": values[row].astype(np.float32)}


def token_rows(tokens, i):
    indptr, values = tokens
    return values[int(indptr[i]):int(indptr[i + 1])]


def to_bytes(value):
    """Encodes JSON. orjson writes f32 with the fewest digits, which the server reads back to the same bits."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


class Api:
    """One keep-alive connection."""

    def __init__(self, url, api_key=None):
        host = url.split("://")[-1].rstrip("/")
        self.connection = http.client.HTTPConnection(host, timeout=120)
        self.headers = {"Content-Type": "application/json"} | ({"api-key": api_key} if api_key else {})

    def __call__(self, method, path, body=None):
        """Returns the `result` of the answer. `body`: bytes are sent unchanged, anything else as JSON."""
        data = body if body is None or isinstance(body, bytes) else to_bytes(body)
        self.connection.request(method, path, body=data, headers=self.headers)
        response = self.connection.getresponse()
        answer = orjson.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {answer['status']['error']}")
        return answer["result"]


def load(api, sample, collection, batch=50):
    """Creates the collection anew, loads the whole sample and returns points per second."""
    api("DELETE", f"/collections/{collection}")
    api("PUT", f"/collections/{collection}", COLLECTION)
    for field, schema in INDEXES.items():
        api("PUT", f"/collections/{collection}/index?wait=true", {"field_name": field, "field_schema": schema})
    n, start = len(sample.docs), time.perf_counter()
    for a in range(0, n, batch):
        points = [sample.point(i) for i in range(a, min(a + batch, n))]
        api("PUT", f"/collections/{collection}/points?wait=true", {"points": points})
    return n / (time.perf_counter() - start)


def recall(found_ids, exact_scores, scores_of_found):
    """Recall: hits whose exact score reaches the k-th best score (ties count), divided by k.

    `exact_scores`: the k best, best first; `scores_of_found`: the exact scores of `found_ids`."""
    exact = np.asarray(exact_scores)[np.isfinite(exact_scores)]
    if len(exact) == 0:
        return 1.0
    # The tolerance is relative, except near zero, where large terms add up to a small score. All vectors here with
    # negative values have length 1, so 1 bounds those terms.
    floor = exact[-1] - 1e-6 * max(1.0, abs(exact[-1]))
    return min(1.0, sum(s >= floor for s in scores_of_found[:len(found_ids)]) / len(exact))
