"""FastPlaid (LightOn): PLAID of Santhanam et al. (2022) in Rust over libtorch, here on the CPU. Inverted lists of token
centroids, scores by centroids, then by residual codes. It keeps no exact tokens.

Calls bypass `FastPlaid.search`, which checks for changed files and packs the query each time.
"""
import shutil
import tempfile
from pathlib import Path

import numpy as np

from peer import Peer

DEVICE = "cpu"
BUFFERS = ("embeddings.npy", "buffer.npy")  # of small indexes, for later additions; not used by searches


def library():
    import torch
    from fast_plaid.search import fast_plaid
    torch.set_num_threads(1)
    return torch, fast_plaid


class FastPlaid(Peer):
    package = "fast-plaid"
    kinds = ("multi",)
    builds = [{"nbits": 4}]
    most_recall = 0.9  # codes of 4 bits decide
    sweep = {"n_ivf_probe": (1, 2, 4, 8, 16, 32), "n_full_scores": (64, 256, 1024, 4096)}

    def __init__(self, folder, holder=None):
        self.torch, self.library = library()
        self.folder, self.holder = Path(folder), holder
        self.whole = self.library.FastPlaid(index=str(folder), device=DEVICE)
        self.index = self.whole.indices[DEVICE]

    @classmethod
    def name(cls):
        return "fast-plaid"

    @classmethod
    def build(cls, data, parameters):
        torch, fast_plaid = library()
        holder = tempfile.TemporaryDirectory()
        rows = data.rows()
        tokens = torch.from_numpy(np.array(rows.values, np.float16))
        maker = fast_plaid.FastPlaid(index=holder.name, device=DEVICE)
        maker.create(list(tokens.split(rows.counts().tolist())), seed=1, **parameters)
        return cls(holder.name, holder)

    def save(self, folder):
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)

    @classmethod
    def load(cls, folder, data, parameters):
        return cls(folder)

    def bytes(self):
        """Bytes of its arrays. Its metadata is small and changes when the index is loaded."""
        arrays = [p for p in self.folder.glob("*.npy") if p.name not in BUFFERS]
        return sum(p.stat().st_size for p in arrays), 0

    def use(self, search):
        self.parameters = search

    def query(self, queries, row):
        return self.library.pack_queries([self.torch.from_numpy(queries[row])])

    def search(self, query, k):
        with self.torch.inference_mode():
            return self.library.search_on_device(
                device=DEVICE, queries_embeddings=query[0], batch_size="auto", top_k=k, search_memory_fraction=1.0,
                index_object=self.index, show_progress=False, query_lengths=query[1], **self.parameters)

    @staticmethod
    def ids_of(found):
        return [document for document, _ in found[0]]


PEERS = [FastPlaid]
