"""Zvec: a collection of one vector field, its HNSW, HNSW over RaBitQ codes and inverted lists of RaBitQ codes.

Uses its fast path for dense queries, which bypasses the Python wrapper and returns internal ids; these are resolved afterwards.
"""
import shutil
import tempfile

import numpy as np

from peer import Peer

METRICS = {"dot": "IP", "cosine": "IP", "euclid": "L2"}
FIELD = "v"
INSERT = 1000
INDEX_FILE = ".qindex."
begun = False


def library():
    global begun
    import zvec
    if not begun:
        zvec.init(query_threads=1, optimize_threads=1, log_level=zvec.LogLevel.ERROR)
        begun = True
    return zvec


def written(zvec, folder, data, parameter):
    """Writes a collection of all rows and its index."""
    field = zvec.VectorSchema(FIELD, zvec.DataType.VECTOR_FP32, data.dim, index_param=parameter)
    collection = zvec.create_and_open(folder, zvec.CollectionSchema(name="rows", vectors=field))
    rows = data.rows()
    for first in range(0, len(rows), INSERT):
        some = range(first, min(first + INSERT, len(rows)))
        collection.insert([zvec.Doc(id=str(i), vectors={FIELD: rows[i]}) for i in some])
    collection.optimize(zvec.OptimizeOption(concurrency=1))
    collection.flush()
    collection.close()


class Zvec(Peer):
    package = "zvec"
    kinds = ("dense",)
    metrics = tuple(METRICS)

    def __init__(self, folder, data, holder=None):
        from zvec.executor.query_executor import QueryContext
        self.zvec, self.folder, self.holder = library(), str(folder), holder
        self.context, self.row_bytes = QueryContext, data.row_bytes()
        self.collection = self.zvec.open(self.folder, self.zvec.CollectionOption(read_only=True))
        self.index_bytes = sum(p.stat().st_size for p in folder.rglob("*") if INDEX_FILE in p.name)

    @classmethod
    def build(cls, data, parameters):
        from pathlib import Path
        zvec = library()
        holder = tempfile.TemporaryDirectory()
        folder = Path(holder.name) / "rows"
        written(zvec, str(folder), data, cls.parameter(zvec, getattr(zvec.MetricType, METRICS[data.metric]), data, parameters))
        return cls(folder, data, holder)

    def save(self, folder):
        shutil.copytree(self.folder, folder / "rows")

    @classmethod
    def load(cls, folder, data, parameters):
        return cls(folder / "rows", data)

    def bytes(self):
        """Bytes of its index file with the codes; it stores rows as f32."""
        return self.index_bytes, self.row_bytes

    def query(self, queries, row):
        wanted = self.zvec.Query(FIELD, vector=queries[row], param=self.wanted)
        context = self.context(topk=1, filter=None, queries=[wanted])
        return self.collection._querier._build_search_query(context, wanted, self.collection._obj)

    def search(self, query, k):
        query.topk = k
        return self.collection._obj.QueryInternalIds(query, False)

    def ids_of(self, found):
        return np.array([int(key) for key in self.collection.resolve_internal_ids(found) if key is not None], np.int64)


class Hnsw(Zvec):
    """8-bit codes in the graph, then exact rows, as in its own benchmarks."""
    builds = [{"m": 16, "ef_construction": 200}]
    sweep = {"ef": (12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192), "scale_factor": (1.5, 3.0)}

    @classmethod
    def name(cls):
        return "zvec HNSW"

    @staticmethod
    def parameter(zvec, metric, data, parameters):
        return zvec.HnswIndexParam(metric, quantize_type=zvec.QuantizeType.INT8, use_contiguous_memory=True, **parameters)

    def use(self, search):
        self.wanted = self.zvec.HnswQueryParam(is_using_refiner=True, **search)


class HnswRaBitQ(Zvec):
    builds = [{"m": 16, "ef_construction": 200, "total_bits": 7}]
    sweep = {"ef": (12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192), "is_using_refiner": (False, True)}

    @classmethod
    def name(cls):
        return "zvec HNSW-RaBitQ"

    @staticmethod
    def parameter(zvec, metric, data, parameters):
        return zvec.HnswRabitqIndexParam(metric, **parameters)

    def use(self, search):
        refined = {"scale_factor": 2.0} if search["is_using_refiner"] else {}
        self.wanted = self.zvec.HnswRabitqQueryParam(**search, **refined)


class IvfRaBitQ(Zvec):
    builds = [{"lists_per_root": 4, "total_bits": 7}, {"lists_per_root": 2, "total_bits": 4}]
    sweep = {"nprobe": (2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128), "scale_factor": (0.0, 2.0, 5.0)}

    @classmethod
    def name(cls):
        return "zvec IVF-RaBitQ"

    @staticmethod
    def parameter(zvec, metric, data, parameters):
        n_lists = max(int(parameters["lists_per_root"] * len(data) ** 0.5), 1)
        return zvec.IvfRabitqIndexParam(metric, n_lists, parameters["total_bits"])

    def use(self, search):
        """A factor of 0 searches without exact rows."""
        factor = search["scale_factor"]
        self.wanted = self.zvec.IvfRabitqQueryParam(search["nprobe"], is_using_refiner=factor > 0, scale_factor=factor or 1.0)


PEERS = [Hnsw, HnswRaBitQ, IvfRaBitQ]
