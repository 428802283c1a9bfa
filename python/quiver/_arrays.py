"""Checks of numpy arrays, and their addresses. Arrays with the right type and order are never copied."""
from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from ._library import Points, Vectors

DENSE, SPARSE, MULTI = 0, 1, 2
NO_ID = 2**64 - 1
_LOW = 2**64 - 1
Id = Union[int, str, uuid.UUID]


@dataclass(frozen=True)
class Sparse:
    """Sparse vectors as compressed rows: row i has the entries [offsets[i], offsets[i + 1]).

    offsets: uint64 [n + 1], from 0. indices: uint32 [entries], unique within a row. values: float32 [entries].
    """

    offsets: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Multi:
    """Multi-vectors (late interaction): row i has the tokens [offsets[i], offsets[i + 1]) of `values`.

    offsets: uint64 [n + 1], from 0. values: float32 [tokens, dim].
    """

    offsets: np.ndarray
    values: np.ndarray


VectorRows = Union[np.ndarray, Sparse, Multi]


def checked(array: Any, dtype: Any, n_dims: int, name: str) -> np.ndarray:
    """`array` itself, if it can be read in place. TypeError for another type, ValueError for another shape or order."""
    wanted = np.dtype(dtype)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}, wanted a numpy array of {wanted}")
    if array.dtype != wanted:
        raise TypeError(f"{name} has dtype {array.dtype}, wanted {wanted}: convert it with .astype(numpy.{wanted})")
    if array.ndim != n_dims:
        raise ValueError(f"{name} has shape {array.shape}, wanted {n_dims} dimension{'s' if n_dims > 1 else ''}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} has strides {array.strides}, wanted rows one after another: "
                         "copy it with numpy.ascontiguousarray")
    return array


def _checked_offsets(offsets: Any, n_entries: int, name: str) -> np.ndarray:
    array = checked(offsets, np.uint64, 1, f"{name}.offsets")
    if array.size == 0 or int(array[-1]) != n_entries:
        last = int(array[-1]) if array.size else "missing"
        raise ValueError(f"{name}.offsets end with {last}, wanted {n_entries}, the number of entries")
    return array


def n_rows(rows: VectorRows) -> int:
    """How many vectors `rows` holds."""
    return len(rows) if isinstance(rows, np.ndarray) else len(rows.offsets) - 1


def vectors_of(rows: Any, field: str, name: str) -> Vectors:
    """The structure that points to `rows`, which the caller keeps alive. `name` is for errors."""
    filled = Vectors(field=field.encode())
    if isinstance(rows, Sparse):
        values = checked(rows.values, np.float32, 1, f"{name}.values")
        indices = checked(rows.indices, np.uint32, 1, f"{name}.indices")
        if len(indices) != len(values):
            raise ValueError(f"{name} has {len(indices)} indices and {len(values)} values, wanted as many")
        filled.kind, filled.indices = SPARSE, indices.ctypes.data
        filled.offsets = _checked_offsets(rows.offsets, len(values), name).ctypes.data
    elif isinstance(rows, Multi):
        values = checked(rows.values, np.float32, 2, f"{name}.values")
        filled.kind, filled.dim = MULTI, values.shape[1]
        filled.offsets = _checked_offsets(rows.offsets, len(values), name).ctypes.data
    else:
        values = checked(rows, np.float32, 2, name)
        filled.kind, filled.dim = DENSE, values.shape[1]
    filled.values = values.ctypes.data
    return filled


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _uuid_of(value: Any) -> uuid.UUID:
    if isinstance(value, uuid.UUID):
        return value
    if isinstance(value, str):
        return uuid.UUID(value)
    raise TypeError(f"ids hold a {type(value).__name__}, wanted numbers alone, or UUIDs alone")


def ids_of(ids: Any) -> tuple[np.ndarray, Optional[np.ndarray]]:
    """Ids as (lower halves, upper halves or None for numbers), each uint64 [n]. An array of uint64 is not copied."""
    if not isinstance(ids, np.ndarray):
        ids = list(ids)
        if not all(map(_is_number, ids)):
            uuids = [_uuid_of(value).int for value in ids]
            low, high = [u & _LOW for u in uuids], [u >> 64 for u in uuids]
            return np.array(low, np.uint64), np.array(high, np.uint64)
        if any(value < 0 or value > _LOW for value in ids):
            raise ValueError("ids hold a number out of the range of uint64")
        return np.array(ids, np.uint64), None
    if ids.dtype.kind not in "iu":
        raise TypeError(f"ids have dtype {ids.dtype}, wanted uint64")
    if ids.ndim != 1:
        raise ValueError(f"ids have shape {ids.shape}, wanted 1 dimension")
    if ids.dtype.kind == "i" and ids.size and int(ids.min()) < 0:
        raise ValueError(f"ids hold {int(ids.min())}, wanted no number below 0")
    return np.ascontiguousarray(ids, np.uint64), None


def json_bytes(value: Any) -> bytes:
    """`value` as JSON; arrays of numpy are lists and UUIDs are texts."""

    def plain(other: Any) -> Any:
        if isinstance(other, (np.ndarray, np.generic)):
            return other.tolist()
        if isinstance(other, uuid.UUID):
            return str(other)
        raise TypeError(f"a {type(other).__name__} is no JSON value")

    return json.dumps(value, default=plain, separators=(",", ":"), ensure_ascii=False).encode()


def _payload_bytes(payload: Any) -> bytes:
    if payload is None:
        return b""
    if isinstance(payload, (bytes, str)):
        return payload if isinstance(payload, bytes) else payload.encode()
    return json_bytes(payload)


class PointArrays:
    """Points as the library takes them. Keeps the arrays alive that `structure` points to."""

    def __init__(self, ids: Any, vectors: Union[VectorRows, Mapping[str, VectorRows]],
                 payloads: Optional[Sequence[Any]] = None) -> None:
        low, high = ids_of(ids)
        fields = vectors if isinstance(vectors, Mapping) else {"": vectors}
        names = {field: f"vectors[{field!r}]" if field else "vectors" for field in fields}
        filled = [vectors_of(rows, field, names[field]) for field, rows in fields.items()]
        for field, rows in fields.items():
            if n_rows(rows) != len(low):
                raise ValueError(f"{names[field]} has {n_rows(rows)} rows, wanted {len(low)}, one for each id")
        self._kept: list[Any] = [low, high, fields, filled]
        self.structure = Points(n=len(low), ids=low.ctypes.data, n_fields=len(filled))
        self.structure.fields = (Vectors * len(filled))(*filled)
        if high is not None:
            self.structure.high = high.ctypes.data
        if payloads is not None:
            self._add_payloads(payloads, len(low))

    def _add_payloads(self, payloads: Iterable[Any], n: int) -> None:
        texts = [_payload_bytes(payload) for payload in payloads]
        if len(texts) != n:
            raise ValueError(f"there are {len(texts)} payloads, wanted {n}, one for each id")
        offsets = np.zeros(n + 1, np.uint64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        joined = b"".join(texts)
        self._kept += [offsets, joined]
        self.structure.payloads, self.structure.payload_offsets = joined, offsets.ctypes.data


def ids_from_halves(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ids as Python objects: int, uuid.UUID, or None where there is no hit. The shape stays."""
    found = np.empty(low.shape, object)
    for at in np.ndindex(low.shape):
        is_uuid, lower = int(high[at]) != NO_ID, int(low[at])
        if is_uuid:
            found[at] = uuid.UUID(int=int(high[at]) << 64 | lower)
        else:
            found[at] = None if lower == NO_ID else lower
    return found
