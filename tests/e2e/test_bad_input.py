"""Bad input: the exact status, a text that names what was found and wanted, and no partial change.

Texts that clients match are compared whole. For other texts, the prefix and the parts that must occur are compared.
"""
import http.client
import json
import socket
import urllib.parse

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from patience import patience

WRONG, BAD, FORMAT = "Wrong input: ", "Bad request: ", "Format error in JSON body: "
VALIDATION = "Validation error in JSON body: ["


@pytest.fixture(scope="module")
def state(server):
    """A collection with every kind of field, and its contents."""
    server.put("/collections/victim", {
        "vectors": {"image": {"size": 4, "distance": "Cosine"},
                    "tokens": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
        "sparse_vectors": {"words": {}}}).result
    points = [{"id": k, "vector": {"image": [1, 2, 3, k], "tokens": [[k, 1], [1, k]],
                                   "words": {"indices": [k, 100], "values": [1, 2]}},
               "payload": {"city": "Berlin", "n": k}} for k in range(1, 20)]
    server.put("/collections/victim/points?wait=true", {"points": points}).result
    server.put("/collections/plain", {"vectors": {"size": 4, "distance": "Dot"}}).result
    server.put("/collections/plain/points?wait=true", {"points": [{"id": 1, "vector": [1, 2, 3, 4]}]}).result
    return snapshot(server)


def snapshot(server):
    """Everything a client can see: the list of collections and their contents."""
    seen = {"collections": sorted(c["name"] for c in server.get("/collections").result["collections"]),
            "aliases": server.get("/aliases").result}
    for name in ("victim", "plain"):
        body = {"limit": 1000, "with_vector": True}
        info = server.get(f"/collections/{name}").result
        seen[name] = [server.post(f"/collections/{name}/points/scroll", body).result, info["config"],
                      info["payload_schema"], info["points_count"]]
    return seen


def check(server, state, answer, status, text, whole=False):
    assert answer.status == status, f"{answer.status} {answer.text[:500]}"
    body = answer.json
    assert set(body) == {"status", "time"} and set(body["status"]) == {"error"}
    if whole:
        assert answer.error == text
    else:
        prefix, *named = [text] if isinstance(text, str) else text
        assert answer.error.startswith(prefix), answer.error
        for part in named:
            assert part in answer.error, f"{part!r} is not in {answer.error!r}"
    assert snapshot(server) == state


def upsert(*points, collection="victim"):
    """An upsert with a good first and a bad last point: it must change nothing."""
    good = {"id": 1, "vector": {} if collection == "victim" else [9, 9, 9, 9], "payload": {"touched": True}}
    return "PUT", f"/collections/{collection}/points?wait=true", {"points": [good, *points]}


def image(vector):
    return upsert({"id": 500, "vector": {"image": vector}})


def words(indices, values):
    return upsert({"id": 500, "vector": {"words": {"indices": indices, "values": values}}})


def query(body, path="query", collection="victim"):
    return "POST", f"/collections/{collection}/points/{path}", body


def create(body, name="fresh"):
    return "PUT", f"/collections/{name}", body


def filtered(condition):
    return query({"filter": {"must": [condition]}}, "scroll")


def raw(text, method="POST", path="/collections/victim/points/query"):
    return method, path, text.encode() if isinstance(text, str) else text


DENSE = {"size": 4, "distance": "Dot"}

# name: request, status, text. A str is the whole text; a tuple is a prefix and parts that must occur.
CASES = {
    # dimension
    "dimension-upsert": (image([1, 2, 3]), 400, "Wrong input: Vector dimension error: expected dim: 4, got 3"),
    "dimension-unnamed": (upsert({"id": 2, "vector": [1, 2, 3, 4, 5]}, collection="plain"), 400,
                          "Wrong input: Vector dimension error: expected dim: 4, got 5"),
    "dimension-multi": (upsert({"id": 500, "vector": {"tokens": [[1, 2, 3]]}}), 400,
                        "Wrong input: Vector dimension error: expected dim: 2, got 3"),
    "dimension-query": (query({"query": [1, 2, 3], "using": "image"}), 400,
                        "Wrong input: Vector dimension error: expected dim: 4, got 3"),
    "dimension-prefetch": (query({"prefetch": {"query": [1, 2], "using": "image"}, "query": {"fusion": "rrf"}}), 400,
                           "Wrong input: Vector dimension error: expected dim: 4, got 2"),
    "dimension-legacy": (query({"vector": [1, 2], "limit": 3}, "search", "plain"), 400,
                         "Wrong input: Vector dimension error: expected dim: 4, got 2"),
    "dimension-update-vectors": (("PUT", "/collections/victim/points/vectors?wait=true", {"points": [
        {"id": 1, "vector": {"image": [9, 9, 9, 9]}}, {"id": 2, "vector": {"image": [1]}}]}), 400,
        "Wrong input: Vector dimension error: expected dim: 4, got 1"),
    "dimension-wait-false": (("PUT", "/collections/victim/points?wait=false",
                              {"points": [{"id": 1, "vector": {}}, {"id": 2, "vector": {"image": [1]}}]}), 400,
                             "Wrong input: Vector dimension error: expected dim: 4, got 1"),
    "dimension-batch-operation": (("POST", "/collections/victim/points/batch?wait=true", {"operations": [
        {"delete": {"points": [1]}}, {"upsert": {"points": [{"id": 2, "vector": {"image": [1, 2]}}]}}]}), 400,
        "Wrong input: Vector dimension error: expected dim: 4, got 2"),
    "empty-dense": (image([]), 422,
                    "Validation error in JSON body: [points[1].vector.?.vector: dense vector must not be empty]"),
    "empty-dense-unnamed": (upsert({"id": 500, "vector": []}, collection="plain"), 422,
                            (VALIDATION, "points[1].vector.vector: dense vector must not be empty]")),
    "empty-dense-query": (query({"query": [], "using": "image"}), 400,
                          "Wrong input: Vector dimension error: expected dim: 4, got 0"),
    "empty-tokens": (upsert({"id": 500, "vector": {"tokens": []}}), 422,
                     (VALIDATION, "points[1].vector.?.vector: dense vector must not be empty]")),
    "empty-token": (upsert({"id": 500, "vector": {"tokens": [[]]}}), 422,
                    (VALIDATION, "points[1].vector.?.data: all vectors must be non-empty]")),
    "ragged-tokens": (upsert({"id": 500, "vector": {"tokens": [[1, 2], [1, 2, 3]]}}), 422,
                      (VALIDATION, "points[1].vector.?.data: all vectors must have the same dimension, "
                                   "found vector with dimension 3]")),
    # numbers
    "nan": (raw('{"query": [NaN, 1, 2, 3], "using": "image"}'), 400, (FORMAT,)),
    "infinity": (raw('{"query": [Infinity, 1, 2, 3], "using": "image"}'), 400, (FORMAT,)),
    "beyond-f64": (raw('{"query": [1e999, 1, 2, 3], "using": "image"}'), 400, (FORMAT,)),
    "beyond-f32": (image([1e39, 1, 2, 3]), 400, (FORMAT, "points[1].vector.?[0]", "1e+39", "32-bit float")),
    "beyond-f32-query": (query({"query": [1, -1e39, 2, 3], "using": "image"}), 400, (FORMAT, "query[1]", "-1e+39")),
    "null-in-vector": (image([1, None, 3, 4]), 400, (FORMAT, "points[1].vector.?[1]", "null")),
    "text-in-vector": (image([1, "2", 3, 4]), 400, (FORMAT, '"2"')),
    "sparse-index-negative": (words([-1], [1]), 400, (FORMAT, "indices[0]", "-1")),
    "sparse-index-beyond-u32": (words([2**32], [1]), 400, (FORMAT, "indices[0]", "4294967296")),
    "sparse-index-fraction": (words([1.5], [1]), 400, (FORMAT, "indices[0]", "1.5")),
    "sparse-value-beyond-f32": (words([1], [1e300]), 400, (FORMAT, "values[0]")),
    # sparse shapes
    "sparse-duplicate": (words([5, 3, 5], [1, 2, 3]), 422,
                         (VALIDATION, "points[1].vector.?.indices: Validation error: must be unique [{}]")),
    "sparse-lengths": (words([1, 2], [1]), 422,
                       (VALIDATION, "points[1].vector.?.values: Validation error: must be the same length as indices [{}]")),
    "sparse-query-duplicate": (query({"query": {"indices": [1, 1], "values": [1, 1]}, "using": "words"}), 422,
                               (VALIDATION, "indices: Validation error: must be unique [{}]")),
    "sparse-without-values": (upsert({"id": 500, "vector": {"words": {"indices": [1]}}}), 400,
                              (FORMAT, "missing field `values`")),
    "batch-lengths": (("PUT", "/collections/plain/points?wait=true",
                       {"batch": {"ids": [1, 2], "vectors": [[1, 2, 3, 4]]}}), 422, (VALIDATION, "2", "1")),
    # vector names
    "unknown-name-upsert": (upsert({"id": 500, "vector": {"nosuch": [1, 2]}}), 400,
                            "Wrong input: Not existing vector name error: nosuch"),
    "unknown-name-query": (query({"query": [1, 2, 3, 4], "using": "nosuch"}), 400,
                           "Wrong input: Not existing vector name error: nosuch"),
    "unknown-name-legacy": (query({"vector": {"name": "nosuch", "vector": [1]}, "limit": 1}, "search"), 400,
                            "Wrong input: Not existing vector name error: nosuch"),
    "unknown-name-prefetch": (query({"prefetch": [{"query": [1, 2, 3, 4], "using": "image"}, {"query": [1], "using": "no"}],
                                     "query": {"fusion": "rrf"}}), 400, "Wrong input: Not existing vector name error: no"),
    "unknown-name-delete-vectors": (("POST", "/collections/victim/points/vectors/delete?wait=true",
                                     {"vector": ["image", "nosuch"], "points": [1]}), 400,
                                    "Wrong input: Not existing vector name error: nosuch"),
    "no-using-in-named": (query({"query": [1, 2, 3, 4]}), 400, (WRONG, "Not existing vector name error")),
    "unnamed-in-named": (upsert({"id": 500, "vector": [1, 2, 3, 4]}), 400, (WRONG, "Not existing vector name error")),
    "dense-for-sparse": (upsert({"id": 500, "vector": {"words": [1, 2]}}), 400, (WRONG, "words")),
    "sparse-for-dense": (upsert({"id": 500, "vector": {"image": {"indices": [1], "values": [1]}}}), 400, (WRONG, "image")),
    "dense-query-for-sparse": (query({"query": [1, 2], "using": "words"}), 400, (WRONG, "words")),
    # collections
    "missing-collection-get": (("GET", "/collections/nosuch", None), 404, "Not found: Collection `nosuch` doesn't exist!"),
    "missing-collection-query": (query({"query": [1]}, collection="nosuch"), 404,
                                 "Not found: Collection `nosuch` doesn't exist!"),
    "missing-collection-upsert": (upsert(collection="nosuch"), 404, "Not found: Collection `nosuch` doesn't exist!"),
    "missing-collection-scroll": (query({}, "scroll", "nosuch"), 404, "Not found: Collection `nosuch` doesn't exist!"),
    "missing-collection-index": (("PUT", "/collections/nosuch/index", {"field_name": "a", "field_schema": "keyword"}), 404,
                                 "Not found: Collection `nosuch` doesn't exist!"),
    "missing-collection-alias": (("POST", "/collections/aliases", {"actions": [
        {"create_alias": {"collection_name": "victim", "alias_name": "one"}},
        {"create_alias": {"collection_name": "nosuch", "alias_name": "two"}}]}), 404,
        "Not found: Collection `nosuch` doesn't exist!"),
    "missing-lookup-collection": (query({"query": 1, "using": "image", "lookup_from": {"collection": "nosuch"}}), 404,
                                  "Not found: Collection nosuch not found"),
    "missing-lookup-unused": (query({"query": [1, 2, 3, 4], "using": "image", "lookup_from": {"collection": "nosuch"}}),
                              404, "Not found: Collection nosuch not found"),
    "missing-lookup-prefetch": (query({"prefetch": {"query": [1, 2, 3, 4], "using": "image",
                                                    "lookup_from": {"collection": "nosuch"}}, "query": {"fusion": "rrf"}}),
                                404, "Not found: Collection nosuch not found"),
    "missing-query-point": (query({"query": 777, "using": "image"}), 404, "Not found: No point with id 777 found"),
    "duplicate-collection": (create({"vectors": {"size": 9, "distance": "Dot"}}, "victim"), 409,
                             "Wrong input: Collection `victim` already exists!"),
    "size-0": (create({"vectors": {"size": 0, "distance": "Dot"}}), 422,
               "Validation error in JSON body: [vectors.size: value 0 invalid, must be from 1 to 65536]"),
    "size-65537": (create({"vectors": {"size": 65537, "distance": "Dot"}}), 422,
                   "Validation error in JSON body: [vectors.size: value 65537 invalid, must be from 1 to 65536]"),
    "size-negative": (create({"vectors": {"size": -1, "distance": "Dot"}}), 400, (FORMAT, "-1")),
    "unknown-distance": (create({"vectors": {"size": 4, "distance": "Hamming"}}), 400, (FORMAT, "Hamming")),
    "no-distance": (create({"vectors": {"size": 4}}), 400, (FORMAT, "distance")),
    "unknown-datatype": (create({"vectors": DENSE | {"datatype": "float8"}}), 400, (FORMAT, "float8")),
    "name-clash": (create({"vectors": {"image": DENSE}, "sparse_vectors": {"image": {}}}), 400,
                   (WRONG, "Dense and sparse vector names must be unique - duplicate found with 'image'")),
    "shard-number-0": (create({"vectors": DENSE, "shard_number": 0}), 422, (VALIDATION, "shard_number")),
    "ef-construct": (create({"vectors": DENSE, "hnsw_config": {"ef_construct": 1}}), 422,
                     (VALIDATION, "hnsw_config.ef_construct")),
    "quantile": (create({"vectors": DENSE, "quantization_config": {"scalar": {"type": "int8", "quantile": 2.0}}}), 422,
                 (VALIDATION, "quantile")),
    "unknown-quantization": (create({"vectors": DENSE, "quantization_config": {"int8": {}}}), 400,
                             (FORMAT, "quantization_config", "exactly one of `scalar`")),
    "two-quantizations": (create({"vectors": DENSE, "quantization_config": {"scalar": {"type": "int8"}, "binary": {}}}), 400,
                          (FORMAT, "quantization_config", "exactly one of `scalar`")),
    "strict-mode-type": (create({"vectors": DENSE, "strict_mode_config": {"max_query_limit": "ten"}}), 400,
                         (FORMAT, "strict_mode_config.max_query_limit")),
    "patch-vector-type": (("PATCH", "/collections/plain", {"vectors": {"": {"on_disk": "x"}}}), 400,
                          (FORMAT, "on_disk")),
    "patch-vector-size": (("PATCH", "/collections/plain", {"vectors": {"": {"size": 9, "distance": "Cosine"}}}), 200, None),
    "unknown-stopwords": (("PUT", "/collections/victim/index", {"field_name": "a", "field_schema": {
        "type": "text", "stopwords": "klingon"}}), 400, (FORMAT, "field_schema.stopwords", "klingon")),
    "patch-unknown-vector": (("PATCH", "/collections/victim", {"vectors": {"nosuch": {"on_disk": True}}}), 400,
                             (WRONG, "nosuch")),
    "unknown-index-type": (("PUT", "/collections/victim/index", {"field_name": "a", "field_schema": "varchar"}), 400,
                           (FORMAT, "varchar")),
    "index-without-use": (("PUT", "/collections/victim/index", {"field_name": "a", "field_schema": {
        "type": "integer", "lookup": False, "range": False}}), 422, (VALIDATION, "'lookup' and 'range'")),
    "index-scoring": (("PUT", "/collections/victim/index", {"field_name": "a", "field_schema": {
        "type": "text", "scoring": {"type": "tfidf"}}}), 400, (FORMAT, "field_schema.scoring.type", "expected `bm25`")),
    "index-nested": (("PUT", "/collections/victim/index", {"field_name": "a[].b", "field_schema": {
        "type": "integer", "nested": "a"}}), 400, (WRONG, "field_schema.nested")),
    "pinned-payloads": (create({"vectors": DENSE, "payload": {"memory": "pinned"}}), 422, (VALIDATION, "payload.memory", "pinned")),
    "index-bad-path": (("PUT", "/collections/victim/index", {"field_name": "a[", "field_schema": "keyword"}), 400, (FORMAT,)),
    # malformed JSON and wrong types
    "empty-body": (raw(""), 400, (FORMAT,)),
    "truncated": (raw('{"query": [1, 2'), 400, (FORMAT,)),
    "trailing-comma": (raw('{"limit": 1,}'), 400, (FORMAT,)),
    "trailing-garbage": (raw('{"limit": 1} x'), 400, (FORMAT,)),
    "two-values": (raw('{"limit": 1}{"limit": 2}'), 400, (FORMAT,)),
    "not-utf8": (raw(b'{"using": "\xff\xfe"}'), 400, (FORMAT,)),
    "lone-surrogate": (raw('{"using": "\\ud800"}'), 400, (FORMAT,)),
    "very-deep": (raw('{"filter": ' * 100_000), 400, (FORMAT,)),
    "deep-but-closed": (raw("[" * 5000 + "]" * 5000), 400, (FORMAT,)),
    "array-for-object": (raw("[]"), 400, (FORMAT, "invalid type: sequence")),
    "text-for-limit": (query({"limit": "ten"}), 400, (FORMAT, "limit", "invalid type: string \"ten\"")),
    "fraction-for-limit": (query({"limit": 1.5}), 400, (FORMAT, "limit", "1.5")),
    "number-for-points": (("PUT", "/collections/victim/points", {"points": 5}), 400, (FORMAT, "points", "invalid type")),
    "no-points": (("PUT", "/collections/victim/points", {}), 400, (FORMAT, "missing field `points`")),
    "payload-not-object": (upsert({"id": 500, "vector": {}, "payload": [1]}), 400, (FORMAT, "points[1].payload")),
    "no-vector": (upsert({"id": 500}), 400, (FORMAT, "points[1]", "missing field `vector`")),
    "no-id": (upsert({"vector": {}}), 400, (FORMAT, "points[1]", "missing field `id`")),
    "unknown-query-kind": (query({"query": {"nearby": [1]}, "using": "image"}), 400, (FORMAT,)),
    "unknown-fusion": (query({"query": {"fusion": "max"}, "prefetch": []}), 400, (FORMAT, "max")),
    "unknown-selector-key": (query({"with_payload": {"only": ["a"]}}), 400, (FORMAT, "only")),
    "unknown-operation": (("POST", "/collections/victim/points/batch?wait=true",
                           {"operations": [{"delete": {"points": [1]}}, {"truncate": {}}]}), 400, (FORMAT, "unknown operation")),
    "bad-payload-key": (("POST", "/collections/victim/points/payload?wait=true",
                         {"payload": {"a": 1}, "key": "a..b", "points": [1]}), 400, (FORMAT, "key")),
    "payload-without-selector": (("POST", "/collections/victim/points/payload?wait=true", {"payload": {"a": 1}}), 422,
                                 (VALIDATION, "Either list of point ids or filter must be provided")),
    # ids
    "id-negative": (upsert({"id": -1, "vector": {}}), 400, (FORMAT, "-1 is not a valid point ID")),
    "id-fraction": (upsert({"id": 1.5, "vector": {}}), 400, (FORMAT, "1.5 is not a valid point ID")),
    "id-beyond-u64": (raw('{"points": [{"id": 18446744073709551616, "vector": {}}]}', "PUT",
                          "/collections/victim/points?wait=true"), 400, (FORMAT,)),
    "id-text": (upsert({"id": "abc", "vector": {}}), 400, (FORMAT, '"abc" is not a valid point ID')),
    "id-null": (upsert({"id": None, "vector": {}}), 400, (FORMAT,)),
    "id-bool": (upsert({"id": True, "vector": {}}), 400, (FORMAT, "true")),
    "id-in-delete": (("POST", "/collections/victim/points/delete?wait=true", {"points": [1, "x"]}), 400, (FORMAT, '"x"')),
    "id-in-path": (("GET", "/collections/victim/points/x1", None), 400, (WRONG, 'Can not recognize "x1" as point id')),
    "id-in-path-negative": (("GET", "/collections/victim/points/-1", None), 400, (WRONG, '"-1"')),
    "id-missing-in-path": (("GET", "/collections/victim/points/999", None), 404,
                           "Not found: Point with id 999 does not exists!"),
    "id-as-offset": (query({"offset": -3}, "scroll"), 400, (FORMAT, "offset", "-3")),
    # filters
    "filter-key-alone": (filtered({"key": "x"}), 422,
                         (VALIDATION, "filter.must[0]", "At least one field condition must be specified", "`x`")),
    "filter-empty-condition": (filtered({}), 200, None),
    "filter-unknown-clause": (query({"filter": {"all": []}}, "scroll"), 400, (FORMAT, "filter", "all")),
    "filter-unknown-condition": (filtered({"key": "x", "like": "a"}), 400, (FORMAT, "like")),
    "filter-unknown-match": (filtered({"key": "x", "match": {"regex": "a"}}), 400, (FORMAT, "regex")),
    "filter-match-fraction": (filtered({"key": "x", "match": {"value": 1.5}}), 400, (FORMAT, "1.5")),
    "filter-mixed-any": (filtered({"key": "x", "match": {"any": [1, "a"]}}), 400, (FORMAT, "only strings or only integers")),
    "filter-range-text": (filtered({"key": "x", "range": {"gte": "soon"}}), 400, (FORMAT, "soon")),
    "filter-range-unknown": (filtered({"key": "x", "range": {"from": 1}}), 400, (FORMAT, "from")),
    "filter-bad-path": (filtered({"key": "a[x]", "match": {"value": 1}}), 400, (FORMAT, "a[x]")),
    "filter-latitude": (filtered({"key": "x", "geo_radius": {"center": {"lon": 0, "lat": 91}, "radius": 1}}), 400,
                        (FORMAT, "91")),
    "filter-open-polygon": (filtered({"key": "x", "geo_polygon": {"exterior": {"points": [
        {"lon": 0, "lat": 0}, {"lon": 1, "lat": 0}, {"lon": 1, "lat": 1}, {"lon": 0, "lat": 1}]}}}), 400,
        (FORMAT, "the first and the last points should be the same")),
    "filter-in-delete": (("POST", "/collections/victim/points/delete?wait=true", {"filter": {"must": [{"key": "n"}]}}), 422,
                         (VALIDATION, "`n`")),
    "filter-in-prefetch": (query({"prefetch": {"query": [1, 2, 3, 4], "using": "image", "filter": {"must": [{"key": "n"}]}},
                                  "query": {"fusion": "rrf"}}), 422, (VALIDATION, "prefetch.filter", "`n`")),
    # limits
    "limit-0-query": (query({"query": [1, 2, 3, 4], "using": "image", "limit": 0}), 422,
                      "Validation error in JSON body: [internal.limit: value 0 invalid, must be 1 or larger]"),
    "limit-0-scroll": (query({"limit": 0}, "scroll"), 422,
                       "Validation error in JSON body: [limit: value 0 invalid, must be 1 or larger]"),
    "limit-0-legacy": (query({"vector": [1, 2, 3, 4], "limit": 0}, "search", "plain"), 422,
                       (VALIDATION, "limit: value 0 invalid, must be 1 or larger]")),
    "hnsw-ef-0": (query({"query": [1, 2, 3, 4], "using": "image", "params": {"hnsw_ef": 0}}), 422,
                  "Validation error in JSON body: [internal.params.hnsw_ef: value 0 invalid, must be 1 or larger]"),
    "idf-corpus": (query({"query": [1, 2, 3, 4], "using": "image", "params": {"idf": {"corpus": {}}}}), 400,
                   (WRONG, "`idf`", "image")),
    "limit-negative": (query({"limit": -1}), 400, (FORMAT, "limit", "-1")),
    "offset-negative": (query({"query": [1, 2, 3, 4], "using": "image", "offset": -1}), 400, (FORMAT, "offset", "-1")),
    "legacy-without-limit": (query({"vector": [1, 2, 3, 4]}, "search", "plain"), 400, (FORMAT, "missing field `limit`")),
    # queries that make no sense
    "fusion-with-using": (query({"prefetch": {"query": [1, 2, 3, 4], "using": "image"}, "query": {"fusion": "rrf"},
                                 "using": "image"}), 400,
                          "Bad request: Fusion queries cannot be combined with the 'using' field."),
    "prefetch-without-query": (query({"prefetch": {"query": [1, 2, 3, 4], "using": "image"}}), 400,
                               "Bad request: A query is needed to merge the prefetches. Can't have prefetches without "
                               "defining a query."),
    "threshold-without-query": (query({"score_threshold": 0.5}), 400,
                                "Bad request: A query is needed to use the score_threshold. Can't have score_threshold "
                                "without defining a query."),
    "threshold-with-order": (query({"query": {"order_by": "n"}, "score_threshold": 0.5}), 400,
                             "Bad request: Can't use score_threshold with an order_by query."),
    "fusion-without-prefetch": (query({"query": {"fusion": "rrf"}}), 400, (BAD,)),
    "weights-count": (query({"prefetch": {"query": [1, 2, 3, 4], "using": "image"}, "query": {"rrf": {"weights": [1, 2]}}}),
                      400, (BAD, "2", "1")),
    "order-without-index": (query({"order_by": "n"}, "scroll"), 400,
                            (WRONG, "No range index for `order_by` key: `n`. Please create one to use `order_by`")),
    # parameters of the query string
    "wait": (("PUT", "/collections/victim/points?wait=maybe", {"points": [{"id": 1, "vector": {}}]}), 400, ("", "maybe")),
    "timeout-0": (("POST", "/collections/victim/points/query?timeout=0", {"limit": 1}), 422, ("Validation error in query",)),
    # paths
    "unknown-endpoint": (("POST", "/collections/victim/nearest", {}), 404, ("Not found: ", "/collections/victim/nearest")),
    "wrong-method": (("DELETE", "/collections/victim/points/query", None), 405, ("Method not allowed: ", "POST")),
}


@pytest.mark.parametrize("name", list(CASES))
def test_bad_input(server, state, name):
    (method, path, body), status, text = CASES[name]
    answer = server.request(method, path, body)
    if status == 200:  # looks odd, is legal
        answer.result
        assert snapshot(server) == state
        return
    check(server, state, answer, status, text, whole=isinstance(text, str))


HOSTILE_NAMES = ["..", ".", "a%2Fb", "%2E%2E", "%2e%2e%2fetc%2fpasswd", "a%00b", "a%0Ab", "a%1Fb", "a%5Cb", "a:b", "a*b",
                 "a%3Fb", "a%22b", "a%3Cb", "a%3Eb", "a%7Cb", "x" * 256, "a%FFb", "%"]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda n: n[:20])
def test_hostile_collection_names(server, state, name):
    before = sorted(p.name for p in server.data_dir.parent.rglob("*") if p.is_dir())
    for method, path, body in (("PUT", f"/collections/{name}", {"vectors": DENSE}),
                               ("PUT", f"/collections/{name}/points?wait=true", {"points": [{"id": 1, "vector": [1]}]}),
                               ("DELETE", f"/collections/{name}", None), ("GET", f"/collections/{name}", None)):
        answer = server.request(method, path, body)
        if name in ("a%FFb", "%"):
            assert (answer.status, answer.error) == (400, "Deserialize error in path parameters: not percent-encoded UTF-8")
        elif method == "DELETE":
            assert (answer.status, answer.result) == (200, False)
        elif (method == "PUT" and "points" not in path) or len(name) > 255:
            assert answer.status == 422, answer.text
            assert answer.error.startswith("Validation error in path parameters: [name: ")
        else:
            assert answer.status == 404, answer.text
            assert answer.error == f"Not found: Collection `{urllib.parse.unquote(name)}` doesn't exist!"
    assert snapshot(server) == state
    assert sorted(p.name for p in server.data_dir.parent.rglob("*") if p.is_dir()) == before


@pytest.mark.parametrize("name", ["a%2Fb", "a%3Ab", "a%01b"])
def test_text_of_forbidden_characters(server, state, name):
    answer = server.put(f"/collections/{name}", {"vectors": DENSE})
    check(server, state, answer, 422, ("Validation error in path parameters: [", "collection name cannot contain"))


def test_forbidden_alias_names(server, state):
    for alias in ("a/b", "", "..", "a\u0001"):
        answer = server.post("/collections/aliases", {"actions": [
            {"create_alias": {"collection_name": "victim", "alias_name": "fine"}},
            {"create_alias": {"collection_name": "victim", "alias_name": alias}}]})
        check(server, state, answer, 422, (VALIDATION, "alias_name"))


def test_body_too_large(server, state):
    """A body is refused by its announced length, before it is sent. The server keeps working."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(10)) as s:
        s.sendall(b"PUT /collections/victim/points HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  b"Content-Length: 104857600\r\n\r\n")
        response = http.client.HTTPResponse(s)
        response.begin()
        assert response.status == 413
        text = json.loads(response.read())["status"]["error"]
        assert text.startswith("Payload too large: ") and str(32 << 20) in text and "104857600" in text
    assert snapshot(server) == state


def test_body_too_large_without_length(server, state):
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(20)) as s:
        s.sendall(b"PUT /collections/victim/points HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"%x\r\n" % (1 << 20) + b"[" * (1 << 20) + b"\r\n"
        try:
            for _ in range(64):
                s.sendall(chunk)
        except OSError:
            pass  # the server may close while we still send
        try:
            response = http.client.HTTPResponse(s)
            response.begin()
            assert response.status == 413
        except (ConnectionError, http.client.HTTPException):
            pass  # the reset may overtake the answer
    assert snapshot(server) == state


@pytest.mark.parametrize("head", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                                  b"POST /collections HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                                  b"POST /collections HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
                                  b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n",
                                  b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n"],
                         ids=["binary", "no-target", "version", "length-negative", "two-lengths", "header", "target"])
def test_malformed_http(server, state, head):
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(10)) as s:
        answer = b""
        try:
            s.sendall(head)
            s.shutdown(socket.SHUT_WR)
            while chunk := s.recv(65536):
                answer += chunk
        except ConnectionError:
            pass  # closed before all was sent
        assert not answer or answer.split(b" ")[1][:1] == b"4", answer[:100]
    assert snapshot(server) == state


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2**70, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
    | st.text(max_size=8) | st.sampled_from(["random", "image", "words", "tokens", "city", "a[].b", "rrf", "asc"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["query", "filter", "must", "should", "must_not", "min_should", "conditions", "min_count", "key",
                         "match", "value", "any", "except", "text", "range", "gte", "lt", "has_id", "is_empty", "is_null",
                         "nested", "prefetch", "limit", "offset", "using", "with_payload", "with_vector", "params", "nearest",
                         "fusion", "rrf", "k", "weights", "order_by", "indices", "values", "ids", "score_threshold", "vector",
                         "name", "include", "searches", "sample", "prefix", "lookup_from", "collection"]), inner, max_size=5),
    max_leaves=20)


@seed(20260101)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(["query", "query/batch", "scroll", "count", "search", "search/batch", ""]), body=JSON)
def test_any_json_is_answered(server, state, path, body):
    """A read with any JSON is answered without a 5xx, and the process survives."""
    answer = server.post(f"/collections/victim/points/{path}".rstrip("/"), body)
    assert answer.status < 500, f"{answer.status} {answer.text[:300]}"
    assert "status" in answer.json


def test_nothing_changed_after_all(server, state):
    assert snapshot(server) == state
    assert server.alive()
