"""LoRANN (Jääsaari, Hyvönen, Roos 2024): clusters whose scores a regression of low rank predicts, then exact rows."""
import numpy as np

from peer import Peer


class Lorann(Peer):
    package = "lorann"
    kinds = ("dense",)
    metrics = ("dot", "cosine", "euclid")
    builds = [{"clusters_per_root": 2}, {"clusters_per_root": 4}]
    sweep = {"clusters": (4, 8, 12, 16, 24, 32, 48, 64, 96, 128), "rerank": (30, 60, 100, 200, 400)}
    MOST_GLOBAL_DIM = 128  # from its documentation, for 200 to 1,000 dimensions

    def __init__(self, index, row_bytes):
        self.index, self.row_bytes, self.file_bytes = index, row_bytes, 0

    @classmethod
    def name(cls):
        return "lorann"

    @classmethod
    def build(cls, data, parameters):
        import lorann
        rows = data.rows()
        n_clusters = max(int(parameters["clusters_per_root"] * len(rows) ** 0.5), 1)
        reduced = cls.MOST_GLOBAL_DIM if data.dim >= 200 else None
        index = lorann.LorannIndex(rows, n_clusters, reduced, distance=lorann.L2 if data.metric == "euclid" else lorann.IP,
                                   copy=True)
        index.build(n_threads=1)
        return cls(index, data.row_bytes())

    def save(self, folder):
        self.index.save(str(folder / "index"))
        self.file_bytes = (folder / "index").stat().st_size

    @classmethod
    def load(cls, folder, data, parameters):
        import lorann
        found = cls(lorann.LorannIndex.load(str(folder / "index")), data.row_bytes())
        found.file_bytes = (folder / "index").stat().st_size
        return found

    def bytes(self):
        return self.file_bytes - self.row_bytes, self.row_bytes

    def use(self, search):
        self.clusters, self.rerank = min(search["clusters"], self.index.n_clusters), search["rerank"]

    def search(self, query, k):
        return self.index.search(query, k, self.clusters, max(self.rerank, k))

    @staticmethod
    def ids_of(found):
        return np.ravel(found).astype(np.int64)


PEERS = [Lorann]
