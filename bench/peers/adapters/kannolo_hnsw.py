"""kANNolo (Delfino et al. 2025), in Rust: the graph of HNSW over sparse rows, and over RaBitQ codes of dense ones.

Uses the order of rows that its authors recommend for speed ("permuted").
"""
import numpy as np

from peer import Peer

GRAPH = "permuted"
ENTRY_BYTES = 4   # entry of a stored row: u16 index, f16 value
OFFSET_BYTES = 8
DENSE_METRICS = {"dot": "dotproduct", "cosine": "dotproduct", "euclid": "euclidean"}
ENCODER = "rabitq-ext"
ROW_VALUE_BYTES = 2  # rows are stored as f16
CODE_STEP = 64


def padding(dim):
    return -dim % CODE_STEP


def padded(rows):
    return np.pad(rows, ((0, 0), (0, padding(rows.shape[1]))))


class Sparse(Peer):
    package = "kannolo"
    kinds = ("sparse",)
    builds = [{"m": 16, "ef_construction": 150}, {"m": 32, "ef_construction": 200}]
    sweep = {"ef_search": (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)}

    def __init__(self, index, data):
        self.index = index
        rows = data.raw("base")
        self.row_bytes = ENTRY_BYTES * len(rows.indices) + OFFSET_BYTES * (len(rows) + 1)

    @classmethod
    def name(cls):
        return "kannolo HNSW"

    @classmethod
    def build(cls, data, parameters):
        from kannolo import SparsePlainHNSW
        rows = data.rows()
        built = SparsePlainHNSW.build_from_arrays(rows.indices, rows.values, rows.indptr, graph_type=GRAPH, **parameters)
        return cls(built, data)

    def save(self, folder):
        self.index.save(str(folder / "index"))

    @classmethod
    def load(cls, folder, data, parameters):
        from kannolo import SparsePlainHNSW
        return cls(SparsePlainHNSW.load(str(folder / "index"), graph_type=GRAPH), data)

    def bytes(self):
        return max(self.index.space_usage_bytes() - self.row_bytes, 0), self.row_bytes

    def use(self, search):
        self.ef = search["ef_search"]

    def search(self, query, k):
        return self.index.search(query[0], query[1], k, self.ef, None)

    @staticmethod
    def ids_of(found):
        return found[1]


class Dense(Peer):
    """Codes of several bits in the graph, then rows in f16. Codes need a multiple of 64 dimensions, so rows are padded with zeros."""
    package = "kannolo"
    kinds = ("dense",)
    metrics = tuple(DENSE_METRICS)
    builds = [{"bits": 4, "m": 16, "ef_construction": 200}, {"bits": 2, "m": 16, "ef_construction": 200}]
    sweep = {"ef_search": (12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128), "candidates": (12, 16, 24, 32)}

    def __init__(self, index, data):
        self.index = index
        self.row_bytes = ROW_VALUE_BYTES * len(data) * (data.dim + padding(data.dim))

    @classmethod
    def name(cls):
        return "kannolo HNSW-RaBitQ"

    @classmethod
    def build(cls, data, parameters):
        from kannolo import DenseRerankHNSW
        graph = {key: parameters[key] for key in ("m", "ef_construction")}
        rows = padded(data.rows())
        built = DenseRerankHNSW.build_from_array(rows.ravel(), rows.shape[1], rabitq_total_bits=parameters["bits"],
                                                 **graph, **cls.form(data))
        return cls(built, data)

    @staticmethod
    def form(data):
        return {"metric": DENSE_METRICS[data.metric], "graph_type": GRAPH, "encoder": ENCODER}

    def save(self, folder):
        self.index.save(str(folder / "index"))

    @classmethod
    def load(cls, folder, data, parameters):
        from kannolo import DenseRerankHNSW
        return cls(DenseRerankHNSW.load(str(folder / "index"), **cls.form(data)), data)

    def bytes(self):
        return self.index.space_usage_bytes() - self.row_bytes, self.row_bytes

    def use(self, search):
        self.ef, self.candidates = search["ef_search"], min(search["candidates"], search["ef_search"])

    def query(self, queries, row):
        return padded(queries[row:row + 1])[0]

    def search(self, query, k):
        return self.index.search(query, k, max(self.candidates, k), self.ef)

    @staticmethod
    def ids_of(found):
        return found[1]


PEERS = [Sparse, Dense]
