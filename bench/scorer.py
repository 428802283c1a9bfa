#!/usr/bin/env python3
"""Measures search by a black-box scorer (docs/scorers.md) with a running server, beside re-ranking as many of the nearest rows.

    quiver import --vectors dense=$D/dense.npy --vectors sparse:sparse=$D/sparse --data-dir DIR --collection arxiv --create \\
        --metric dot
    quiver serve --data-dir DIR &
    bench/scorer.py $D --collection arxiv --out table.md         D: …/arxiv-100k

Row i of the folder is point i. The scorers are cheap and told nothing of, so that the truth is exact:

    mixed    .5 * sparse + .5 * dense similarity, as they are: words count most
    even     the same, each divided by its largest score of the query
    linear   dense similarity + a product with a random vector
    noise    random numbers: nothing to be learned, so both find equally little

With --tokens a folder of token vectors (make_tokens.py) of the first rows: their MaxSim, over these rows alone.
Reported are the mean errors 1 - recall of the best k after B calls of the scorer.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets  # noqa: E402
from served import Connection  # noqa: E402

BUDGETS = (50, 100, 200, 500)
PLACES = (1, 10, 100)
ROUNDS = 8


def load(path):
    """Returns an array; the file may be compressed."""
    compressed = path.with_name(path.name + ".zst")
    return datasets.load(compressed if compressed.exists() and not path.exists() else path)


class Proposer:
    def __init__(self, url, collection):
        self.connection = Connection(url)
        self.path = f"/v1/collections/{collection}/points/propose"
        self.seconds = {}

    def propose(self, body):
        started = time.perf_counter()
        found = self.connection("POST", self.path, body)
        size = len(body["scored"])
        self.seconds.setdefault(size, []).append(time.perf_counter() - started)
        return found


def sparse_scores(folder):
    """Returns a function from a query's number to the sparse scores of all rows."""
    from scipy.sparse import csr_matrix
    starts = load(folder / "sparse.indptr.npy").astype(np.int64)
    entries = load(folder / "sparse.values.npy").astype(np.float32), load(folder / "sparse.indices.npy").astype(np.int32)
    rows = csr_matrix((*entries, starts), shape=(len(starts) - 1, 30522)).tocsc()
    indptr, indices, values = (load(folder / f"queries.sparse.{part}.npy") for part in ("indptr", "indices", "values"))

    def scores(query):
        total = np.zeros(rows.shape[0], np.float32)
        for at in range(int(indptr[query]), int(indptr[query + 1])):
            column = slice(*rows.indptr[int(indices[at]):int(indices[at]) + 2])
            total[rows.indices[column]] += rows.data[column] * np.float32(values[at])
        return total
    return scores


def token_scores(folder):
    rows, starts = (load(folder / name) for name in ("tokens.npy", "tokens.indptr.npy"))
    queries, places = (load(folder / name) for name in ("query_tokens.npy", "query_tokens.indptr.npy"))
    rows, queries, starts = rows.astype(np.float32), queries.astype(np.float32), starts.astype(np.int64)

    def scores(query):
        tokens = queries[places[query]:places[query + 1]]
        return np.maximum.reduceat(rows @ tokens.T, starts[:-1], axis=0).sum(axis=1)
    return scores


def scorers(arguments, dense, query, sparse, tokens, number):
    near = dense @ query
    if tokens is not None:
        yield "maxsim", tokens(number), near
        return
    words, random = sparse(number), np.random.default_rng(number)
    yield "mixed", .5 * words + .5 * near, near
    yield "even", .5 * words / words.max() + .5 * near / near.max(), near
    yield "linear", near + dense @ (random.standard_normal(dense.shape[1]).astype(np.float32) / 20), near
    yield "noise", random.standard_normal(len(dense)).astype(np.float32), near


def proposed(server, scores, query, budget, arguments, extra):
    """Returns the points that were scored."""
    scored, size = {}, max(5, budget // arguments.rounds)
    while len(scored) < budget:
        n = min(size, budget - len(scored))
        is_last = len(scored) + n >= budget
        body = {"basis": arguments.basis, "query": query.tolist(), "n": n, "explore": 0 if is_last else arguments.explore,
                "scored": [{"id": int(row), "score": float(score)} for row, score in scored.items()], **extra}
        answer = server.propose(body)
        new = [int(point["id"]) for point in answer["propose"]]
        if not new:
            break
        scored.update((row, scores[row]) for row in new)
    return np.fromiter(scored, np.int64)


def recall(rows, scores, best, k):
    top = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return len(np.intersect1d(top, best[:k])) / k


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="arxiv")
    parser.add_argument("--basis", default="dense")
    parser.add_argument("--queries", default="1000:1100", help="rows of the queries; the report is made of 1000:2000")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--explore", type=float, default=.3)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--scorers", default="mixed,even,linear,noise,maxsim")
    parser.add_argument("--tokens", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()

    first, last = map(int, arguments.queries.split(":"))
    dense = load(arguments.folder / "dense.npy").astype(np.float32)
    queries = load(arguments.folder / "queries.dense.npy").astype(np.float32)
    tokens = token_scores(arguments.tokens) if arguments.tokens else None
    sparse = None if tokens else sparse_scores(arguments.folder)
    if tokens is not None:
        dense = dense[:len(tokens(first))]
    server = Proposer(arguments.url, arguments.collection)
    errors = {}
    for number in range(first, last):
        for name, scores, near in scorers(arguments, dense, queries[number], sparse, tokens, number):
            if name not in arguments.scorers.split(","):
                continue
            best, order = np.argsort(-scores, kind="stable")[:max(PLACES)], np.argsort(-near, kind="stable")
            for budget in map(int, arguments.budgets.split(",")):
                ours = proposed(server, scores, queries[number], budget, arguments, {})
                for k in (k for k in PLACES if k <= budget):
                    cell = errors.setdefault((name, budget, k), [])
                    cell.append((1 - recall(order[:budget], scores, best, k), 1 - recall(ours, scores, best, k)))
    lines = ["| scorer | calls | k | error of re-ranking | proposed | ratio |", "|---|---|---|---|---|---|"]
    for (name, budget, k), cell in errors.items():
        reranked, ours = np.mean(cell, axis=0)
        ratio = f"{ours / reranked:.2f}" if reranked > 0 else "–"
        lines.append(f"| {name} | {budget} | {k} | {reranked:.3f} | {ours:.3f} | {ratio} |")
    lines += ["", "| scored before | ms a round, median | p95 |", "|---|---|---|"]
    for size, seconds in sorted(server.seconds.items()):
        lines.append(f"| {size} | {1e3 * np.median(seconds):.2f} | {1e3 * np.quantile(seconds, .95):.2f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
