"""Rows and queries of a set in the form of the adapters, its ground truth, and the recall of returned ids."""
import dataclasses
import hashlib
import itertools
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import datasets  # noqa: E402
from ragged import Ragged, best_documents, maxsim  # noqa: E402

PARTS = {"sparse": ("indptr", "indices", "values"), "multi": ("indptr", "values")}
MARGIN = 32  # candidates beyond k, scored again in f64
BLOCK = 1 << 14   # rows scored at once, against all queries


class Csr:
    """Sparse rows: indices ascending within a row."""

    def __init__(self, indptr, indices, values, dim=None):
        self.indptr = np.asarray(indptr, np.int64)
        self.indices = np.asarray(indices, np.int32)
        self.values = np.asarray(values, np.float32)
        self.dim = dim or int(self.indices.max(initial=-1)) + 1

    def __len__(self):
        return len(self.indptr) - 1

    def __getitem__(self, row):
        part = slice(self.indptr[row], self.indptr[row + 1])
        return self.indices[part], self.values[part]

    def part(self, first, end):
        """Rows first to end - 1."""
        ends = self.indptr[first:end + 1]
        part = slice(ends[0], ends[-1])
        return Csr(ends - ends[0], self.indices[part], self.values[part])


class Data:
    """A data set named by its files. Only names are sent to other processes; each reads the arrays itself."""

    def __init__(self, name, files):
        self.name, self.files = name, files
        self.kind, self.metric = files.kind, files.metric
        self.held = {}

    def __getstate__(self):
        return self.__dict__ | {"held": {}}

    def first(self, n):
        """Returns the first n rows as a set of its own, without ground truth."""
        folder, _, kind = self.name.partition("/")
        return Data(f"{folder}-{n}/{kind}", dataclasses.replace(self.files, rows=n, truth=None))

    def paths(self, which):
        path = self.files.base if which == "base" else self.files.queries
        if self.kind == "dense":
            return [path]
        return [datasets.existing(path.with_name(f"{path.name}.{part}.npy")) for part in PARTS[self.kind]]

    def raw(self, which):
        """Returns the stored form: an array (memory-mapped if not compressed), a Csr or a Ragged."""
        if which not in self.held:
            arrays = [datasets.load(p) for p in self.paths(which)]
            whole = {"dense": np.asarray, "sparse": Csr, "multi": Ragged}[self.kind](*arrays)
            self.held[which] = self.cut(whole) if which == "base" and self.files.rows else whole
        return self.held[which]

    def cut(self, rows):
        return rows[:self.files.rows] if self.kind == "dense" else rows.part(0, self.files.rows)

    def rows(self):
        """f32 [n, dim], of unit length for cosine; or a Csr or a Ragged."""
        return self.floats(self.raw("base"))

    def queries(self):
        return self.floats(self.raw("queries"))

    def floats(self, raw):
        if self.kind != "dense":
            return raw
        vectors = np.ascontiguousarray(raw, np.float32)
        if self.metric == "cosine":
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
        return vectors

    def release(self):
        """Forgets the rows."""
        self.held.pop("base", None)

    @property
    def dim(self):
        if self.kind == "dense":
            return self.raw("base").shape[1]
        return max(self.raw("base").dim, self.raw("queries").dim)

    def __len__(self):
        return len(self.raw("base"))

    def row_bytes(self):
        """Bytes of all exact rows in f32, with 4-byte indices if sparse, and 8-byte offsets."""
        if self.kind == "dense":
            return 4 * len(self) * self.dim
        if self.kind == "multi":
            return 4 * self.raw("base").values.size + 8 * len(self)
        return 8 * len(self.raw("base").indices) + 8 * len(self)

    def identity(self, *which):
        """Digest of the files of `which` (default: the rows) and of how they are processed."""
        digest = hashlib.sha1(f"{self.kind} {self.metric}{self.files.rows or ''}".encode())
        for path in itertools.chain(*map(self.paths, which or ("base",))):
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha1").digest())
        return digest.hexdigest()[:16]


def length(vectors):
    """Length of a vector, or of each row of a matrix, in f64."""
    return np.linalg.norm(np.asarray(vectors, np.float64), axis=-1)


class Scorer:
    """Exact scores, larger is better: f64 sums over the stored values; euclid: minus the squared distance."""

    def __init__(self, data):
        self.data = data
        self.queries = data.queries()
        self.wide = np.zeros(data.dim, np.float64) if data.kind == "sparse" else None

    def __call__(self, query, ids):
        ids = np.asarray(ids, np.int64)
        if self.data.kind == "sparse":
            return self.sparse(query, ids)
        if self.data.kind == "multi":
            documents = self.data.raw("base").picked(ids)
            return maxsim(self.queries.part(query, query + 1), documents, np.float64)[0]
        rows = self.data.floats(self.data.raw("base")[ids]).astype(np.float64)
        wanted = self.queries[query].astype(np.float64)
        if self.data.metric == "euclid":
            return -((rows - wanted) ** 2).sum(1)
        return rows @ wanted

    def term_size(self, query, ids):
        """Upper bound of the sum of |terms| in the score of one of `ids`: the product of the lengths; for token vectors, summed
over the query's tokens. 0 for distances, whose terms have one sign."""
        if self.data.metric == "euclid":
            return 0.0
        rows = self.data.raw("base")
        if self.data.kind == "sparse":
            return float(length(self.queries[query][1]) * max(length(rows[int(j)][1]) for j in ids))
        if self.data.kind == "multi":
            return float(length(self.queries[query]).sum() * length(rows.picked(ids).floats()).max(initial=0))
        return float(length(self.queries[query]) * length(self.data.floats(rows[ids])).max())

    def sparse(self, query, ids):
        indices, values = self.queries[query]
        self.wide[indices] = values
        rows = self.data.raw("base")
        scores = np.array([self.wide[i] @ v.astype(np.float64) for i, v in (rows[int(j)] for j in ids)])
        self.wide[indices] = 0
        return scores


class Truth:
    """The k-th best exact score of each query in `rows`, and the recall by it: docs/benchmarks.md, "recall@k"."""

    def __init__(self, data, rows, k, given=None, cache=None):
        """Uses the `given` ids of the best rows of all queries, or computes them and stores them below `cache`."""
        self.rows, self.k = rows, min(k, len(data))
        self.scorer = Scorer(data)
        found = given[rows.start:rows.stop] if given is not None else kept_candidates(data, rows, self.k + MARGIN, cache)
        found = [np.asarray(ids, np.int64) for ids in found]
        self.kth = [np.sort(self.scorer(q, ids))[::-1][self.k - 1] for q, ids in zip(rows, found)]
        self.slack = [1e-6 * max(abs(kth), self.scorer.term_size(q, ids))
                      for q, ids, kth in zip(rows, found, self.kth)]

    def recall(self, found):
        """Takes one list of ids per query. Returns the mean, the 5th percentile, the number of short lists and the number of lists
that beat the truth (0 if the truth is correct)."""
        shares, short, better = [], 0, 0
        for query, kth, slack, ids in zip(self.rows, self.kth, self.slack, found):
            ids = np.unique(np.asarray(ids, np.int64)[:self.k])
            ids = ids[ids >= 0]
            scores = self.scorer(query, ids)
            shares.append(min(1.0, float((scores >= kth - slack).sum()) / self.k))
            short += len(ids) < self.k
            better += len(ids) == self.k and scores.min() > kth + slack
        fifth = sorted(shares)[max(int(np.ceil(0.05 * len(shares))), 1) - 1]
        return {"recall": float(np.mean(shares)), "recall_p5": fifth, "short": int(short), "better_than_truth": int(better)}


def kept_candidates(data, queries, n, cache):
    if cache is None:
        return candidates(data, queries, n)
    path = cache / data.identity("base", "queries") / f"best-{n}-of-{queries.start}-{queries.stop}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.array(list(candidates(data, queries, n)), np.int32))
    return np.load(path)


def candidates(data, queries, n):
    """Returns the ids of the best n rows per query, by f32 scores. `queries` are numbers of queries."""
    n = min(n, len(data))
    if data.kind == "sparse":
        return sparse_candidates(data, queries, n)
    if data.kind == "multi":
        return best_documents(data.queries().picked(queries), data.raw("base"), n)
    wanted = data.queries()[list(queries)]
    best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(wanted)
    for first in range(0, len(data), BLOCK):
        rows = data.floats(data.raw("base")[first:first + BLOCK])
        scores = wanted @ rows.T
        if data.metric == "euclid":
            scores = 2 * scores - (rows ** 2).sum(1)
        best = [merge(ids, kept, first, found, n) for (ids, kept), found in zip(best, scores)]
    return [ids for ids, _ in best]


def merge(ids, kept, first, found, n):
    ids = np.concatenate([ids, np.arange(first, first + len(found))])
    scores = np.concatenate([kept, found])
    if len(scores) > n:
        chosen = np.argpartition(-scores, n - 1)[:n]
        return ids[chosen], scores[chosen]
    return ids, scores


def sparse_candidates(data, queries, n):
    rows, wanted = data.raw("base"), data.raw("queries")
    order = np.argsort(rows.indices, kind="stable")
    owner = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(rows.indptr))[order]
    values = rows.values[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=data.dim))])
    for query in queries:
        scores = np.zeros(len(rows))
        for index, value in zip(*wanted[query]):
            part = slice(ends[index], ends[index + 1])
            scores[owner[part]] += value * values[part]  # an index occurs at most once per row
        yield np.argpartition(-scores, n - 1)[:n] if n < len(rows) else np.arange(len(rows))


def find(where):
    """Returns the dense, sparse and multi sets of a folder laid out as for `bench/datasets.py`, or the set of that name."""
    folder = Path(where)
    if not folder.is_dir():
        known = datasets.catalog()
        if where not in known:
            raise SystemExit(f"no folder and no data set `{where}`; one of {', '.join(known)}")
        return [Data(where, known[where].files(datasets.Options()))]
    found = [Data(f"{folder.resolve().name}/{name}", files(datasets.Options()))
             for name, files in datasets.sets_of(folder).items()]
    if not found:
        raise SystemExit(f"{folder}: found neither dense.npy and queries.dense.npy, sparse.*.npy and queries.sparse.*.npy, "
                         "nor tokens.*npy and query_tokens.*npy")
    return found
