"""Quiver, a vector search engine: in this process (`open`) or as a server of its own (`Server`)."""
from __future__ import annotations

import os
from typing import Union

from ._arrays import NO_ID, Multi, Sparse
from ._bench import BenchCurve, BenchPoint
from ._database import Collection, Database, Hits
from ._errors import (AlreadyExists, DataLoss, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound,
                      QuiverError, ResourceExhausted, Unavailable, Unimplemented)
from ._server import Server, binary

__version__ = "0.1.0"
__all__ = [
    "NO_ID", "AlreadyExists", "BenchCurve", "BenchPoint", "Collection", "DataLoss", "Database", "DeadlineExceeded",
    "FailedPrecondition", "Hits", "InvalidArgument", "Multi", "NotFound", "QuiverError", "ResourceExhausted", "Server",
    "Sparse", "Unavailable", "Unimplemented", "binary", "open",
]


def open(path: Union[str, os.PathLike[str]], *, compute_threads: int = 0, background_threads: int = 0,
         block_cache_bytes: int = 0, log_level: str = "warning") -> Database:
    """Opens a data directory in this process, and creates it if it is not there.

    The files are those of `quiver serve`. One process at a time has a directory open: Unavailable names the other one.

    compute_threads: that help with large queries and batches; 0: one per core. background_threads: that write files and
    build indexes; 0: one per core, at least 2. block_cache_bytes: memory for rows that are read from disk; 0: 256 MiB.
    log_level: debug, info, warning, error or off, to standard error; it holds for the process.
    """
    return Database(path, compute_threads=compute_threads, background_threads=background_threads,
                    block_cache_bytes=block_cache_bytes, log_level=log_level)
