"""USearch: HNSW over rows in bfloat16, with kernels of its own for that type."""
import numpy as np

from peer import Peer

METRICS = {"dot": "ip", "cosine": "ip", "euclid": "l2sq"}
ROW_TYPE, ROW_BYTES = "bf16", 2


class Usearch(Peer):
    package = "usearch"
    kinds = ("dense",)
    metrics = tuple(METRICS)
    builds = [{"connectivity": 16, "expansion_add": 128}, {"connectivity": 32, "expansion_add": 200}]
    sweep = {"expansion_search": (10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384)}

    def __init__(self, index):
        self.index = index

    @classmethod
    def name(cls):
        return "usearch"

    @classmethod
    def isa(cls):
        from usearch.index import Index
        return "kernels for " + Index(ndim=64, metric="ip", dtype=ROW_TYPE).hardware_acceleration

    @classmethod
    def empty(cls, data, parameters):
        from usearch.index import Index
        return Index(ndim=data.dim, metric=METRICS[data.metric], dtype=ROW_TYPE, **parameters)

    @classmethod
    def build(cls, data, parameters):
        rows = data.rows()
        index = cls.empty(data, parameters)
        index.add(np.arange(len(rows), dtype=np.uint64), rows, threads=1)
        return cls(index)

    def save(self, folder):
        self.index.save(str(folder / "index"))

    @classmethod
    def load(cls, folder, data, parameters):
        index = cls.empty(data, parameters)
        index.load(str(folder / "index"))
        return cls(index)

    def bytes(self):
        rows = ROW_BYTES * len(self.index) * self.index.ndim
        return self.index.serialized_length - rows, rows

    def use(self, search):
        self.index.expansion_search = search["expansion_search"]

    def search(self, query, k):
        return self.index.search(query, k, threads=1)

    @staticmethod
    def ids_of(found):
        return found.keys.astype("int64")


PEERS = [Usearch]
