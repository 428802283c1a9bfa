"""A data directory that this process has open, and its collections."""
from __future__ import annotations

import json
import os
import time
import weakref
from ctypes import byref, c_char, c_int32, c_uint64, c_void_p, pointer
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _bench, _library
from ._arrays import NO_ID, Id, PointArrays, VectorRows, checked, ids_from_halves, json_bytes, n_rows, vectors_of
from ._errors import InvalidArgument
from ._library import Call, Options, Owner, check, check_not_forked, library, raise_error, take_text

_F32 = np.dtype(np.float32)
_FAILED_PRECONDITION = 9
_first_byte: Any = c_char.from_buffer
_new_tuple: Any = tuple.__new__  # what Hits(…) calls, without its checks: 0.15 us of 3
_MAX_REQUESTS = 64  # of different options of searches that a collection keeps
Filter = Mapping[str, Any]
PathLike = Union[str, "os.PathLike[str]"]


class Hits(NamedTuple):
    """The nearest points, best first.

    For one query, ids uint64 [hits] and scores float32 [hits]. For n queries, both [n, k]: a query with fewer hits has
    `NO_ID` and NaN behind them. Ids are an array of objects (int, uuid.UUID, None) if there are UUIDs among them.
    """

    ids: np.ndarray
    scores: np.ndarray


class Database:
    """A data directory. `quiver.open` makes one. Any number of threads may use it and its collections."""

    def __init__(self, path: PathLike, *, compute_threads: int = 0, background_threads: int = 0,
                 block_cache_bytes: int = 0, log_level: str = "warning") -> None:
        handle = c_void_p()
        options = Options(compute_threads, background_threads, block_cache_bytes, log_level.encode())
        check(library().quiver_open(os.fsencode(path), byref(options), byref(handle)))
        self._handle, self.path = handle, os.fspath(path)
        self._owner = Owner("quiver_free_database", handle)
        weakref.finalize(self, self._owner.free)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"quiver.Database({self.path!r})"

    def close(self) -> None:
        """Waits for calls of other threads, finishes queued work and gives the directory free for other processes.
        Calls after it raise FailedPrecondition. Closing again does nothing."""
        check(library().quiver_close(self._open_handle()))

    def collections(self) -> list[str]:
        """The names of all collections, ascending."""
        text = c_void_p()
        check(library().quiver_collections(self._open_handle(), byref(text)))
        names: list[str] = json.loads(take_text(text))
        return names

    def create_collection(self, name: str, config: Optional[Mapping[str, Any]] = None, *, dim: Optional[int] = None,
                          distance: str = "Cosine", datatype: str = "float32") -> Collection:
        """Creates a collection; it is durable on return. AlreadyExists if there is one of this name.

        Either `dim` (1 to 65536), `distance` (Cosine, Dot, Euclid, Manhattan) and `datatype` of one unnamed dense field,
        or `config`, the body of PUT /collections/{name}: several fields, sparse and multi-vectors, shards, settings.
        """
        if (config is None) == (dim is None):
            raise InvalidArgument("a collection wants either `config` or `dim`")
        if config is None:
            config = {"vectors": {"size": dim, "distance": distance, "datatype": datatype}}
        check(library().quiver_create_collection(self._open_handle(), name.encode(), json_bytes(config)))
        return self.collection(name)

    def collection(self, name: str) -> Collection:
        """The collection of this name or alias. NotFound if there is none."""
        return Collection(self, name)

    def drop_collection(self, name: str) -> bool:
        """Deletes a collection with all its points. False if there was none."""
        existed = c_int32()
        check(library().quiver_drop_collection(self._open_handle(), name.encode(), byref(existed)))
        return bool(existed.value)

    def _open_handle(self) -> c_void_p:
        check_not_forked(self._owner)
        return self._handle


class Collection:
    """A collection of an open database. `Database.collection` makes one. Any number of threads may use it."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self.name = database, name
        handle = c_void_p()
        check(library().quiver_get_collection(database._open_handle(), name.encode(), byref(handle)))
        self._handle, self._owner = handle, Owner("quiver_free_collection", handle)
        weakref.finalize(self, self._owner.free)
        self._search = library().quiver_search
        self._has_uuids = False  # until a hit has one
        self._requests: dict[Any, _Request] = {}
        self._plain = self._request(None, "", None, False, None, None)

    def __repr__(self) -> str:
        return f"quiver.Collection({self.name!r})"

    # Changes. Each is durable and visible when the call returns.

    def upsert(self, ids: Any, vectors: Union[VectorRows, Mapping[str, VectorRows]],
               payloads: Optional[Sequence[Any]] = None) -> None:
        """Creates points or replaces those with the same ids: all of them or, after an error, none.

        ids: uint64 [n], or a sequence of numbers or of UUIDs. vectors: float32 [n, dim], a `Sparse` or a `Multi`, for the
        unnamed field; or a mapping of the names of fields to these. payloads: n mappings, JSON texts or None.
        """
        points = PointArrays(ids, vectors, payloads)
        check(library().quiver_upsert(self._open_handle(), byref(points.structure)))

    def bulk_load(self, ids: Any, vectors: Union[VectorRows, Mapping[str, VectorRows]],
                  payloads: Optional[Sequence[Any]] = None) -> None:
        """The same as `upsert` for large sets: the points become one file, written once. About 256 MB of vectors at a
        time is a good size. An array of vectors is read in place."""
        points = PointArrays(ids, vectors, payloads)
        check(library().quiver_bulk_load(self._open_handle(), byref(points.structure)))

    def update(self, operations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Makes several changes, in their order and all of them or none. Each is one of POST
        /collections/{name}/points/batch: upsert, delete, set_payload, overwrite_payload, delete_payload, clear_payload,
        update_vectors, delete_vectors."""
        body = json_bytes({"operations": list(operations)})
        text = c_void_p()
        check(library().quiver_update(self._open_handle(), body, byref(text)))
        results: list[dict[str, Any]] = json.loads(take_text(text))
        return results

    def delete(self, ids: Optional[Iterable[Id]] = None, *, filter: Optional[Filter] = None) -> None:
        """Deletes the points with these ids, or those that match `filter`. Unknown ids are no error."""
        self.update([{"delete": _selector(ids, filter)}])

    def set_payload(self, payload: Mapping[str, Any], ids: Optional[Iterable[Id]] = None, *,
                    filter: Optional[Filter] = None, key: Optional[str] = None) -> None:
        """Merges `payload` into the payloads of points, at the top or under `key`. NotFound if an id is unknown."""
        body = dict(_selector(ids, filter), payload=payload)
        self.update([{"set_payload": body if key is None else dict(body, key=key)}])

    def create_index(self, key: str, schema: Union[str, Mapping[str, Any]]) -> None:
        """Creates a payload index: keyword, integer, float, bool, geo, datetime, text, uuid, or such a schema with
        options. Every segment uses it on return."""
        check(library().quiver_create_index(self._open_handle(), json_bytes({"field_name": key, "field_schema": schema})))

    def drop_index(self, key: str) -> bool:
        """Drops a payload index. False if there was none."""
        existed = c_int32()
        check(library().quiver_drop_index(self._open_handle(), key.encode(), byref(existed)))
        return bool(existed.value)

    # Searches.

    def search(self, queries: VectorRows, k: int = 10, *, filter: Optional[Filter] = None, using: str = "",
               params: Optional[Mapping[str, Any]] = None, exact: bool = False,
               score_threshold: Optional[float] = None, timeout: Optional[float] = None) -> Hits:
        """The `k` nearest points of one query or of each of n queries, which read one state of the collection.

        queries: float32 [dim] or [n, dim], read in place; or n queries as `Sparse` or `Multi`. using: the name of the
        field. params: `params` of REST, such as {"hnsw_ef": 256} for more effort. exact: compare all points. timeout: in
        seconds. TypeError for another dtype and ValueError for another shape; InvalidArgument for a wrong dimension.
        """
        request = self._plain
        if not (filter is None and params is None and score_threshold is None and timeout is None) or using or exact:
            request = self._request(filter, using, params, exact, score_threshold, timeout)
        if isinstance(queries, np.ndarray) and queries.ndim == 1:
            return self._search_one(queries, k, request)
        return self._search_rows(queries, k, request)

    def query(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Any query of POST /collections/{name}/points/query: fusions, prefetches, recommendations, text, formulas.
        Arrays of numpy may stand for vectors. Returns points with id, score and what the body selects."""
        points: list[dict[str, Any]] = self._read("query", body)["points"]
        return points

    def query_batch(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Several queries, which read one state of the collection. If one fails, all do."""
        return [answer["points"] for answer in self._read("query_batch", {"searches": list(bodies)})]

    # Other reads.

    def retrieve(self, ids: Iterable[Id], *, with_payload: Any = True, with_vector: Any = False) -> list[dict[str, Any]]:
        """The points with these ids, in their order. Unknown ids are left out."""
        body = {"ids": list(ids), "with_payload": with_payload, "with_vector": with_vector}
        points: list[dict[str, Any]] = self._read("retrieve", body)
        return points

    def scroll(self, *, filter: Optional[Filter] = None, with_payload: Any = True, with_vector: Any = False,
               page: int = 1000) -> Iterator[dict[str, Any]]:
        """All points that match, by id, read page by page. Each page reads the state of its moment."""
        body: dict[str, Any] = {"limit": page, "with_payload": with_payload, "with_vector": with_vector}
        if filter is not None:
            body["filter"] = filter
        while True:
            answer = self._read("scroll", body)
            yield from answer["points"]
            if answer["next_page_offset"] is None:
                return
            body["offset"] = answer["next_page_offset"]

    def count(self, *, filter: Optional[Filter] = None) -> int:
        """How many points match; without a filter, all."""
        return int(self._read("count", {} if filter is None else {"filter": filter})["count"])

    def __len__(self) -> int:
        return self.count()

    def facet(self, key: str, *, limit: int = 10, filter: Optional[Filter] = None) -> dict[Any, int]:
        """The values under `key`, which has a payload index, with their numbers of points, the most frequent first."""
        body = {"key": key, "limit": limit, "exact": True}
        hits = self._read("facet", body if filter is None else dict(body, filter=filter))["hits"]
        return {hit["value"]: hit["count"] for hit in hits}

    def aggregate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Counts, statistics and histograms, as docs/aggregates.md describes them. Returns them by name."""
        found: dict[str, Any] = self._read("aggregate", body)["aggregations"]
        return found

    def info(self) -> dict[str, Any]:
        """What GET /collections/{name} tells: state, counts, configuration."""
        told: dict[str, Any] = self._read("info", None)
        return told

    def wait_until_indexed(self, timeout: float = 600) -> None:
        """Returns when the points are in their indexes and no background work is left. Searches are right before, too,
        but slower. TimeoutError after `timeout` seconds."""
        deadline, calm_since = time.monotonic() + timeout, None
        while True:
            now, is_calm = time.monotonic(), self.info()["status"] == "green"
            calm_since = (calm_since or now) if is_calm else None
            # Points that were just written wait a second before they are sealed; until then there is no work.
            if calm_since is not None and now - calm_since >= 2:
                return
            if now > deadline:
                raise TimeoutError(f"collection {self.name} is still at work after {timeout} s")
            time.sleep(0.05)

    def bench(self, queries: np.ndarray, k: int = 10, *, efforts: Sequence[int] = (16, 32, 64, 128, 256, 512),
              repeats: int = 1, filter: Optional[Filter] = None, using: str = "") -> _bench.BenchCurve:
        """Measures recall against exact search, and latency of one query at a time, for each effort and for exact search.

        queries: float32 [n, dim]; some hundreds make steady figures. Recall of a query is the share of hits that score
        as well as the k-th best one. Print the result for a table.
        """
        checked(queries, _F32, 2, "queries")
        options = {"filter": filter, "using": using}
        return _bench.bench(self, queries, k, efforts, repeats, options)

    def _open_handle(self) -> c_void_p:
        check_not_forked(self._owner)
        return self._handle

    def _read(self, verb: str, body: Any) -> Any:
        text = c_void_p()
        given = b"" if body is None else json_bytes(body)
        check(library().quiver_read(self._open_handle(), verb.encode(), given, byref(text)))
        return json.loads(take_text(text))

    def _request(self, filter: Optional[Filter], using: str, params: Optional[Mapping[str, Any]], exact: bool,
                 score_threshold: Optional[float], timeout: Optional[float]) -> _Request:
        """Makes a request, or takes the one that was made for the same options."""
        parts = {"filter": filter, "using": using or None, "score_threshold": score_threshold,
                 "params": dict(params or {}, exact=True) if exact else params}
        body = json_bytes({name: part for name, part in parts.items() if part is not None})
        timeout_ms = 0 if timeout is None else max(1, round(timeout * 1000))
        key = (body, timeout_ms)
        request = self._requests.get(key)
        if request is None:
            if len(self._requests) >= _MAX_REQUESTS:
                self._requests.clear()
            request = self._requests[key] = _Request(body, timeout_ms)
        return request

    def _search_one(self, query: np.ndarray, k: int, request: _Request) -> Hits:
        if query.dtype != _F32 or not query.flags.c_contiguous:
            checked(query, _F32, 1, "queries")
        if self._owner.generation != _library._generation:
            check_not_forked(self._owner)
        if self._has_uuids:
            hits = self._search_rows(query[None, :], k, request)
            is_hit = ~np.isnan(hits.scores[0])
            return Hits(hits.ids[0][is_hit], hits.scores[0][is_hit])
        slot = request.take_slot(self._handle, k)
        address: Any
        try:
            address = byref(_first_byte(query))
        except (TypeError, ValueError):  # it is read-only, or empty
            address = query.ctypes.data
        status = self._search(slot.call, address, len(query))
        if status:
            if self._met_uuid(status):
                return self._search_one(query, k, request)
            raise_error(status)
        n = slot.count.value
        # What was found is a few bytes: copying them takes less time than asking numpy for the addresses of new arrays.
        found = (slot.ids[:n].copy(), slot.scores[:n].copy()) if n < k else (slot.ids.copy(), slot.scores.copy())
        request.slots.append(slot)
        one: Hits = _new_tuple(Hits, found)
        return one

    def _search_rows(self, queries: VectorRows, k: int, request: _Request) -> Hits:
        filled, n = vectors_of(queries, "", "queries"), n_rows(queries)
        ids, scores = np.empty((n, k), np.uint64), np.empty((n, k), np.float32)
        high = np.empty((n, k), np.uint64) if self._has_uuids else None
        call = Call(self._open_handle(), request.handle, n, k, ids.ctypes.data,
                    None if high is None else high.ctypes.data, scores.ctypes.data, None)
        status = library().quiver_search_vectors(byref(call), byref(filled))
        if status:
            if high is None and self._met_uuid(status):
                return self._search_rows(queries, k, request)
            raise_error(status)
        if high is None or bool((high == NO_ID).all()):
            return Hits(ids, scores)
        return Hits(ids_from_halves(ids, high), scores)

    def _met_uuid(self, status: int) -> bool:
        """Whether a search without room for UUIDs has to be repeated with room for them."""
        if status != _FAILED_PRECONDITION or b"UUID" not in library().quiver_error():
            return False
        self._has_uuids = True
        return True


class _Request:
    """What searches with the same options have in common, as the library keeps it."""

    def __init__(self, body: bytes, timeout_ms: int) -> None:
        self.handle = c_void_p()
        check(library().quiver_new_request(body, timeout_ms, byref(self.handle)))
        self.slots: list[_Slot] = []
        weakref.finalize(self, library().quiver_free_request, self.handle)

    def take_slot(self, collection: c_void_p, k: int) -> _Slot:
        """A slot that no other thread uses, to be put back into `slots`."""
        try:
            slot = self.slots.pop()
        except IndexError:
            return _Slot(collection, self, k)
        return slot if slot.k == k else _Slot(collection, self, k)


class _Slot:
    """Arrays for the hits of one query, with their addresses. One search at a time has a slot: it takes it from its
    request and gives it back, which the interpreter does in one step each."""

    __slots__ = ("k", "ids", "scores", "count", "call", "_kept")

    def __init__(self, collection: c_void_p, request: _Request, k: int) -> None:
        if k < 1:
            raise InvalidArgument(f"k is {k}, must be 1 or larger")
        self.k = k
        self.ids, self.scores, self.count = np.empty(k, np.uint64), np.empty(k, _F32), c_uint64()
        self._kept = Call(collection, request.handle, 1, k, self.ids.ctypes.data, None, self.scores.ctypes.data,
                          pointer(self.count))
        self.call = byref(self._kept)


def _selector(ids: Optional[Iterable[Id]], filter: Optional[Filter]) -> dict[str, Any]:
    if (ids is None) == (filter is None):
        raise InvalidArgument("points are named by `ids` or by `filter`, and by one of them")
    return {"filter": filter} if ids is None else {"points": list(ids)}
