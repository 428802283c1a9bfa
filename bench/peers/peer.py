"""What an adapter of a peer is. One file in adapters/ holds those of one library; that file is all a new peer needs."""
import importlib
import importlib.metadata
import pkgutil
from pathlib import Path


class Peer:
    """An index of another library.

    `build` and `load` give an instance; the object lives in a process of its own, with one thread, on one core.
    Ids are row numbers. Scores are not asked for: ids are scored again by us.
    """
    package = ""             # as `pip` calls it; its version is part of an index's identity
    kinds = ()               # of "dense", "sparse", "multi"
    metrics = ("dot",)       # of "dot", "cosine", "euclid"
    exact = False            # finds everything, whatever the parameters
    builds = [{}]            # build parameters to try: a list of dictionaries
    sweep = {}               # search parameters: name -> values; every combination is tried
    batches = ()             # sizes of batch for `search_batch`, measured apart
    calls = (1,)             # of those that are not exact: queries in a call; each size has a front of its own
    most_recall = 1.0        # of its widest search, for those that have no exact rows to compare at the end
    not_here = ()            # what of the library is left out, with the reason

    @classmethod
    def name(cls):
        """What tables call it."""
        raise NotImplementedError

    @classmethod
    def build(cls, data, parameters):
        """An index over all rows of `data` (see data.py), on one thread."""
        raise NotImplementedError

    def save(self, folder):
        """Writes the index into an existing, empty folder. Not called by those that set `load = None`."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder, data, parameters):
        """What `save` wrote. `data` is at hand for those that keep the rows outside of the index."""
        raise NotImplementedError

    def bytes(self):
        """(bytes of the index and its codes, bytes of exact rows) in memory, both for all rows."""
        raise NotImplementedError

    def use(self, search):
        """Takes the search parameters of the next searches."""

    def query(self, queries, row):
        """One query in the form in which a program would hold it. Not measured."""
        return queries[row]

    def search(self, query, k):
        """Ids of the best k rows, best first, fewer if there are no more. This call is what is measured."""
        raise NotImplementedError

    @staticmethod
    def ids_of(found):
        """The ids in what `search` gave, where that is something richer. Not measured."""
        return found

    def search_batch(self, queries, k):
        """[n, k] ids for an array of dense queries, in one call."""
        raise NotImplementedError

    @classmethod
    def isa(cls):
        """The instruction level that its code uses here, as far as it tells."""
        return "unknown"

    @classmethod
    def version(cls):
        """Of the package, or None where it is not installed."""
        try:
            return importlib.metadata.version(cls.package)
        except importlib.metadata.PackageNotFoundError:
            return None


def all_peers():
    """The classes of all adapters, by name. Files whose library is missing are fine: they import it when used."""
    found = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent / "adapters")]):
        loaded = importlib.import_module(f"adapters.{module.name}")
        for peer in getattr(loaded, "PEERS"):
            found[peer.name()] = peer
    return dict(sorted(found.items()))
