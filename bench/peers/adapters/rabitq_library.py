"""RaBitQ-Library by the authors of RaBitQ: SymphonyQG (Gou et al. 2025), and HNSW and inverted lists over RaBitQ codes.

SymphonyQG keeps exact rows and the 1-bit codes of a row's neighbours beside the row. Vectors of Cosine have unit length here.
"""
import numpy as np

from peer import Peer

METRICS = {"dot": "ip", "cosine": "ip", "euclid": "l2"}
EXACT_ROWS = 32  # as `nbits` of inverted lists: 1-bit codes, then rows in f32
FILE = "index"


def clustered(rows, n_clusters):
    """Returns the library's own centroids and each row's centroid."""
    import rabitqlib
    means = rabitqlib.QGKMeans if n_clusters > 256 else rabitqlib.RaBitQKMeans
    found = means(rows.shape[1], n_clusters, num_threads=1, final_assignment=rabitqlib.FinalAssignmentMode.Exact)
    found.train(rows)
    return found.centroids, found.assignments


class RaBitQ(Peer):
    package = "rabitqlib"
    kinds = ("dense",)
    metrics = tuple(METRICS)
    type_name = ""

    def __init__(self, index, row_bytes):
        self.index, self.row_bytes, self.file_bytes = index, row_bytes, 0

    @classmethod
    def isa(cls):
        return "chosen at run time, up to avx512"

    def save(self, folder):
        self.index.save(str(folder / FILE))
        self.file_bytes = (folder / FILE).stat().st_size

    @classmethod
    def load(cls, folder, data, parameters):
        import rabitqlib
        found = cls(getattr(rabitqlib, cls.type_name).load(str(folder / FILE)), cls.exact_bytes(data, parameters))
        found.file_bytes = (folder / FILE).stat().st_size
        return found

    @staticmethod
    def exact_bytes(data, parameters):
        """Bytes of the exact rows within the index."""
        return 0

    def bytes(self):
        return self.file_bytes - self.row_bytes, self.row_bytes

    def query(self, queries, row):
        return queries[row:row + 1]

    @staticmethod
    def ids_of(found):
        return np.ravel(found).astype(np.int64)


class SymphonyQg(RaBitQ):
    calls = (1, 1000)
    type_name = "SymqgIndex"
    builds = [{"degree": degree, "ef_construction": ef} for ef in (200, 400, 100) for degree in (32, 64)]
    sweep = {"ef": (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256,
                    320, 384, 448, 512, 640, 768)}

    @classmethod
    def name(cls):
        return "rabitqlib SymphonyQG"

    @classmethod
    def build(cls, data, parameters):
        import rabitqlib
        index = rabitqlib.SymqgIndex(data.dim, parameters["degree"], METRICS[data.metric])
        index.build(data.rows(), parameters["ef_construction"], 1)
        return cls(index, data.row_bytes())

    @staticmethod
    def exact_bytes(data, parameters):
        return data.row_bytes()

    def use(self, search):
        self.ef = search["ef"]

    def search(self, query, k):
        return self.index.search(query, k, max(self.ef, k))[0]

    def search_batch(self, queries, k):
        return self.index.search_batch(queries, k, max(self.ef, k))[0]


class HnswRaBitQ(RaBitQ):
    """Keeps no exact rows: the codes decide."""
    type_name = "HnswIndex"
    builds = [{"M": 16, "ef_construction": 200, "bits": 9}, {"M": 16, "ef_construction": 200, "bits": 7}]
    sweep = {"ef": (10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384)}
    CENTROIDS = 16  # from its examples

    @classmethod
    def name(cls):
        return "rabitqlib HNSW-RaBitQ"

    @classmethod
    def build(cls, data, parameters):
        import rabitqlib
        rows = data.rows()
        index = rabitqlib.HnswIndex(data.dim, len(rows), parameters["M"], parameters["ef_construction"], parameters["bits"],
                                    METRICS[data.metric])
        index.build(rows, *clustered(rows, cls.CENTROIDS), 1)
        return cls(index, 0)

    def use(self, search):
        self.ef = search["ef"]

    def search(self, query, k):
        return self.index.search(query, k, max(self.ef, k))[0]


class IvfRaBitQ(RaBitQ):
    type_name = "IvfIndex"
    builds = [{"lists_per_root": 4, "bits": EXACT_ROWS}, {"lists_per_root": 4, "bits": 7}, {"lists_per_root": 2, "bits": 9}]
    sweep = {"nprobe": (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192)}

    @classmethod
    def name(cls):
        return "rabitqlib IVF-RaBitQ"

    @classmethod
    def build(cls, data, parameters):
        import rabitqlib
        rows = data.rows()
        n_lists = max(int(parameters["lists_per_root"] * len(rows) ** 0.5), 1)
        index = rabitqlib.IvfIndex(data.dim, len(rows), n_lists, parameters["bits"], METRICS[data.metric])
        index.build(rows, *clustered(rows, n_lists), 1)
        return cls(index, cls.exact_bytes(data, parameters))

    @staticmethod
    def exact_bytes(data, parameters):
        return data.row_bytes() if parameters["bits"] == EXACT_ROWS else 0

    def use(self, search):
        self.n_probes = search["nprobe"]

    def search(self, query, k):
        return self.index.search(query, k, self.n_probes)[0]


PEERS = [SymphonyQg, HnswRaBitQ, IvfRaBitQ]
