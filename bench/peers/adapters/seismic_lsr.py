"""Seismic (Bruch, Nardini, Rulli, Venturini 2024) in its authors' Rust: inverted lists in blocks with summaries.

`SeismicIndexRaw` takes numbers. The index with token strings would look up 26 strings of 400 bytes per query.
"""
import tempfile
from pathlib import Path

import numpy as np

from peer import Peer

ENTRY_BYTES = 4   # entry of a stored row: u16 index, f16 value
OFFSET_BYTES = 8


def write_rows(rows, path):
    """Writes its internal format: count; for each row its length, indices (u32), values (f32)."""
    with open(path, "wb") as file:
        file.write(np.uint32(len(rows)).tobytes())
        for row in range(len(rows)):
            indices, values = rows[row]
            file.write(np.uint32(len(indices)).tobytes() + indices.astype(np.uint32).tobytes() + values.tobytes())


class Seismic(Peer):
    package = "pyseismic-lsr"
    kinds = ("sparse",)
    builds = [{"n_postings": 300, "centroid_fraction": 0.2, "summary_energy": 0.6},
              {"n_postings": 600, "centroid_fraction": 0.2, "summary_energy": 0.6},
              {"n_postings": 150, "centroid_fraction": 0.2, "summary_energy": 0.6},
              {"n_postings": 300, "centroid_fraction": 0.3, "summary_energy": 0.7},
              {"n_postings": 600, "centroid_fraction": 0.3, "summary_energy": 0.7},
              {"n_postings": 300, "centroid_fraction": 0.2, "summary_energy": 0.6, "max_fraction": 6.0}]
    sweep = {"query_cut": (4, 6, 8, 10, 13, 16, 20, 26), "heap_factor": (0.7, 0.8, 0.9, 1.0), "sorted": (False, True)}

    def __init__(self, index):
        self.index = index
        self.file_bytes = 0

    @classmethod
    def name(cls):
        return "Seismic"

    @classmethod
    def isa(cls):
        return "avx2 and f16c, by its wheel"

    @classmethod
    def build(cls, data, parameters):
        from seismic import SeismicIndexRaw
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.bin"
            write_rows(data.rows(), path)
            return cls(SeismicIndexRaw.build(str(path), **parameters))

    def save(self, folder):
        self.index.save(str(folder / "index"))
        self.file_bytes = file_of(folder).stat().st_size

    @classmethod
    def load(cls, folder, data, parameters):
        from seismic import SeismicIndexRaw
        found = cls(SeismicIndexRaw.load(str(file_of(folder))))
        found.file_bytes = file_of(folder).stat().st_size
        return found

    def bytes(self):
        """Bytes of the file, equal to those in memory; its rows are rounded to f16."""
        rows = ENTRY_BYTES * self.index.nnz + OFFSET_BYTES * (self.index.len + 1)
        return self.file_bytes - rows, rows

    def use(self, search):
        self.rest = search["query_cut"], search["heap_factor"], search.get("n_knn", 0), search["sorted"]

    def query(self, queries, row):
        indices, values = queries[row]
        return indices.astype(np.int32), values

    def search(self, query, k):
        return self.index.search(query[0], query[1], k, *self.rest)

    @staticmethod
    def ids_of(found):
        return [row for _, row in found]


class SeismicNeighbours(Seismic):
    """With the graph of nearest neighbours, which extends the found rows once (CIKM'24)."""
    builds = [{"n_postings": 300, "centroid_fraction": 0.2, "summary_energy": 0.6, "nknn": 10}]
    sweep = {"query_cut": (4, 6, 8, 10, 13, 16, 20), "heap_factor": (0.8, 0.9, 1.0), "n_knn": (4, 10), "sorted": (True,)}

    @classmethod
    def name(cls):
        return "Seismic k-NN"


def file_of(folder):
    return next(p for p in folder.iterdir() if p.name.startswith("index"))


PEERS = [Seismic, SeismicNeighbours]
