"""Token sets (late interaction): rows of several tokens. MaxSim: the sum over the query's tokens of the largest product with a
token of the document."""
import numpy as np

DOCUMENTS = 128  # compared at once: the products of a block stay in the caches
QUERIES = 32


class Ragged:
    """Row r is values[indptr[r]:indptr[r + 1]], [n_tokens, dim]; values as stored, often memory-mapped f16."""

    def __init__(self, indptr, values):
        self.indptr = np.asarray(indptr, np.int64)
        self.values = values
        self.dim = values.shape[1]

    def __len__(self):
        return len(self.indptr) - 1

    def __getitem__(self, row):
        return np.asarray(self.values[self.indptr[row]:self.indptr[row + 1]], np.float32)

    def counts(self):
        return np.diff(self.indptr)

    def part(self, first, end):
        """Rows first to end - 1."""
        ends = self.indptr[first:end + 1]
        return Ragged(ends - ends[0], self.values[ends[0]:ends[-1]])

    def picked(self, rows):
        parts = [self.values[self.indptr[r]:self.indptr[r + 1]] for r in rows]
        counts = [len(p) for p in parts]
        values = np.concatenate(parts) if parts else self.values[:0]
        return Ragged(np.concatenate([[0], np.cumsum(counts)]), values)

    def floats(self, dtype=np.float32):
        """All tokens, [n_tokens, dim]."""
        return np.asarray(self.values, dtype)


def reduced(function, values, counts, axis, empty):
    """Applies `function` to runs of `counts` entries along `axis`; empty runs give `empty`."""
    held = np.asarray(counts) > 0
    shape = list(values.shape)
    shape[axis] = len(held)
    found = np.full(shape, empty, values.dtype)
    if held.any():
        starts = (np.cumsum(counts) - counts)[held]
        target = found.swapaxes(0, axis)
        target[held] = function.reduceat(values, starts, axis=axis).swapaxes(0, axis)
    return found


def maxsim(queries, documents, dtype=np.float32):
    """Returns scores [n_queries, n_documents]; minus infinity for documents without tokens."""
    products = queries.floats(dtype) @ documents.floats(dtype).T
    best = reduced(np.maximum, products, documents.counts(), 1, -np.inf)
    return reduced(np.add, best, queries.counts(), 0, 0)


def best_documents(queries, documents, n):
    """Returns ids [n_queries, n] of the best n documents by f32 scores, in any order. Works block by block, all queries at once."""
    n = min(n, len(documents))
    scores = np.full((len(queries), n), -np.inf, np.float32)
    ids = np.zeros((len(queries), n), np.int64)
    for first in range(0, len(documents), DOCUMENTS):
        block = documents.part(first, min(first + DOCUMENTS, len(documents)))
        block.values = block.floats()
        for q in range(0, len(queries), QUERIES):
            some = slice(q, min(q + QUERIES, len(queries)))
            found = maxsim(queries.part(some.start, some.stop), block)
            scores[some], ids[some] = merged(scores[some], ids[some], found, first, n)
    return ids


def merged(scores, ids, found, first, n):
    """Merges the kept ids with the found ones, which are numbered from `first`; returns the best n."""
    scores = np.concatenate([scores, found], 1)
    ids = np.concatenate([ids, np.broadcast_to(np.arange(first, first + found.shape[1]), found.shape)], 1)
    top = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    return np.take_along_axis(scores, top, 1), np.take_along_axis(ids, top, 1)
