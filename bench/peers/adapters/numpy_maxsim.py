"""NumPy: exhaustive late interaction in a few lines of Python: BLAS products over blocks of tokens, the maxima of each
document, their sum."""
import numpy as np

from peer import Peer
from ragged import reduced

BLOCK_DOCUMENTS = 256


class NumpyMaxSim(Peer):
    package = "numpy"
    kinds = ("multi",)
    exact = True
    load = None  # building is faster than reading

    def __init__(self, rows):
        self.counts = rows.counts()
        self.tokens = rows.floats()
        self.blocks = [self.block(rows, first) for first in range(0, len(rows), BLOCK_DOCUMENTS)]

    def block(self, rows, first):
        end = min(first + BLOCK_DOCUMENTS, len(rows))
        return self.tokens[rows.indptr[first]:rows.indptr[end]].T, self.counts[first:end]

    @classmethod
    def name(cls):
        return "numpy MaxSim"

    @classmethod
    def build(cls, data, parameters):
        return cls(data.rows())

    def bytes(self):
        return 0, self.tokens.nbytes + self.counts.nbytes

    def search(self, query, k):
        scores = np.concatenate([reduced(np.maximum, query @ tokens, counts, 1, -np.inf).sum(0)
                                 for tokens, counts in self.blocks])
        return best(scores, k)


def best(scores, k):
    if len(scores) <= k:
        return np.argsort(-scores)
    chosen = np.argpartition(-scores, k - 1)[:k]
    return chosen[np.argsort(-scores[chosen])]


PEERS = [NumpyMaxSim]
