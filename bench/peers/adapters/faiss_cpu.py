"""FAISS (Douze et al. 2024): exact scan, HNSW, and inverted lists of 4-bit product codes with re-ranking.

The calls go past the Python wrapper (`search_c`), into arrays that are allocated once: the wrapper's checks and
allocations, about 10 us, are no property of the library.
"""
import numpy as np

from peer import Peer

MAX_K = 1024


def library():
    import faiss
    faiss.omp_set_num_threads(1)
    return faiss


class Faiss(Peer):
    package = "faiss-cpu"
    kinds = ("dense",)
    metrics = ("dot", "cosine", "euclid")

    def __init__(self, index):
        self.faiss = library()
        self.index = index
        self.parameters = None
        self.ids = np.empty(MAX_K, np.int64)
        self.scores = np.empty(MAX_K, np.float32)
        self.ids_at = self.faiss.swig_ptr(self.ids)
        self.scores_at = self.faiss.swig_ptr(self.scores)

    @staticmethod
    def metric(data):
        faiss = library()
        return faiss.METRIC_L2 if data.metric == "euclid" else faiss.METRIC_INNER_PRODUCT

    @classmethod
    def isa(cls):
        return library().get_compile_options().strip()

    def save(self, folder):
        self.faiss.write_index(self.index, str(folder / "index"))

    @classmethod
    def load(cls, folder, data, parameters):
        return cls(library().read_index(str(folder / "index")))

    def query(self, queries, row):
        vector = np.ascontiguousarray(queries[row])
        return vector, self.faiss.swig_ptr(vector)

    def search(self, query, k):
        self.index.search_c(1, query[1], k, self.scores_at, self.ids_at, self.parameters)
        return self.ids[:k].copy()

    def search_batch(self, queries, k):
        return self.index.search(queries, k, params=self.parameters)[1]

    def rows_bytes(self):
        return 4 * self.index.ntotal * self.index.d

    def index_bytes(self):
        """What `write_index` would write: FAISS keeps the same arrays in memory."""
        writer = self.faiss.VectorIOWriter()
        self.faiss.write_index(self.index, writer)
        return writer.data.size()


class Flat(Faiss):
    exact = True
    load = None  # built faster than read
    batches = (8, 32)

    @classmethod
    def name(cls):
        return "faiss Flat"

    @classmethod
    def build(cls, data, parameters):
        index = library().IndexFlat(data.dim, cls.metric(data))
        index.add(data.rows())
        return cls(index)

    def bytes(self):
        return 0, self.rows_bytes()


PEERS = [Flat]
