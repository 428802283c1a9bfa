"""The shared library: where it is, its functions, and their errors as exceptions."""
from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_int32, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._errors import FailedPrecondition, error_of

ABI = 1
_HERE = Path(__file__).resolve().parent


class Options(ctypes.Structure):
    """`quiver_options` of app/embedded/quiver.h."""

    _fields_ = [("compute_threads", c_uint32), ("background_threads", c_uint32),
                ("block_cache_bytes", c_uint64), ("log_level", c_char_p)]


class Vectors(ctypes.Structure):
    """`quiver_vectors`. Whoever fills one keeps the arrays alive."""

    _fields_ = [("field", c_char_p), ("kind", c_int32), ("dim", c_uint64), ("values", c_void_p),
                ("offsets", c_void_p), ("indices", c_void_p)]


class Points(ctypes.Structure):
    """`quiver_points`."""

    _fields_ = [("n", c_uint64), ("ids", c_void_p), ("high", c_void_p), ("fields", POINTER(Vectors)),
                ("n_fields", c_uint64), ("payloads", c_char_p), ("payload_offsets", c_void_p)]


class Call(ctypes.Structure):
    """`quiver_call`."""

    _fields_ = [("collection", c_void_p), ("request", c_void_p), ("n", c_uint64), ("k", c_uint64), ("ids", c_void_p),
                ("high", c_void_p), ("scores", c_void_p), ("counts", POINTER(c_uint64))]


_FUNCTIONS: dict[str, list[Any]] = {
    "quiver_open": [c_char_p, POINTER(Options), POINTER(c_void_p)],
    "quiver_close": [c_void_p],
    "quiver_collections": [c_void_p, POINTER(c_void_p)],
    "quiver_create_collection": [c_void_p, c_char_p, c_char_p],
    "quiver_drop_collection": [c_void_p, c_char_p, POINTER(c_int32)],
    "quiver_get_collection": [c_void_p, c_char_p, POINTER(c_void_p)],
    "quiver_upsert": [c_void_p, POINTER(Points)],
    "quiver_bulk_load": [c_void_p, POINTER(Points)],
    "quiver_update": [c_void_p, c_char_p, POINTER(c_void_p)],
    "quiver_create_index": [c_void_p, c_char_p],
    "quiver_drop_index": [c_void_p, c_char_p, POINTER(c_int32)],
    "quiver_read": [c_void_p, c_char_p, c_char_p, POINTER(c_void_p)],
    "quiver_new_request": [c_char_p, c_uint64, POINTER(c_void_p)],
    "quiver_search": [POINTER(Call), c_void_p, c_uint64],
    "quiver_search_vectors": [POINTER(Call), POINTER(Vectors)],
}
_FREES = ("quiver_free", "quiver_free_database", "quiver_free_collection", "quiver_free_request")


def find(name: str, variable: str, built: str) -> Path:
    """The file `name`: what the environment variable names, the one of this package, or the one that was built in the
    checkout that holds this package. FileNotFoundError says where it was looked for."""
    named = os.environ.get(variable)
    candidates = [Path(named)] if named else [_HERE / "_native" / name, _HERE.parents[1] / built]
    for path in candidates:
        if path.is_file():
            return path
    raise FileNotFoundError(f"no {name} at {' or '.join(map(str, candidates))}: install the wheel of quiver-search, "
                            f"run `make wheel`, or set {variable}")


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded once. Calls release the lock of the interpreter, so other threads run."""
    path = find("libquiver.so", "QUIVER_LIBRARY", "build/python/libquiver.so")
    loaded = ctypes.CDLL(str(path))
    found = loaded.quiver_abi()
    if found != ABI:
        raise ImportError(f"{path} has interface {found}, wanted {ABI}: it is of another version of quiver-search")
    for name, types in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = types, c_int32
    for name in _FREES:
        function = getattr(loaded, name)
        function.argtypes, function.restype = [c_void_p], None
    loaded.quiver_error.restype = c_char_p
    return loaded


def raise_error(status: int) -> None:
    """Raises the error that the last call on this thread returned."""
    raise error_of(status, library().quiver_error().decode("utf-8", "replace"))


def check(status: int) -> None:
    """Raises unless `status`, of the last call on this thread, is 0."""
    if status:
        raise_error(status)


def take_text(pointer: c_void_p) -> bytes:
    """A copy of a text that the library returned, which is freed."""
    try:
        return ctypes.string_at(pointer.value or 0)
    finally:
        library().quiver_free(pointer)


class Owner:
    """Frees a handle once. In a child of the process that made the handle it does nothing: the child has its parent's
    memory, but not the threads that work there."""

    def __init__(self, function: str, handle: c_void_p) -> None:
        self.generation = _generation
        self._function, self._handle = function, handle

    def free(self) -> None:
        if self.generation == _generation:
            getattr(library(), self._function)(self._handle)


_generation = 0  # changes in the child of a fork


def _count_fork() -> None:
    global _generation
    _generation += 1


os.register_at_fork(after_in_child=_count_fork)


def check_not_forked(owner: Owner) -> None:
    """Raises FailedPrecondition in a child of the process that made the handle."""
    if owner.generation != _generation:
        raise FailedPrecondition("the database was opened before this process was forked; "
                                 "open it afterwards, and in one process")
