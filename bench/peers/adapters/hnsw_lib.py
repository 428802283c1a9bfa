"""hnswlib: the graph of Malkov and Yashunin (2018) by its authors, compiled for this processor."""
from peer import Peer

SPACES = {"dot": "ip", "cosine": "ip", "euclid": "l2"}


class Hnswlib(Peer):
    package = "hnswlib"
    kinds = ("dense",)
    metrics = tuple(SPACES)
    builds = [{"M": 16, "ef_construction": 200}, {"M": 32, "ef_construction": 200}]
    sweep = {"ef": (10, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384)}

    def __init__(self, index, parameters):
        self.index, self.parameters = index, parameters
        self.index.set_num_threads(1)

    @classmethod
    def name(cls):
        return "hnswlib"

    @classmethod
    def isa(cls):
        return "compiled with -march=native"

    @classmethod
    def empty(cls, data):
        import hnswlib
        return hnswlib.Index(space=SPACES[data.metric], dim=data.dim)

    @classmethod
    def build(cls, data, parameters):
        rows = data.rows()
        index = cls.empty(data)
        index.init_index(max_elements=len(rows), random_seed=1, **parameters)
        index.add_items(rows, num_threads=1)
        return cls(index, parameters)

    def save(self, folder):
        self.index.save_index(str(folder / "index"))

    @classmethod
    def load(cls, folder, data, parameters):
        index = cls.empty(data)
        index.load_index(str(folder / "index"))
        return cls(index, parameters)

    def bytes(self):
        """The file has the size of the index in memory."""
        rows = 4 * self.index.get_current_count() * self.index.dim
        return self.index.index_file_size() - rows, rows

    def use(self, search):
        self.index.set_ef(search["ef"])

    def search(self, query, k):
        return self.index.knn_query(query, k=k, num_threads=1)[0]

    @staticmethod
    def ids_of(found):
        return found[0].astype("int64")


PEERS = [Hnswlib]
