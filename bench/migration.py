#!/usr/bin/env python3
"""Measures a change of the embedding model (docs/migration.md) with a running server, beside its bars.

    quiver serve --data-dir DIR &
    bench/migration.py --old OLD.npy --new NEW.npy --queries QUERIES.npy

OLD and NEW: the same things, row by row, by the old and the new model; QUERIES: by the new one. Rows `[n, dim]`, Cosine. At each share of
rows that have their new vectors, the others get estimates by a job; then a query is answered from both fields at once. Truth: exact search
over all new vectors.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from joins import Collection  # noqa: E402

K = 10
SHARES = (.05, .2, .5, 1)
BARS = {.05: .6, .5: .8, 1: 1}
PER_REQUEST = 500


def unit(rows):
    rows = rows.astype("f4")
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def truth_of(rows, queries):
    return [set(np.argpartition(-row, K)[:K].tolist()) for row in queries @ rows.T]


def write(server, field, ids, rows):
    for first in range(0, len(ids), PER_REQUEST):
        part = ids[first:first + PER_REQUEST]
        points = [{"id": int(i), "vector": {field: rows[i].tolist()}} for i in part]
        server("PUT", "/collections/{}/points/vectors?wait=true", {"points": points})


def create(server, old, new):
    fields = {"old": old.shape[1], "new": new.shape[1], "estimated": new.shape[1]}
    server("PUT", "/collections/{}", {"vectors": {name: {"size": size, "distance": "Cosine", "datatype": "float16"}
                                                  for name, size in fields.items()}})
    for first in range(0, len(old), PER_REQUEST):
        points = [{"id": i, "vector": {"old": old[i].tolist()}} for i in range(first, min(first + PER_REQUEST, len(old)))]
        server("PUT", "/collections/{}/points?wait=true", {"points": points})


def both_fields(query, limit, exact, weight):
    """The new vectors, and estimates of points that have none yet."""
    search = {"query": query.tolist(), "limit": limit, "params": {"exact": exact}}
    return {"prefetch": [search | {"using": "new"},
                         search | {"using": "estimated", "filter": {"must_not": [{"has_vector": "new"}]}}],
            "query": {"linear": {"weights": [1, weight], "normalize": "none", "missing": "zero"}}, "limit": limit}


def recall(server, queries, truth, body_of):
    found = 0
    for first in range(0, len(queries), 50):
        batch = {"searches": [body_of(query) for query in queries[first:first + 50]]}
        answers = server("POST", "/collections/{}/points/query/batch", batch)
        found += sum(len(wanted & {point["id"] for point in answer["points"]})
                     for answer, wanted in zip(answers, truth[first:first + 50]))
    return found / (K * len(queries))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--old-queries", help="the same queries by the old model: what the old field finds")
    parser.add_argument("--n-queries", type=int, default=500)
    parser.add_argument("--anchors", type=int, default=4096)
    parser.add_argument("--url", default="http://localhost:6333")
    parser.add_argument("--collection", default="migration")
    args = parser.parse_args()
    old, new = unit(np.load(args.old)), unit(np.load(args.new))
    queries = unit(np.load(args.queries))[:args.n_queries]
    truth = truth_of(new, queries)
    server = Collection(args.url, args.collection)
    create(server, old, new)
    if args.old_queries:
        asked = unit(np.load(args.old_queries))[:args.n_queries]
        print(f"the old model's own queries in the old field: recall {recall(server, asked, truth, lambda q: {'query': q.tolist(), 'using': 'old', 'limit': K, 'params': {'exact': True}}):.3f}")
    order = np.random.default_rng(1).permutation(len(new))
    n_done = 0
    for share in SHARES:
        n = round(share * len(new))
        write(server, "new", order[n_done:n], new)
        n_done = n
        cpu, begun = server.cpu_s(), time.monotonic()
        status = server.wait(server.start({"translate": {"using": "old", "to": "new", "into": "estimated",
                                                         "anchors": args.anchors}}))
        seconds, cpu = time.monotonic() - begun, server.cpu_s() - cpu
        facts = status["translation"]
        weight = facts.get("weight", 1)
        alone = recall(server, queries, truth, lambda q: {"query": q.tolist(), "using": "new", "limit": K})
        exact = recall(server, queries, truth, lambda q: both_fields(q, K, True, weight))
        usual = recall(server, queries, truth, lambda q: both_fields(q, K, False, weight))
        print(f"{share:4.0%}: recall {usual:.3f} (exact searches {exact:.3f}, the new field alone {alone:.3f}, {usual / alone:.1f} times it; bar "
              f"{BARS.get(share, 'none')}); {status['points']} estimates in {seconds:.1f} s, {cpu:.1f} s of CPU; the job's own recall "
              f"{facts.get('recall', 0):.3f}, r2 {facts.get('r2', 0):.3f}, weight {weight:.3f}", flush=True)


if __name__ == "__main__":
    main()
