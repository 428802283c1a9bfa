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


class Hnsw(Faiss):
    builds = [{"M": 32, "efConstruction": 200}, {"M": 16, "efConstruction": 200}]
    sweep = {"efSearch": (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)}

    @classmethod
    def name(cls):
        return "faiss HNSW"

    @classmethod
    def build(cls, data, parameters):
        index = library().IndexHNSWFlat(data.dim, parameters["M"], cls.metric(data))
        index.hnsw.efConstruction = parameters["efConstruction"]
        index.add(data.rows())
        return cls(index)

    def bytes(self):
        return self.index_bytes() - self.rows_bytes(), self.rows_bytes()

    def use(self, search):
        self.parameters = self.faiss.SearchParametersHNSW(efSearch=search["efSearch"])


class IvfPqFastScan(Faiss):
    """4-bit product codes of two (or four) dimensions each, scanned 32 at a time, then exact rows for k * k_factor."""
    builds = [{"dims_per_code": 2}, {"dims_per_code": 4}]
    sweep = {"nprobe": (4, 8, 16, 32, 64, 128), "k_factor": (4, 8, 16, 32)}
    LEAST_TRAINING = 39  # rows per centroid below which FAISS warns

    @classmethod
    def name(cls):
        return "faiss IVF-PQ-FastScan"

    @classmethod
    def build(cls, data, parameters):
        faiss = library()
        rows = data.rows()
        n_lists = 1 << int(np.log2(min(4 * len(rows) ** 0.5, len(rows) / cls.LEAST_TRAINING)))
        description = f"IVF{n_lists},PQ{data.dim // parameters['dims_per_code']}x4fs,RFlat"
        index = faiss.index_factory(data.dim, description, cls.metric(data))
        index.train(rows)
        index.add(rows)
        return cls(index)

    def bytes(self):
        return self.index_bytes() - self.rows_bytes(), self.rows_bytes()

    def use(self, search):
        self.probing = self.faiss.IVFSearchParameters(nprobe=search["nprobe"])
        self.parameters = self.faiss.IndexRefineSearchParameters(k_factor=search["k_factor"],
                                                                 base_index_params=self.probing)


PEERS = [Flat, Hnsw, IvfPqFastScan]
