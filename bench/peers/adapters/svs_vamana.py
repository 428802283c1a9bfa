"""Scalable Vector Search (Aguerrebere et al. 2023): Vamana over rows in float16. On Intel CPUs, which these require, also over
two-level LVQ and LeanVec codes: 4 bits per dimension, or per dimension of a projection, in the graph; then 8 more bits.
"""
import tempfile
from pathlib import Path

import numpy as np

from peer import Peer

DISTANCES = {"dot": "MIP", "cosine": "MIP", "euclid": "L2"}
ALPHA = {"dot": 0.95, "cosine": 0.95, "euclid": 1.2}  # its defaults
PARTS = ("config", "graph", "data")
ROW_BYTES = 2
INTEL = "GenuineIntel" in Path("/proc/cpuinfo").read_text()


class Vamana(Peer):
    package = "scalable-vs"
    kinds = ("dense",)
    metrics = tuple(DISTANCES)
    builds = [{"graph_max_degree": 64, "window_size": 128}]
    sweep = {"window": (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192)}
    not_here = () if INTEL else ("svs LVQ, LeanVec: the library stops the process on processors that are not Intel's",)

    def __init__(self, index, parameters):
        self.index = index
        self.row_bytes = ROW_BYTES * index.size * index.dimensions
        self.graph_bytes = 4 * index.size * (parameters["graph_max_degree"] + 1)

    @classmethod
    def name(cls):
        return "svs Vamana"

    @staticmethod
    def distance(data):
        import svs
        return getattr(svs.DistanceType, DISTANCES[data.metric])

    @classmethod
    def build(cls, data, parameters):
        import svs
        wanted = svs.VamanaBuildParameters(alpha=ALPHA[data.metric], **parameters)
        rows = data.rows().astype(np.float16)
        return cls(svs.Vamana.build(wanted, rows, cls.distance(data), num_threads=1), parameters)

    def save(self, folder):
        self.index.save(*(str(folder / part) for part in PARTS))

    @classmethod
    def load(cls, folder, data, parameters):
        import svs
        config, graph, rows = (str(folder / part) for part in PARTS)
        index = svs.Vamana(config, svs.GraphLoader(graph), svs.VectorDataLoader(rows, svs.DataType.float16),
                           cls.distance(data), num_threads=1)
        return cls(index, parameters)

    def bytes(self):
        """Each row has a fixed number of neighbours, and their count."""
        return self.graph_bytes, self.row_bytes

    def use(self, search):
        self.index.search_window_size = search["window"]

    def search(self, query, k):
        return self.index.search(query, k)

    @staticmethod
    def ids_of(found):
        return found[0][0].astype("int64")


class Lvq(Vamana):
    """Keeps no exact rows: the second level of codes decides."""
    builds = [{"graph_max_degree": 64, "window_size": 128}] if INTEL else []
    not_here = ()
    PRIMARY, RESIDUAL = 4, 8

    def __init__(self, index, parameters, row_bytes):
        super().__init__(index, parameters)
        self.code_bytes = row_bytes

    @classmethod
    def name(cls):
        return "svs LVQ"

    @classmethod
    def coded(cls, svs, rows, data):
        return svs.LVQLoader(rows, primary=cls.PRIMARY, residual=cls.RESIDUAL, padding=32)

    @classmethod
    def reloaded(cls, svs, folder):
        return svs.LVQLoader(folder, padding=32)

    @classmethod
    def build(cls, data, parameters):
        import svs
        wanted = svs.VamanaBuildParameters(alpha=ALPHA[data.metric], **parameters)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/rows.fvecs"
            svs.write_vecs(np.ascontiguousarray(data.rows()), path)
            rows = svs.VectorDataLoader(path, svs.DataType.float32, dims=data.dim)
            return cls(svs.Vamana.build(wanted, cls.coded(svs, rows, data), cls.distance(data), num_threads=1), parameters, 0)

    def save(self, folder):
        super().save(folder)
        self.code_bytes = bytes_of(folder / PARTS[2])

    @classmethod
    def load(cls, folder, data, parameters):
        import svs
        config, graph, rows = (str(folder / part) for part in PARTS)
        index = svs.Vamana(config, svs.GraphLoader(graph), cls.reloaded(svs, rows), cls.distance(data), num_threads=1)
        return cls(index, parameters, bytes_of(folder / PARTS[2]))

    def bytes(self):
        return self.graph_bytes + self.code_bytes, 0


class LeanVec(Lvq):
    """The projection is by principal components of the rows."""
    DIMS_SHARE = 0.4

    @classmethod
    def name(cls):
        return "svs LeanVec"

    @classmethod
    def coded(cls, svs, rows, data):
        dims = max(int(data.dim * cls.DIMS_SHARE) // 32, 1) * 32
        return svs.LeanVecLoader(rows, dims, primary_kind=svs.LeanVecKind.lvq4, secondary_kind=svs.LeanVecKind.lvq8)

    @classmethod
    def reloaded(cls, svs, folder):
        return svs.LeanVecLoader(folder)


def bytes_of(folder):
    return sum(p.stat().st_size for p in folder.iterdir())


PEERS = [Vamana, Lvq, LeanVec]
