"""ScaNN (Guo et al. 2020; Sun et al. 2023): a tree of one level, 4-bit codes of two dimensions, then rows in bfloat16.

For inner products with its anisotropic loss and SOAR, the second assignment of each row; both exist only for that metric.
"""
from peer import Peer

MEASURES = {"dot": "dot_product", "cosine": "dot_product", "euclid": "squared_l2"}
ANISOTROPIC_THRESHOLD = 0.2  # from its documentation, for rows of unit length
SOAR = {"soar_lambda": 1.5, "overretrieve_factor": 1.5}
ROWS = "bfloat16_dataset.npy"


class Scann(Peer):
    package = "scann"
    kinds = ("dense",)
    metrics = tuple(MEASURES)
    calls = (1, 1000)
    builds = [{"leaves_per_root": 2}, {"leaves_per_root": 1}, {"leaves_per_root": 4}]
    sweep = {"leaves": (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96), "reorder": (20, 30, 50, 80)}

    def __init__(self, searcher):
        self.searcher = searcher
        self.searcher.set_num_threads(1)

    @classmethod
    def name(cls):
        return "scann"

    @classmethod
    def isa(cls):
        return "chosen at run time, up to avx512"

    @classmethod
    def build(cls, data, parameters):
        import scann
        rows = data.rows()
        leaves = max(int(parameters["leaves_per_root"] * len(rows) ** 0.5), 1)
        inner = MEASURES[data.metric] == "dot_product"
        made = scann.scann_ops_pybind.builder(rows, 10, MEASURES[data.metric])
        made.tree(leaves, min(leaves, 10), training_sample_size=len(rows), **(SOAR if inner else {}))
        made.score_ah(2, **({"anisotropic_quantization_threshold": ANISOTROPIC_THRESHOLD} if inner else {}))
        made.reorder(100, quantize=scann.ReorderType.BFLOAT16)
        return cls(made.set_n_training_threads(1).build())

    def save(self, folder):
        self.searcher.serialize(str(folder), relative_path=True)
        self.weigh(folder)

    @classmethod
    def load(cls, folder, data, parameters):
        import os
        import scann
        os.chdir(folder)  # its files contain relative paths
        found = cls(scann.scann_ops_pybind.load_searcher(str(folder)))
        found.weigh(folder)
        return found

    def weigh(self, folder):
        """The files have the size of the index in memory."""
        files = {p.name: p.stat().st_size for p in folder.iterdir() if p.name != "built.json"}
        rows = files.pop(ROWS)
        self.sizes = sum(files.values()), rows

    def bytes(self):
        return self.sizes

    def use(self, search):
        self.leaves, self.reorder = search["leaves"], search["reorder"]

    def search(self, query, k):
        return self.searcher.search(query, k, max(self.reorder, k), self.leaves)[0]

    def search_batch(self, queries, k):
        return self.searcher.search_batched(queries, k, max(self.reorder, k), self.leaves)[0]


PEERS = [Scann]
