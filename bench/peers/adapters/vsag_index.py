"""VSAG: SINDI (sparse inverted lists in windows, then exact rows) and HGraph (a graph over codes, then exact rows).

Parameters of a search are a JSON text, which the library parses in each call: its binding has no other form.
"""
import json

import numpy as np

from peer import Peer

METRICS = {"dot": "ip", "cosine": "ip", "euclid": "l2"}
FILE = "index"
MOST_CANDIDATES_PER_RESULT = 500  # the library's limit


class Vsag(Peer):
    package = "pyvsag"
    index_name = ""

    def __init__(self, index, row_bytes):
        self.index, self.row_bytes, self.file_bytes = index, row_bytes, 0

    @classmethod
    def isa(cls):
        return "chosen at run time, up to avx512"

    @classmethod
    def empty(cls, data, parameters):
        import pyvsag
        pyvsag.set_logger_off()
        return pyvsag.Index(cls.index_name, json.dumps(cls.description(data, parameters)))

    def save(self, folder):
        self.index.save(str(folder / FILE))
        self.file_bytes = (folder / FILE).stat().st_size

    @classmethod
    def load(cls, folder, data, parameters):
        index = cls.empty(data, parameters)
        index.load(str(folder / FILE))
        found = cls(index, data.row_bytes())
        found.file_bytes = (folder / FILE).stat().st_size
        return found

    def bytes(self):
        return max(self.file_bytes - self.row_bytes, 0), self.row_bytes

    @staticmethod
    def ids_of(found):
        return np.ravel(found[0])


class Sindi(Vsag):
    kinds = ("sparse",)
    index_name = "sindi"
    builds = [{"doc_prune_ratio": ratio, "quantized": quantized}
              for ratio, quantized in ((0.4, True), (0.2, True), (0.0, True), (0.6, True), (0.4, False), (0.2, False))]
    sweep = {"query_prune_ratio": (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0),
             "n_candidate": (12, 16, 20, 30, 40, 60, 100, 150, 250, 400)}
    WINDOW = 50_000

    @classmethod
    def name(cls):
        return "vsag SINDI"

    @classmethod
    def description(cls, data, parameters):
        longest = max(int(np.diff(data.raw(which).indptr).max()) for which in ("base", "queries"))
        own = {"term_id_limit": data.dim, "window_size": cls.WINDOW, "doc_prune_ratio": parameters["doc_prune_ratio"],
               "use_quantization": parameters["quantized"], "use_reorder": True}
        return {"dtype": "sparse", "metric_type": "ip", "dim": longest, "index_param": own}

    @classmethod
    def build(cls, data, parameters):
        rows = data.rows()
        index = cls.empty(data, parameters)
        index.build(index_pointers=rows.indptr.astype(np.uint32), indices=rows.indices.astype(np.uint32), values=rows.values,
                    ids=np.arange(len(rows), dtype=np.int64))
        return cls(index, data.row_bytes())

    def use(self, search):
        self.wanted = search
        self.text, self.text_k = "", 0

    def query(self, queries, row):
        indices, values = queries[row]
        return np.array([0, len(indices)], np.uint32), indices.astype(np.uint32), values

    def search(self, query, k):
        if k != self.text_k:
            self.text, self.text_k = self.search_text(k), k
        return self.index.knn_search(*query, k, self.text)

    def search_text(self, k):
        candidates = min(max(self.wanted["n_candidate"], k), MOST_CANDIDATES_PER_RESULT * k)
        return json.dumps({"sindi": self.wanted | {"n_candidate": candidates}})


class HGraph(Vsag):
    kinds = ("dense",)
    metrics = tuple(METRICS)
    index_name = "hgraph"
    builds = [{"codes": "sq8_uniform", "max_degree": 32, "ef_construction": 200},
              {"codes": "rabitq", "max_degree": 32, "ef_construction": 200}]
    sweep = {"ef_search": (10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 384)}

    @classmethod
    def name(cls):
        return "vsag HGraph"

    @classmethod
    def description(cls, data, parameters):
        own = {"base_quantization_type": parameters["codes"], "max_degree": parameters["max_degree"],
               "ef_construction": parameters["ef_construction"], "use_reorder": True, "build_thread_count": 1}
        return {"dtype": "float32", "metric_type": METRICS[data.metric], "dim": data.dim, "index_param": own}

    @classmethod
    def build(cls, data, parameters):
        rows = data.rows()
        index = cls.empty(data, parameters)
        index.build(vectors=rows.ravel(), ids=np.arange(len(rows), dtype=np.int64), num_elements=len(rows), dim=data.dim)
        return cls(index, data.row_bytes())

    def use(self, search):
        self.ef, self.text, self.text_k = search["ef_search"], "", 0

    def query(self, queries, row):
        return queries[row].copy()  # its binding takes writable arrays only

    def search(self, query, k):
        if k != self.text_k:
            self.text, self.text_k = json.dumps({"hgraph": {"ef_search": max(self.ef, k)}}), k
        return self.index.knn_search(query, k, self.text)


PEERS = [Sindi, HGraph]
