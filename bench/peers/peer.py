"""The interface of an adapter. One file in adapters/ holds the adapters of one library; a new peer needs only such a file."""
import importlib
import importlib.metadata
import pkgutil
from pathlib import Path


class Peer:
    """An index of another library.

    `build` and `load` return an instance, which lives in a process of its own, with one thread, on one core.
Ids are row numbers. Scores are not needed: the runner scores the ids again.
    """
    package = ""             # name for `pip`; its version is part of an index's identity
    kinds = ()               # of "dense", "sparse", "multi"
    metrics = ("dot",)       # of "dot", "cosine", "euclid"
    exact = False            # always finds the exact answer
    builds = [{}]            # build parameters to try: a list of dictionaries
    sweep = {}               # search parameters: name -> values; every combination is tried
    batches = ()             # batch sizes for `search_batch`, measured separately
    calls = (1,)             # queries per call, for engines that are not exact; each size has a front of its own
    most_recall = 1.0        # recall of its widest search, if it has no exact rows to compare at the end
    not_here = ()            # parts of the library that are left out, with the reason

    @classmethod
    def name(cls):
        """Its name in tables."""
        raise NotImplementedError

    @classmethod
    def build(cls, data, parameters):
        """Builds an index over all rows of `data` (see data.py), on one thread."""
        raise NotImplementedError

    def save(self, folder):
        """Writes the index into an existing, empty folder. Not called if `load` is None."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder, data, parameters):
        """Loads what `save` wrote. `data` is for adapters that keep the rows outside the index."""
        raise NotImplementedError

    def bytes(self):
        """Returns (bytes of the index and its codes, bytes of exact rows) in memory, both for all rows."""
        raise NotImplementedError

    def use(self, search):
        """Sets the parameters of the next searches."""

    def query(self, queries, row):
        """Converts a query into the form in which a program would hold it. Not measured."""
        return queries[row]

    def search(self, query, k):
        """Returns the ids of the best k rows, best first, or fewer. Only this call is measured."""
        raise NotImplementedError

    @staticmethod
    def ids_of(found):
        """Extracts the ids from the result of `search`. Not measured."""
        return found

    def search_batch(self, queries, k):
        """Returns ids [n, k] for an array of dense queries, in one call."""
        raise NotImplementedError

    @classmethod
    def isa(cls):
        """Instruction level that its code uses here, if known."""
        return "unknown"

    @classmethod
    def version(cls):
        """Version of the package, or None if not installed."""
        try:
            return importlib.metadata.version(cls.package)
        except importlib.metadata.PackageNotFoundError:
            return None


def all_peers():
    """Returns the classes of all adapters by name. A missing library does no harm: adapters import it when used."""
    found = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent / "adapters")]):
        loaded = importlib.import_module(f"adapters.{module.name}")
        for peer in getattr(loaded, "PEERS"):
            found[peer.name()] = peer
    return dict(sorted(found.items()))
