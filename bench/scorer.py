#!/usr/bin/env python3
"""Measures search by a black-box scorer (docs/scorers.md) with a server of its own, beside re-ranking as many of the nearest rows.

    bench/scorer.py D --out table.md            D: …/arxiv-100k

The scorers are cheap and told nothing of, so that the truth is exact:

    mixed    .5 * sparse + .5 * dense similarity, as they are: words count most
    even     the same, each divided by its largest score of the query
    linear   dense similarity + a product with a random vector
    noise    random numbers: nothing to be learned, so both find equally little

With --tokens a folder of token vectors (make_tokens.py) of the first rows: their MaxSim, over these rows alone.
With --anchors N every row is scored by the first N queries, too. Up to 64 factors of these scores stand beside the dense vector in a
field of their own, which is the basis then. With --feedback also Qdrant's way: some of the nearest rows are scored, and one query with
`relevance_feedback` finds the others; number of rows and weights are the best on the 30 queries before the reported ones.
Reported are the mean errors 1 - recall of the best k after B calls of the scorer.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets  # noqa: E402
from served import BINARY, Server, import_vectors  # noqa: E402

BUDGETS = (50, 100, 200, 500)
PLACES = (1, 10, 100)
ROUNDS = 8
# Settings of `feedback` that are tried.
FEEDBACK_SHARES = (.1, .25, .5)
FEEDBACK_POWERS = (.5, 1, 2)
FEEDBACK_FACTORS = (.0001, .001, .01, .1, 1, 10)
TRAINED = 30


def load(path):
    """Returns an array; the file may be compressed."""
    return datasets.load(datasets.existing(path) or path)


class Proposer(Server):
    """A server with the fields of `folder`; row i is point i."""

    def __init__(self, folder, fields):
        import_vectors(BINARY, f"{folder}/data", "rows", [f"{field}={folder}/{field}.npy" for field in fields], [f"{field}=dot" for field in fields])
        super().__init__(BINARY, f"{folder}/data")
        self.wait_until_green("rows")
        self.cpu = {}

    def propose(self, body):
        began = self.cpu_s()
        found = self("POST", "/v1/collections/rows/points/propose", body)
        self.cpu.setdefault(len(body["scored"]), []).append(self.cpu_s() - began)
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


class Scorers:
    """Scores of all rows by the number of a query."""

    def __init__(self, arguments):
        self.tokens = token_scores(arguments.tokens) if arguments.tokens else None
        self.sparse = None if self.tokens else sparse_scores(arguments.folder)
        self.queries = load(arguments.folder / "queries.dense.npy").astype(np.float32)
        self.dense = load(arguments.folder / "dense.npy").astype(np.float32)
        if self.tokens:
            self.dense = self.dense[:len(self.tokens(0))]
        known = ["maxsim"] if self.tokens else ["mixed", "even", "linear", "noise"]
        self.names = [name for name in known if name in arguments.scorers.split(",")]

    def near(self, number):
        return self.dense @ self.queries[number]

    def scores(self, number):
        """Returns {name: scores of all rows}."""
        if self.tokens:
            return {"maxsim": self.tokens(number)}
        near, words, random = self.near(number), self.sparse(number), np.random.default_rng(number)
        found = {"mixed": .5 * words + .5 * near,
                 "even": .5 * words / words.max() + .5 * near / near.max(),
                 "linear": near + self.dense @ (random.standard_normal(self.dense.shape[1]).astype(np.float32) / 20),
                 "noise": random.standard_normal(len(near)).astype(np.float32)}
        return {name: found[name] for name in self.names}


def unit(rows):
    """Scales rows so that their mean square is 1."""
    return rows / np.sqrt((rows ** 2).sum(axis=1).mean())


def factors(scores, size):
    """Returns `[n_rows, size]` of the scores `[n_anchors, n_rows]`: the directions in which rows differ most for the scorer."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    return centred.T @ vectors[:, np.argsort(-values)[:size]]


def save_fields(folder, scorers, anchors, size):
    """Writes the vectors of each field and returns {scorer: its basis}."""
    np.save(folder / "dense.npy", scorers.dense)
    basis = dict.fromkeys(scorers.names, "dense")
    if anchors:
        scored = [scorers.scores(number) for number in range(anchors)]
        for name in scorers.names:
            own = factors(np.stack([scores[name] for scores in scored]), size)
            np.save(folder / f"{name}.npy", np.concatenate([unit(scorers.dense), unit(own)], axis=1, dtype=np.float32))
            basis[name] = name
    return basis


def proposed(server, basis, scores, query, budget, arguments):
    """Returns the points that were scored."""
    scored, size = {}, max(5, budget // arguments.rounds)
    while len(scored) < budget:
        n = min(size, budget - len(scored))
        is_last = len(scored) + n >= budget
        body = {"basis": basis, "query": query.tolist(), "n": n, "explore": 0 if is_last else arguments.explore,
                "scored": [{"id": int(row), "score": float(score)} for row, score in scored.items()]}
        answer = server.propose(body)
        new = [int(point["id"]) for point in answer["propose"]]
        if not new:
            break
        scored.update((row, scores[row]) for row in new)
    return np.fromiter(scored, np.int64)


def feedback(server, scores, query, budget, setting):
    """Returns the points that were scored: the nearest, and those that one query with feedback finds."""
    share, weights = setting
    n_first = max(2, int(share * budget))
    path = "/collections/rows/points/query"
    found = server("POST", path, {"query": query.tolist(), "using": "dense", "limit": n_first})["points"]
    first = [point["id"] for point in found]
    examples = [{"example": row, "score": float(scores[row])} for row in first]
    body = {"query": {"relevance_feedback": {"target": query.tolist(), "feedback": examples, "strategy": {"naive": weights}}},
            "using": "dense", "limit": budget - n_first, "filter": {"must_not": [{"has_id": first}]}}
    return np.array(first + [point["id"] for point in server("POST", path, body)["points"]], np.int64)


def trained_feedback(server, scorers, name, budget, numbers):
    """The setting of `feedback` with the least error of the best 10."""
    known = {number: scorers.scores(number)[name] for number in numbers}

    def error(setting):
        total = 0
        for number, scores in known.items():
            best = np.argsort(-scores, kind="stable")[:10]
            total += 1 - recall(feedback(server, scores, scorers.queries[number], budget, setting), scores, best, 10)
        return total
    settings = [(share, {"a": 1, "b": b, "c": c}) for share in FEEDBACK_SHARES for b in FEEDBACK_POWERS for c in FEEDBACK_FACTORS]
    return min(settings, key=error)


def recall(rows, scores, best, k):
    top = rows[np.argsort(-scores[rows], kind="stable")[:k]]
    return len(np.intersect1d(top, best[:k])) / k


def measure(server, scorers, basis, arguments):
    """Returns {(scorer, calls, k): [errors of re-ranking, of proposals, and of feedback if asked for]}."""
    first, last = map(int, arguments.queries.split(":"))
    budgets = list(map(int, arguments.budgets.split(",")))
    trained = {(name, budget): trained_feedback(server, scorers, name, budget, range(first - TRAINED, first))
               for name in scorers.names for budget in budgets if arguments.feedback}
    errors = {}
    for number in range(first, last):
        near, query = scorers.near(number), scorers.queries[number]
        order = np.argsort(-near, kind="stable")
        for name, scores in scorers.scores(number).items():
            of_basis = query if basis[name] == "dense" else np.pad(query, (0, min(arguments.anchors, arguments.factors)))
            best = np.argsort(-scores, kind="stable")[:max(PLACES)]
            for budget in budgets:
                found = [order[:budget], proposed(server, basis[name], scores, of_basis, budget, arguments)]
                if arguments.feedback:
                    found.append(feedback(server, scores, query, budget, trained[name, budget]))
                for k in (k for k in PLACES if k <= budget):
                    errors.setdefault((name, budget, k), []).append([1 - recall(rows, scores, best, k) for rows in found])
    return errors


def table(errors, with_feedback):
    ends = (" | feedback | ratio", "|---|---") if with_feedback else ("", "")
    lines = [f"| scorer | calls | k | error of re-ranking | proposed | ratio{ends[0]} |", f"|---|---|---|---|---|---{ends[1]}|"]
    for (name, budget, k), cells in errors.items():
        reranked, *others = np.mean(cells, axis=0)
        shown = [f"{other:.3f} | {other / reranked:.2f}" if reranked > 0 else f"{other:.3f} | –" for other in others]
        lines.append(f"| {name} | {budget} | {k} | {reranked:.3f} | {' | '.join(shown)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", default="1000:1100", help="rows of the queries that are reported")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--explore", type=float, default=.3)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--scorers", default="mixed,even,linear,noise,maxsim")
    parser.add_argument("--tokens", type=Path)
    parser.add_argument("--anchors", type=int, default=0, help="queries, from the first one, that score every row beforehand")
    parser.add_argument("--factors", type=int, default=64)
    parser.add_argument("--feedback", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.anchors > int(arguments.queries.split(":")[0]):
        parser.error("anchors are not among the queries that are reported")
    scorers = Scorers(arguments)
    with tempfile.TemporaryDirectory() as folder:
        basis = save_fields(Path(folder), scorers, arguments.anchors, arguments.factors)
        with Proposer(folder, sorted({"dense", *basis.values()})) as server:
            errors = measure(server, scorers, basis, arguments)
            lines = table(errors, arguments.feedback)
            lines += ["", "| scored before | ms of the server's CPU a round, median | p95 |", "|---|---|---|"]
            for size, seconds in sorted(server.cpu.items()):
                lines.append(f"| {size} | {1e3 * np.median(seconds):.2f} | {1e3 * np.quantile(seconds, .95):.2f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
