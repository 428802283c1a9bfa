"""Scalable Vector Search (Aguerrebere et al. 2023): Vamana over rows in float16."""
import numpy as np

from peer import Peer

DISTANCES = {"dot": "MIP", "cosine": "MIP", "euclid": "L2"}
ALPHA = {"dot": 0.95, "cosine": 0.95, "euclid": 1.2}  # its defaults
PARTS = ("config", "graph", "data")
ROW_BYTES = 2


class Vamana(Peer):
    package = "scalable-vs"
    kinds = ("dense",)
    metrics = tuple(DISTANCES)
    builds = [{"graph_max_degree": 64, "window_size": 128}]
    sweep = {"window": (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 192)}
    not_here = ("svs LVQ, LeanVec: the library stops the process on processors that are not Intel's",)

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
        """A fixed number of neighbours and their count for each row."""
        return self.graph_bytes, self.row_bytes

    def use(self, search):
        self.index.search_window_size = search["window"]

    def search(self, query, k):
        return self.index.search(query, k)

    @staticmethod
    def ids_of(found):
        return found[0][0].astype("int64")


PEERS = [Vamana]
