"""FAISS (Douze et al. 2024): exact scan, HNSW, inverted lists of 4-bit product codes or RaBitQ codes with re-ranking, Panorama.

Calls bypass the Python wrapper (`search_c`) and use arrays allocated once: the wrapper's checks and allocations, about 10 us,
do not belong to the library.
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
        """Size of the file of `write_index`: FAISS keeps the same arrays in memory."""
        writer = self.faiss.VectorIOWriter()
        self.faiss.write_index(self.index, writer)
        return writer.data.size()


class Flat(Faiss):
    exact = True
    load = None  # building is faster than reading
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
    builds = [{"M": 32, "efConstruction": 200}]
    sweep = {"efSearch": (10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384)}

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


class Inverted(Faiss):
    """Inverted lists, codes scanned 32 at a time, then exact rows for the best k * k_factor."""
    calls = (1, 1000)  # queries of a batch share the scan of a list; its authors measure batches
    LEAST_TRAINING = 39  # rows per centroid below which FAISS warns

    @classmethod
    def list_count(cls, rows, parameters):
        wanted = parameters["lists_per_root"] * len(rows) ** 0.5
        return 1 << int(np.log2(min(wanted, len(rows) / cls.LEAST_TRAINING)))

    @classmethod
    def build(cls, data, parameters):
        faiss = library()
        rows = data.rows()
        n_lists = cls.list_count(rows, parameters)
        index = faiss.index_factory(data.dim, cls.description(data, n_lists, parameters), cls.metric(data))
        index.train(rows)
        index.add(rows)
        return cls(index)

    def bytes(self):
        return self.index_bytes() - self.rows_bytes(), self.rows_bytes()

    def use(self, search):
        self.probing = self.probes(search["nprobe"])
        self.parameters = self.faiss.IndexRefineSearchParameters(k_factor=search["k_factor"],
                                                                 base_index_params=self.probing)


class IvfPqFastScan(Inverted):
    """4-bit product codes of two or four dimensions each."""
    builds = [{"lists_per_root": 2, "dims_per_code": 2}, {"lists_per_root": 4, "dims_per_code": 2},
              {"lists_per_root": 1, "dims_per_code": 2}, {"lists_per_root": 4, "dims_per_code": 4}]
    sweep = {"nprobe": (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96), "k_factor": (2, 3, 4, 8)}

    @classmethod
    def name(cls):
        return "faiss IVF-PQ-FastScan"

    @staticmethod
    def description(data, n_lists, parameters):
        return f"IVF{n_lists},PQ{data.dim // parameters['dims_per_code']}x4fs,RFlat"

    def probes(self, n):
        return self.faiss.IVFSearchParameters(nprobe=n)


class IvfRaBitQFastScan(Inverted):
    """RaBitQ codes of randomly rotated rows."""
    builds = [{"lists_per_root": 2, "bits": 1}, {"lists_per_root": 4, "bits": 4}]
    sweep = {"nprobe": (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128), "k_factor": (2, 4, 8, 16)}

    @classmethod
    def name(cls):
        return "faiss IVF-RaBitQ-FastScan"

    @staticmethod
    def description(data, n_lists, parameters):
        bits = parameters["bits"] if parameters["bits"] > 1 else ""
        return f"RR{data.dim},IVF{n_lists},RaBitQfs{bits},RFlat"

    def probes(self, n):
        self.of_lists = self.faiss.IVFRaBitQSearchParameters(nprobe=n)
        return self.faiss.SearchParametersPreTransform(index_params=self.of_lists)


class IvfPanorama(Faiss):
    """Inverted lists of exact rows in levels of dimensions (Panorama, 2025): bounds end the sum of a row that cannot be found.

    The rows are rotated to their principal axes, without subtracting the mean, which inner products would not survive.
    """
    # A list is padded to whole batches. The default of 1,024 rows would pad lists of 100 rows tenfold.
    builds = [{"lists_per_root": 4, "levels": 8, "batch": 128}, {"lists_per_root": 2, "levels": 8, "batch": 128}]
    sweep = {"nprobe": (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96)}

    @classmethod
    def name(cls):
        return "faiss IVF-Panorama"

    @classmethod
    def build(cls, data, parameters):
        faiss = library()
        rows = data.rows()
        rotation = faiss.PCAMatrix(data.dim, data.dim)
        rotation.train(rows)
        rotation.have_bias = False
        n_lists = Inverted.list_count(rows, parameters)
        description = f"IVF{n_lists},FlatPanorama{parameters['levels']}_{parameters['batch']}"
        lists = faiss.index_factory(data.dim, description, cls.metric(data))
        index = faiss.IndexPreTransform(rotation, lists)
        rotated = rotation.apply(rows)
        lists.train(rotated)
        lists.add(rotated)
        index.is_trained, index.ntotal = True, lists.ntotal
        built = cls(index)
        built.parts = rotation, lists  # the index does not own them
        return built

    def bytes(self):
        return self.index_bytes() - self.rows_bytes(), self.rows_bytes()

    def use(self, search):
        self.of_lists = self.faiss.IVFSearchParameters(nprobe=search["nprobe"])
        self.parameters = self.faiss.SearchParametersPreTransform(index_params=self.of_lists)


PEERS = [Flat, Hnsw, IvfPqFastScan, IvfRaBitQFastScan, IvfPanorama]
