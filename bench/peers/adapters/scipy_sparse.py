"""SciPy's compiled sparse products: exact search in a few lines of Python."""
import numpy as np

from peer import Peer


def best(scores, k):
    if len(scores) <= k:
        return np.argsort(-scores)
    chosen = np.argpartition(-scores, k - 1)[:k]
    return chosen[np.argsort(-scores[chosen])]


class Scipy(Peer):
    package = "scipy"
    kinds = ("sparse",)
    exact = True
    load = None  # building is faster than reading

    def __init__(self, matrix):
        self.matrix = matrix

    @staticmethod
    def rows(data):
        from scipy.sparse import csr_matrix
        rows = data.rows()
        return csr_matrix((rows.values, rows.indices, rows.indptr), shape=(len(rows), data.dim))

    def matrix_bytes(self):
        return self.matrix.data.nbytes + self.matrix.indices.nbytes + self.matrix.indptr.nbytes


class Rows(Scipy):
    """Rows times the dense query: reads every non-zero of every row."""

    def __init__(self, matrix):
        super().__init__(matrix)
        self.wide = np.zeros(matrix.shape[1], np.float32)

    @classmethod
    def name(cls):
        return "scipy rows"

    @classmethod
    def build(cls, data, parameters):
        return cls(cls.rows(data))

    def bytes(self):
        return 0, self.matrix_bytes()

    def search(self, query, k):
        indices, values = query
        self.wide[indices] = values
        scores = self.matrix @ self.wide
        self.wide[indices] = 0
        return best(scores, k)


class Inverted(Scipy):
    """The query times the transposed rows: reads only the lists of its indices."""

    @classmethod
    def name(cls):
        return "scipy inverted"

    @classmethod
    def build(cls, data, parameters):
        return cls(cls.rows(data).T.tocsr())

    def bytes(self):
        return self.matrix_bytes(), 0

    def query(self, queries, row):
        from scipy.sparse import csr_matrix
        indices, values = queries[row]
        return csr_matrix((values, indices, np.array([0, len(indices)])), shape=(1, self.matrix.shape[0]))

    def search(self, query, k):
        scores = query @ self.matrix
        return scores.indices[best(scores.data, k)]


PEERS = [Rows, Inverted]
