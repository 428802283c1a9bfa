"""Shapes of the REST API: envelope, status codes, defaults, echoed configuration, ids, aliases, updates, keys."""
import gzip
import json
import os
import re
import uuid
import warnings
import zlib
from datetime import datetime, timezone

import pytest
from pydantic import TypeAdapter
from qdrant_client import models
from qdrant_client.common.version_check import is_compatible
from qdrant_client.qdrant_remote import QdrantRemote

from patience import comes_true, patience
from quiver_server import SMALL_SEGMENTS, Server

UNNAMED = {"vectors": {"size": 2, "distance": "Dot"}}
NAMED = {"vectors": {"image": {"size": 2, "distance": "Cosine"}, "text": {"size": 3, "distance": "Euclid"}},
         "sparse_vectors": {"words": {}}}


def create(server, name, body=UNNAMED):
    assert server.put(f"/collections/{name}", body).result is True


def upsert(server, name, points, query="wait=true", **more):
    return server.put(f"/collections/{name}/points?{query}", {"points": points} | more).result


def points_of(server, name, ids, **more):
    return server.post(f"/collections/{name}/points", {"ids": ids} | more).result


def error(answer, status, text):
    assert answer.status == status, f"{answer.status} {answer.text}"
    body = answer.json
    assert set(body) == {"status", "time"} and set(body["status"]) == {"error"}, body
    assert body["status"]["error"] == text
    return True


# Envelope and the paths that have none


def test_root(server):
    answer = server.get("/")
    assert answer.status == 200
    body = answer.json
    assert body["title"] and re.fullmatch(r"\d+\.\d+\.\d+.*", body["version"])
    assert set(body) <= {"title", "version", "commit"} and re.fullmatch("[0-9a-f]{40}", body.get("commit", "0" * 40))
    assert answer.headers["content-type"].startswith("application/json")


def test_the_other_identity(new_server):
    """Clients compare versions when they connect. Clients of three minor versions must not warn."""
    server = new_server(args=["--set", "compat.identity=qdrant"]).start()
    body = server.get("/").json
    assert body["title"] == "qdrant - vector search engine" and re.fullmatch("[0-9a-f]{40}", body["commit"])
    assert [is_compatible(f"1.{minor}.0", body["version"]) for minor in range(17, 22)] == [False, True, True, True, False]
    with warnings.catch_warnings(record=True) as told:  # a client's constructor checks this in another thread
        warnings.simplefilter("always")
        QdrantRemote._check_compatibility(f"http://127.0.0.1:{server.port}", {}, None, int(patience(5)))
    assert not told
    server.stop()


@pytest.mark.parametrize("path,text", [("/healthz", "healthz check passed"), ("/livez", "healthz check passed"),
                                       ("/readyz", "all shards are ready")])
def test_health(server, path, text):
    answer = server.get(path)
    assert (answer.status, answer.text) == (200, text)
    assert answer.headers["content-type"].startswith("text/plain")


def test_metrics(server, name):
    create(server, name)
    answer = server.get("/metrics")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain")
    sample = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{(?:[a-z_]+="[^"]*",?)*\})? (-?[0-9.eE+-]+|\+Inf|NaN)( \d+)?')
    names = set()
    for line in answer.text.splitlines():
        if line and not line.startswith("#"):
            assert sample.fullmatch(line), line
            names.add(re.split(r"[{ ]", line)[0])
    assert any("rest_responses" in n for n in names), names


def telemetry(server, query=""):
    result = server.get(f"/telemetry{query}").result
    return TypeAdapter(models.TelemetryData).validate_python(result), result


def test_telemetry_by_levels(new_server):
    """The keys of each level are the stock ones, and the stock client's models read them."""
    server = new_server(env=SMALL_SEGMENTS).start()
    create(server, "c", {"vectors": {"image": {"size": 2, "distance": "Cosine"},
                                     "tokens": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
                         "sparse_vectors": {"words": {"modifier": "idf"}}, "metadata": {"owner": "me"}, "shard_number": 2})
    server.put("/collections/c/index?wait=true", {"field_name": "n", "field_schema": {"type": "integer", "lookup": True}})
    upsert(server, "c", [{"id": k, "payload": {"n": k}, "vector": {
        "image": [1, k], "tokens": [[1, k], [k, 1]], "words": {"indices": [k], "values": [1]}}} for k in range(100)])
    level_0 = {"id", "app", "collections", "cluster", "requests", "quota"}
    collection_keys = {1: {"vectors", "optimizers_status", "params"}, 2: {"id", "init_time_ms", "config"}}
    full_keys = collection_keys[2] | {"shards", "transfers", "resharding"}
    local_keys = {"variant_name", "status", "total_optimized_points", "vectors_size_bytes", "payloads_size_bytes", "num_points",
                  "num_vectors", "num_vectors_by_name", "optimizations", "async_scorer", "update_queue"}
    for level in [0, 1, 2, 3, 4, 10]:
        read, raw = telemetry(server, f"?details_level={level}")
        assert read.collections.number_of_collections == 1 and read.cluster.enabled is False
        put = raw["requests"]["rest"]["responses"]["PUT /collections/{collection_name}/points"]["200"]
        assert put["count"] == 1 and put["avg_duration_micros"] > 0
        assert raw["requests"]["grpc"] == {"responses": {}}
        if level == 0:
            assert set(raw) == level_0 and set(raw["collections"]) == {"number_of_collections"}
            assert set(raw["app"]) == {"name", "version", "startup"}
            continue
        assert set(raw) == level_0 | {"memory", "hardware", "search_pool"}
        assert set(raw["collections"]) == {"number_of_collections", "collections", "snapshots"}
        assert put["min_duration_micros"] <= put["avg_duration_micros"] <= put["max_duration_micros"]
        last = datetime.fromisoformat(put["last_responded"].replace("Z", "+00:00"))
        assert abs((datetime.now(timezone.utc) - last).total_seconds()) < 3600
        assert read.app.features.staging is False and read.app.system.cores == os.cpu_count()
        assert read.memory.resident_bytes > 0
        [collection] = raw["collections"]["collections"]
        assert set(collection) == collection_keys.get(level, full_keys)
        if level == 1:
            assert collection["vectors"] == 300 and set(collection["params"]["vectors"]) == {"image", "tokens"}
            continue
        assert collection["id"] == "c" and collection["config"]["metadata"] == {"owner": "me"}
        for shard in collection.get("shards", []):
            assert set(shard) == {"id", "key", "local", "remote", "replicate_states", "partial_snapshot"}
            assert set(shard["local"]) == local_keys | ({"segments", "indexed_only_excluded_vectors"} if level >= 4 else set())
        if level >= 3:
            local = [shard["local"] for shard in collection["shards"]]
            assert len(local) == 2 and sum(s["num_points"] for s in local) == 100
            assert sum(s["num_vectors_by_name"]["words"] for s in local) == 100
        if level >= 4:
            segments = [segment for s in local for segment in s["segments"]]
            assert all(set(s) == {"info", "config", "vector_index_searches", "payload_field_indices"} for s in segments)
            assert sum(s["info"]["num_points"] for s in segments) == 100
            assert sum(s["info"]["index_schema"]["n"]["points"] for s in segments) == 100
            assert sum(s["payload_field_indices"][0]["points_values_count"] for s in segments) >= 100
            assert set(segments[0]["config"]["vector_data"]) == {"image", "tokens"}
            assert set(segments[0]["config"]["sparse_vector_data"]) == {"words"}
    hidden = server.get("/telemetry?details_level=10&anonymize=true").text
    assert not [name for name in ("image", "tokens", "words", "owner", '"c"', '"n"') if name in hidden]
    server.stop()


def test_an_empty_collection_has_a_segment_that_grows(new_server):
    server = new_server().start()
    create(server, "c", {"vectors": {"size": 2, "distance": "Dot"}, "shard_number": 2})
    _, raw = telemetry(server, "?details_level=4")
    [collection] = raw["collections"]["collections"]
    for shard in collection["shards"]:
        [segment] = shard["local"]["segments"]
        assert segment["info"]["is_appendable"] and segment["info"]["num_points"] == 0
        assert segment["info"]["num_deferred_points"] == 0
        assert segment["config"]["vector_data"][""]["size"] == 2
    server.stop()


def test_telemetry_counts_what_was_answered(new_server):
    server = new_server().start()
    first, _ = telemetry(server)
    create(server, "c")
    for _ in range(3):
        server.get("/collections/c/points/7")
    read, raw = telemetry(server, "?details_level=3")
    answers = raw["requests"]["rest"]["responses"]
    assert answers["GET /collections/{collection_name}/points/{id}"]["404"]["count"] == 3
    assert answers["GET /telemetry"]["200"]["count"] == 1
    assert read.id == first.id and read.app.startup == first.app.startup
    server.stop()
    server.start()
    again, raw = telemetry(server, "?details_level=3")
    assert again.id != first.id and again.app.startup > first.app.startup
    assert raw["collections"]["number_of_collections"] == 1 and raw["collections"]["collections"] == [], "it opens none"
    server.stop()


def test_envelope(server, name):
    answer = server.put(f"/collections/{name}", UNNAMED)
    body = answer.json
    assert answer.headers["content-type"].startswith("application/json")
    assert set(body) == {"result", "status", "time"}
    assert body["result"] is True and body["status"] == "ok" and isinstance(body["time"], float)
    assert 0 <= body["time"] < 60


def test_unknown_path_and_method(server):
    assert server.get("/no/such/path").status == 404
    assert server.patch("/collections", {}).status in (404, 405)
    assert server.get("/collections/").status == 200  # a trailing slash does not matter


# Collections


def test_collection_life(server, name):
    path = f"/collections/{name}"
    assert error(server.get(path), 404, f"Not found: Collection `{name}` doesn't exist!")
    assert server.get(f"{path}/exists").result == {"exists": False}
    answer = server.delete(path)
    assert answer.status == 200 and answer.json["result"] is False
    create(server, name)
    assert error(server.put(path, UNNAMED), 409, f"Wrong input: Collection `{name}` already exists!")
    assert server.get(f"{path}/exists").result == {"exists": True}
    assert {"name": name} in server.get("/collections").result["collections"]
    assert server.delete(path).result is True
    assert server.delete(path).result is False
    assert {"name": name} not in server.get("/collections").result["collections"]
    assert server.get(path).status == 404


CONFIGS = [
    {"vectors": {"size": 4, "distance": "Dot"}},
    {"vectors": {"size": 4, "distance": "Cosine", "on_disk": True, "datatype": "float16",
                 "hnsw_config": {"m": 24}, "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99}}}},
    {"vectors": {"size": 65536, "distance": "Manhattan", "datatype": "uint8"}},
    {"vectors": {"a": {"size": 4, "distance": "Euclid"},
                 "b": {"size": 2, "distance": "Cosine", "multivector_config": {"comparator": "max_sim"}}}},
    {"vectors": {}, "sparse_vectors": {"s": {"index": {"on_disk": False}, "modifier": "idf"}}},
    {"sparse_vectors": {"s": {"index": {"on_disk": True, "full_scan_threshold": 5000, "datatype": "float32"}}}},
    {"vectors": {"": {"size": 3, "distance": "Dot"}, "other": {"size": 1, "distance": "Dot"}}},
]


@pytest.mark.parametrize("config", range(len(CONFIGS)))
def test_config_is_echoed_as_given(server, name, config):
    """Exactly the given keys: clients compare, and refuse unknown keys."""
    config = CONFIGS[config]
    create(server, name, config)
    params = server.get(f"/collections/{name}").result["config"]["params"]
    assert params.get("vectors", {}) == config.get("vectors", {})
    assert ("sparse_vectors" in params) == ("sparse_vectors" in config)
    assert params.get("sparse_vectors") == config.get("sparse_vectors")


def test_collection_info(server, name):
    body = UNNAMED | {"shard_number": 2, "on_disk_payload": True,
                      "hnsw_config": {"m": 8, "ef_construct": 64}, "wal_config": {"wal_capacity_mb": 4},
                      "optimizers_config": {"max_optimization_threads": 0, "indexing_threshold": 777},
                      "quantization_config": {"binary": {"always_ram": True}}, "metadata": {"owner": {"team": [1, None]}}}
    create(server, name, body)
    upsert(server, name, [{"id": k, "vector": [k, 1]} for k in range(10)])
    info = server.get(f"/collections/{name}").result
    assert info["status"] in ("green", "yellow", "grey") and info["optimizer_status"] == "ok"
    assert info["points_count"] == 10 and info["segments_count"] >= 1 and info["indexed_vectors_count"] >= 0
    assert info["payload_schema"] == {}
    config = info["config"]
    assert config["params"]["shard_number"] == 2 and config["params"]["on_disk_payload"] is True
    assert config["params"]["replication_factor"] == 1 and config["params"]["write_consistency_factor"] == 1
    assert config["hnsw_config"]["m"] == 8 and config["hnsw_config"]["ef_construct"] == 64
    assert "full_scan_threshold" in config["hnsw_config"]
    assert config["wal_config"]["wal_capacity_mb"] == 4
    assert config["optimizer_config"]["max_optimization_threads"] == 0
    assert config["optimizer_config"]["indexing_threshold"] == 777
    assert config["quantization_config"] == {"binary": {"always_ram": True}}
    assert config["metadata"] == {"owner": {"team": [1, None]}}
    parsed = server.client().get_collection(name)  # the client's strict models take it
    assert parsed.config.params.vectors.size == 2


def test_nulls_are_as_absent(server, name):
    """Clients send null for whatever they do not set."""
    body = {"vectors": {"size": 2, "distance": "Dot", "on_disk": None, "hnsw_config": None, "datatype": None},
            "sparse_vectors": None, "hnsw_config": None, "wal_config": {"wal_capacity_mb": None},
            "optimizers_config": {"max_segment_size": None, "memmap_threshold": None}, "quantization_config": None,
            "sharding_method": None, "shard_number": None, "metadata": None}
    create(server, name, body)
    point = {"id": 1, "vector": [1, 2], "payload": None}
    upsert(server, name, [point], shard_key=None, update_filter=None, update_mode=None)
    query = {"query": [1, 1], "filter": None, "params": None, "prefetch": None, "using": None, "score_threshold": None,
             "limit": None, "offset": None, "with_payload": None, "with_vector": None, "lookup_from": None}
    assert [hit["id"] for hit in server.post(f"/collections/{name}/points/query", query).result["points"]] == [1]
    scroll = {"offset": None, "limit": None, "filter": {"must": None, "should": None, "must_not": None,
                                                        "min_should": None}, "order_by": None}
    assert len(server.post(f"/collections/{name}/points/scroll", scroll).result["points"]) == 1


def test_patch(server, name):
    create(server, name)
    body = {"optimizers_config": {"max_optimization_threads": 4, "indexing_threshold": 5}, "hnsw_config": {"m": 20},
            "vectors": {"": {"on_disk": True, "hnsw_config": {"m": 30}}}, "params": {"on_disk_payload": True},
            "metadata": {"a": 1}}
    assert server.patch(f"/collections/{name}", body).result is True
    config = server.get(f"/collections/{name}").result["config"]
    assert config["optimizer_config"]["max_optimization_threads"] == 4
    assert config["optimizer_config"]["indexing_threshold"] == 5
    assert config["hnsw_config"]["m"] == 20 and config["hnsw_config"]["ef_construct"] == 100
    assert config["params"]["vectors"]["on_disk"] is True and config["params"]["vectors"]["hnsw_config"] == {"m": 30}
    assert config["params"]["on_disk_payload"] is True and config["metadata"] == {"a": 1}
    assert error(server.patch("/collections/none-such", body), 404,
                 "Not found: Collection `none-such` doesn't exist!")


def test_payload_index(server, name):
    create(server, name)
    path = f"/collections/{name}/index"
    upsert(server, name, [{"id": k, "vector": [1, 1], "payload": {"city": "x", "n": k}} for k in range(3)])
    for field, schema, kind in (("city", "keyword", "keyword"), ("n", {"type": "integer", "lookup": True, "range": True},
                                                                "integer"), ("later", "datetime", "datetime")):
        result = server.put(f"{path}?wait=true", {"field_name": field, "field_schema": schema}).result
        assert result["status"] == "completed"
        stored = server.get(f"/collections/{name}").result["payload_schema"][field]
        assert stored["data_type"] == kind and isinstance(stored["points"], int)
        assert stored.get("params") == (schema if isinstance(schema, dict) else None)
    assert server.get(f"/collections/{name}").result["payload_schema"]["city"]["points"] == 3
    server.client().get_collection(name)
    assert server.delete(f"{path}/city?wait=true").result["status"] == "completed"
    assert set(server.get(f"/collections/{name}").result["payload_schema"]) == {"n", "later"}


def test_aliases(server, name):
    other, alias = f"{name}-other", f"{name}-alias"
    create(server, name)
    create(server, other)
    upsert(server, name, [{"id": 1, "vector": [1, 1]}])
    actions = lambda *a: server.post("/collections/aliases", {"actions": list(a)})
    make = lambda c, a: {"create_alias": {"collection_name": c, "alias_name": a}}
    assert actions(make(name, alias)).result is True
    assert server.get(f"/collections/{name}/aliases").result == {
        "aliases": [{"alias_name": alias, "collection_name": name}]}
    assert {"alias_name": alias, "collection_name": name} in server.get("/aliases").result["aliases"]
    # An alias works wherever a collection name does.
    assert server.get(f"/collections/{alias}").result["points_count"] == 1
    assert server.post(f"/collections/{alias}/points/count", {}).result == {"count": 1}
    upsert(server, alias, [{"id": 2, "vector": [2, 2]}])
    assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 2}
    # All or nothing.
    broken = actions(make(other, f"{name}-second"), make("none-such", f"{name}-third"))
    assert broken.status == 404
    assert f"{name}-second" not in json.dumps(server.get("/aliases").result)
    # Several at once: the switch from one collection to another.
    assert actions({"delete_alias": {"alias_name": alias}}, make(other, alias)).result is True
    assert server.get(f"/collections/{alias}").result["points_count"] == 0
    assert actions({"rename_alias": {"old_alias_name": alias, "new_alias_name": f"{alias}2"}}).result is True
    assert server.get(f"/collections/{alias}").status == 404
    # A name is either a collection or an alias.
    assert error(server.put(f"/collections/{alias}2", UNNAMED), 400,
                 f"Wrong input: Can't create collection with name {alias}2. Alias with the same name already exists")
    assert actions(make(other, name)).status in (400, 409)
    # DELETE takes a collection's own name, never an alias.
    assert server.delete(f"/collections/{alias}2").result is False
    assert server.get(f"/collections/{alias}2").result["points_count"] == 0
    # Deleting a collection deletes its aliases.
    assert server.delete(f"/collections/{other}").result is True
    assert f"{alias}2" not in json.dumps(server.get("/aliases").result)


# Points


def test_upsert_forms(server, name):
    create(server, name, NAMED)
    result = upsert(server, name, [
        {"id": 1, "vector": {"image": [3, 4], "words": {"indices": [7, 3], "values": [0.5, 1.5]}}, "payload": {"a": 1}},
        {"id": 2, "vectors": {"text": [1, 2, 3]}}, {"id": 3, "vector": {}}])
    assert result["status"] == "completed" and isinstance(result["operation_id"], int)
    batch = {"batch": {"ids": [4, 5], "vectors": {"image": [[1, 0], [0, 2]]}, "payloads": [{"b": 2}, None]}}
    server.put(f"/collections/{name}/points?wait=true", batch).result
    got = {p["id"]: p for p in points_of(server, name, [1, 2, 3, 4, 5], with_vector=True)}
    assert got[1]["vector"]["words"] == {"indices": [3, 7], "values": [1.5, 0.5]}  # sorted by index
    assert got[1]["vector"]["image"] == pytest.approx([0.6, 0.8])  # cosine fields come back normalised
    assert got[1]["payload"] == {"a": 1}
    assert got[2]["vector"] == {"text": [1.0, 2.0, 3.0]} and got[2]["payload"] == {}
    assert got[4]["payload"] == {"b": 2} and got[5]["payload"] == {}
    assert got[5]["vector"] == {"image": [0.0, 1.0]}
    unnamed = f"{name}-unnamed"
    create(server, unnamed)
    server.put(f"/collections/{unnamed}/points?wait=true", {"batch": {"ids": [1], "vectors": [[1, 2]]}}).result
    assert points_of(server, unnamed, [1], with_vector=True)[0] == {"id": 1, "payload": {}, "vector": [1.0, 2.0]}


def test_defaults_of_selectors(server, name):
    """with_payload is true for scroll, retrieve and get, false for query; with_vector is true for get only."""
    create(server, name)
    upsert(server, name, [{"id": 1, "vector": [1, 2], "payload": {"a": 1}}])
    path = f"/collections/{name}/points"
    assert server.get(f"{path}/1").result == {"id": 1, "payload": {"a": 1}, "vector": [1.0, 2.0]}
    assert points_of(server, name, [1]) == [{"id": 1, "payload": {"a": 1}}]
    assert server.post(f"{path}/scroll", {}).result == {"points": [{"id": 1, "payload": {"a": 1}}],
                                                        "next_page_offset": None}
    [hit] = server.post(f"{path}/query", {"query": [1, 1]}).result["points"]
    assert set(hit) == {"id", "version", "score"} and hit["score"] == 3.0 and isinstance(hit["version"], int)
    [hit] = server.post(f"{path}/query", {"query": [1, 1], "with_payload": True, "with_vectors": True}).result["points"]
    assert hit["payload"] == {"a": 1} and hit["vector"] == [1.0, 2.0]
    assert points_of(server, name, [1], with_payload=False) == [{"id": 1}]
    assert points_of(server, name, [1, 2, 3]) == [{"id": 1, "payload": {"a": 1}}]  # missing ids are left out
    for select in (["a"], {"include": ["a"]}, {"exclude": ["b"]}):
        assert points_of(server, name, [1], with_payload=select)[0]["payload"] == {"a": 1}
    assert points_of(server, name, [1], with_payload={"exclude": ["a"]})[0]["payload"] == {}


def test_get_missing_point(server, name):
    create(server, name)
    assert error(server.get(f"/collections/{name}/points/77"), 404, "Not found: Point with id 77 does not exists!")
    assert server.get(f"/collections/{name}/points/abc").status == 400
    assert 'Can not recognize "abc" as point id' in server.get(f"/collections/{name}/points/abc").error


def test_ids(server, name):
    """All of u64, all spellings of a UUID, numbers before UUIDs."""
    create(server, name)
    one = uuid.UUID("5c56c793-69f3-4fbf-87e6-c4bf54c28c26")
    spellings = [one.hex, str(one).upper(), f"urn:uuid:{one}", "{%s}" % one, str(one)]
    for k, spelling in enumerate(spellings):
        upsert(server, name, [{"id": spelling, "vector": [k, k]}])
        assert points_of(server, name, [spelling])[0]["id"] == str(one)
        assert server.get(f"/collections/{name}/points/{one.hex}").result["id"] == str(one)
    numbers = [2**64 - 1, 0, 2**53 + 1, 2**63, 5]
    low = "00000000-0000-0000-0000-000000000001"
    upsert(server, name, [{"id": id, "vector": [1, 1]} for id in [low] + numbers])
    wanted = sorted(numbers) + [low, str(one)]
    answer = server.post(f"/collections/{name}/points/scroll", {"with_payload": False, "limit": 100})
    assert [p["id"] for p in answer.result["points"]] == wanted
    assert str(2**64 - 1) in answer.text  # not 1.8e19
    seen, offset = [], None
    while True:
        page = server.post(f"/collections/{name}/points/scroll", {"limit": 2, "offset": offset}).result
        seen += [p["id"] for p in page["points"]]
        offset = page["next_page_offset"]
        if offset is None:
            break
    assert seen == wanted
    assert server.get(f"/collections/{name}/points/{2**64 - 1}").result["id"] == 2**64 - 1
    server.post(f"/collections/{name}/points/delete?wait=true", {"points": [2**64 - 1, one.hex]}).result
    assert server.post(f"/collections/{name}/points/count", {}).result["count"] == len(wanted) - 2


def test_numbers_survive(server, name):
    """Payloads keep ints and floats apart and lose no digit; vectors print as the shortest f32."""
    create(server, name)
    payload = {"i": 1, "f": 1.0, "u": 2**64 - 1, "n": -2**63, "d": 0.1, "e": 1e300, "t": True, "z": None,
               "s": "a\"\\\u0000\u001f\u2028é😀", "empty": {}, "list": [], "deep": {"a": [{"b": [[1, 2.5]]}]}}
    upsert(server, name, [{"id": 1, "vector": [0.3, 1e-7], "payload": payload}])
    answer = server.get(f"/collections/{name}/points/1")
    assert json.dumps(answer.result["payload"], sort_keys=True) == json.dumps(payload, sort_keys=True)
    assert list(answer.result["payload"]) == list(payload)  # in the order given
    assert answer.result["vector"] == [0.3, 1e-7] and "0.3," in answer.text
    [hit] = server.post(f"/collections/{name}/points/query", {"query": [1, 0]}).result["points"]
    assert hit["score"] == 0.3


def test_wait_false_becomes_visible(server, name):
    create(server, name)
    for query in ("wait=false", ""):
        result = upsert(server, name, [{"id": 1, "vector": [1, 1], "payload": {"q": query}}], query=query)
        assert result["status"] in ("acknowledged", "completed") and isinstance(result["operation_id"], int)
        assert comes_true(lambda: [p["payload"].get("q") for p in points_of(server, name, [1])] == [query])
    assert error(server.put(f"/collections/{name}/points?wait=false", {"points": [{"id": 2, "vector": [1]}]}), 400,
                 "Wrong input: Vector dimension error: expected dim: 2, got 1")


def test_query_parameters_are_accepted(server, name):
    create(server, name)
    upsert(server, name, [{"id": 1, "vector": [1, 1]}], query="wait=true&ordering=strong&timeout=5")
    for consistency in ("majority", "quorum", "all", "1", ""):
        path = f"/collections/{name}/points/query?consistency={consistency}&timeout=5"
        assert len(server.post(path, {"query": [1, 1]}).result["points"]) == 1
    for bad in ("consistency=most", "consistency=0", "timeout=0", "timeout=x"):
        assert server.post(f"/collections/{name}/points/query?{bad}", {"query": [1, 1]}).status in (400, 422), bad
    for bad in ("wait=maybe", "ordering=fast"):
        answer = server.put(f"/collections/{name}/points?{bad}", {"points": [{"id": 2, "vector": [1, 1]}]})
        assert answer.status in (400, 422), bad
    assert server.post(f"/collections/{name}/points/count", {}).result["count"] == 1


def test_update_filter_and_mode(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 0], "payload": {"k": k}} for k in range(4)])
    changed = [{"id": k, "vector": [9, 9], "payload": {"k": k, "new": True}} for k in range(6)]
    upsert(server, name, changed, update_filter={"must": {"key": "k", "range": {"gte": 2}}})
    new = lambda: [p["id"] for p in points_of(server, name, list(range(8))) if "new" in p["payload"]]
    assert new() == [2, 3, 4, 5]  # missing points are inserted anyway
    upsert(server, name, [{"id": k, "vector": [0, 0], "payload": {"new": 2}} for k in (0, 6)], update_mode="insert_only")
    assert new() == [2, 3, 4, 5, 6]
    upsert(server, name, [{"id": k, "vector": [0, 0], "payload": {"new": 3}} for k in (1, 7)], update_mode="update_only")
    assert new() == [1, 2, 3, 4, 5, 6]
    assert server.put(f"/collections/{name}/points?wait=true",
                      {"points": changed, "update_mode": "sometimes"}).status in (400, 422)


def test_payload_operations(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 0], "payload": {"a": k, "o": {"x": 1}}} for k in range(3)])
    path = f"/collections/{name}/points/payload"
    payload = lambda id: points_of(server, name, [id])[0]["payload"]
    done = lambda answer: answer.result["status"] == "completed"
    assert done(server.post(f"{path}?wait=true", {"payload": {"b": [1]}, "points": [0]}))
    assert payload(0) == {"a": 0, "o": {"x": 1}, "b": [1]}
    assert done(server.post(f"{path}?wait=true", {"payload": {"y": 2}, "key": "o", "points": [0]}))
    assert payload(0)["o"] == {"x": 1, "y": 2}
    where = {"must": {"key": "a", "match": {"value": 1}}}
    assert done(server.post(f"{path}?wait=true", {"payload": {"c": 1}, "filter": where}))
    assert payload(1) == {"a": 1, "o": {"x": 1}, "c": 1} and "c" not in payload(2)
    assert done(server.put(f"{path}?wait=true", {"payload": {"only": True}, "points": [1]}))
    assert payload(1) == {"only": True}
    assert done(server.post(f"{path}/delete?wait=true", {"keys": ["a", "o.x"], "points": [0, 2]}))
    assert payload(0) == {"o": {"y": 2}, "b": [1]} and payload(2) == {"o": {}}
    assert done(server.post(f"{path}/clear?wait=true", {"points": [0]}))
    assert done(server.post(f"{path}/clear?wait=true", {"filter": {"must": {"key": "only", "match": {"value": True}}}}))
    assert payload(0) == {} and payload(1) == {}


def test_vector_operations(server, name):
    create(server, name, NAMED)
    upsert(server, name, [{"id": k, "vector": {"image": [1, 0], "text": [k, 0, 0]}, "payload": {"k": k}} for k in range(3)])
    path = f"/collections/{name}/points/vectors"
    body = {"points": [{"id": 1, "vector": {"text": [7, 7, 7], "words": {"indices": [1], "values": [2]}}}]}
    assert server.put(f"{path}?wait=true", body).result["status"] == "completed"
    [point] = points_of(server, name, [1], with_vector=True)
    assert point["vector"] == {"image": [1.0, 0.0], "text": [7.0, 7.0, 7.0], "words": {"indices": [1], "values": [2.0]}}
    assert point["payload"] == {"k": 1}
    server.post(f"{path}/delete?wait=true", {"vector": ["text"], "points": [1]}).result
    server.post(f"{path}/delete?wait=true", {"vector": ["image"], "filter": {"must": {"has_id": [2]}}}).result
    got = {p["id"]: sorted(p["vector"]) for p in points_of(server, name, [0, 1, 2], with_vector=True)}
    assert got == {0: ["image", "text"], 1: ["image", "words"], 2: ["text"]}
    assert points_of(server, name, [1], with_vector=["words"])[0]["vector"] == {"words": {"indices": [1], "values": [2.0]}}


def test_batch_of_operations(server, name):
    create(server, name)
    operations = [
        {"upsert": {"points": [{"id": k, "vector": [k, 0], "payload": {"k": k}} for k in range(6)]}},
        {"delete": {"points": [0]}},
        {"delete": {"filter": {"must": {"key": "k", "match": {"value": 1}}}}},
        {"set_payload": {"payload": {"s": 1}, "points": [2]}},
        {"overwrite_payload": {"payload": {"o": 1}, "points": [3]}},
        {"delete_payload": {"keys": ["k"], "points": [4]}},
        {"clear_payload": {"points": [5]}},
        {"update_vectors": {"points": [{"id": 2, "vector": [9, 9]}]}},
        {"upsert": {"batch": {"ids": [9], "vectors": [[4, 4]]}}},
    ]
    results = server.post(f"/collections/{name}/points/batch?wait=true", {"operations": operations}).result
    assert [r["status"] for r in results] == ["completed"] * len(operations)
    got = {p["id"]: (p["payload"], p["vector"]) for p in points_of(server, name, list(range(10)), with_vector=True)}
    assert got == {2: ({"k": 2, "s": 1}, [9.0, 9.0]), 3: ({"o": 1}, [3.0, 0.0]), 4: ({}, [4.0, 0.0]),
                   5: ({}, [5.0, 0.0]), 9: ({}, [4.0, 4.0])}


def test_scroll_and_count(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 0], "payload": {"k": k}} for k in range(25)])
    page = server.post(f"/collections/{name}/points/scroll", {}).result
    assert [p["id"] for p in page["points"]] == list(range(10)) and page["next_page_offset"] == 10
    page = server.post(f"/collections/{name}/points/scroll", {"offset": 20, "limit": 5}).result
    assert [p["id"] for p in page["points"]] == list(range(20, 25)) and page["next_page_offset"] is None
    where = {"must": {"key": "k", "range": {"gte": 5, "lt": 8}}}
    assert server.post(f"/collections/{name}/points/count", {"filter": where, "exact": True}).result == {"count": 3}
    assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 25}
    server.post(f"/collections/{name}/points/delete?wait=true", {"filter": where}).result
    assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 22}


def test_order_by(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 0], "payload": {"k": -k, "f": k / 2}} for k in range(5)])
    order = lambda by, **more: server.post(f"/collections/{name}/points/scroll", {"order_by": by, "limit": 3} | more)
    answer = order("k")
    assert answer.status == 400
    assert answer.error.startswith("Wrong input: No range index for `order_by` key: `k`. Please create one to use `order_by`")
    for field, schema in (("k", "integer"), ("f", "float")):
        server.put(f"/collections/{name}/index?wait=true", {"field_name": field, "field_schema": schema}).result
    result = order("k").result
    assert [p["id"] for p in result["points"]] == [4, 3, 2] and result["next_page_offset"] is None
    assert [p["order_value"] for p in result["points"]] == [-4, -3, -2]
    result = order({"key": "f", "direction": "desc", "start_from": 1.5}).result
    assert [(p["id"], p["order_value"]) for p in result["points"]] == [(3, 1.5), (2, 1.0), (1, 0.5)]
    query = {"query": {"order_by": {"key": "k"}}, "limit": 2}
    hits = server.post(f"/collections/{name}/points/query", query).result["points"]
    assert [(h["id"], h["score"], h["order_value"]) for h in hits] == [(4, 1.0, -4), (3, 1.0, -3)]


def test_query_forms(server, name):
    create(server, name, NAMED)
    upsert(server, name, [{"id": k, "vector": {"image": [1, k], "text": [k, 0, 0],
                                               "words": {"indices": [k, 9], "values": [1, 0.1 * k]}}} for k in range(1, 6)])
    path = f"/collections/{name}/points/query"
    ids = lambda **body: [h["id"] for h in server.post(path, body).result["points"]]
    assert ids(query=[0, 1], using="image", limit=2) == [5, 4]
    assert ids(query={"nearest": [0, 1]}, using="image", limit=2) == [5, 4]
    assert ids(query=3, using="text", limit=2) == [2, 4]  # by id: uses its vector, leaves the point out, orders ties by id
    assert ids(query={"nearest": 5}, using="text", limit=1) == [4]
    assert ids(query={"indices": [9], "values": [1.0]}, using="words", limit=2, offset=1) == [4, 3]
    assert ids(query={"indices": [100], "values": [1.0]}, using="words") == []
    assert ids(limit=3) == [1, 2, 3]
    assert ids(prefetch={"query": [0, 1], "using": "image", "limit": 2}, query=[0, 0, 0], using="text") == [4, 5]
    assert ids(prefetch=[{"query": [0, 1], "using": "image", "limit": 1}, {"query": [0, 0, 0], "using": "text", "limit": 1}],
               query={"fusion": "rrf"}) == [1, 5]
    most = 2**64 - 1
    for limit in [5, 100, 2**63, most]:
        assert sorted(ids(query={"sample": "random"}, limit=limit)) == [1, 2, 3, 4, 5]
        assert ids(limit=limit) == [1, 2, 3, 4, 5]
        assert ids(query=[0, 1], using="image", limit=limit) == [5, 4, 3, 2, 1]
        assert ids(query=[0, 1], using="image", limit=limit, offset=4) == [1]
        assert ids(query=[0, 1], using="image", limit=limit, offset=most) == []
        assert ids(prefetch={"query": [0, 1], "using": "image", "limit": limit}, query={"fusion": "rrf"}, limit=limit) == [5, 4, 3, 2, 1]
    assert ids(query=[0, 1], using="image", limit=100, params={"exact": True, "hnsw_ef": 16}) == [5, 4, 3, 2, 1]
    batch = {"searches": [{"query": [0, 1], "using": "image", "limit": 1}, {"limit": 1}]}
    result = server.post(f"{path}/batch", batch).result
    assert [[h["id"] for h in r["points"]] for r in result] == [[5], [1]]
    assert server.post(f"{path}/batch", {"searches": []}).result == []
    good = {"query": [0, 1], "using": "image", "limit": 1}
    for wrong in [{"query": [0, 1, 2], "using": "image"}, {"query": [0, 1], "using": "nobody"}, {"query": 999, "using": "image"},
                  {"query": {"fusion": "rrf"}}, {"query": 1, "using": "image", "lookup_from": {"collection": "nobody"}}]:
        alone = server.post(path, wrong)
        answer = server.post(f"{path}/batch", {"searches": [good, good, wrong, good]})
        assert (answer.status, answer.error) == (alone.status, f"{alone.error} (in searches[2])")


def test_the_offset_counts_in_the_outer_list_only(server, name):
    create(server, name, NAMED)
    upsert(server, name, [{"id": k, "vector": {"image": [1, k], "text": [0, 0, k]}} for k in range(1, 9)])
    path = f"/collections/{name}/points/query"
    nearest = {"query": [0, 1], "using": "image", "limit": 3}
    ids = lambda **body: [h["id"] for h in server.post(path, body).result["points"]]
    best = ids(**nearest)
    assert ids(prefetch=nearest, query={"fusion": "rrf"}, offset=1) == best[1:]
    assert ids(prefetch=nearest, query={"fusion": "rrf"}, offset=3) == []
    assert sorted(ids(prefetch=nearest, query=[0, 0, 0], using="text")) == sorted(best)
    assert len(ids(prefetch=nearest, query=[0, 0, 0], using="text", offset=1)) == 2
    assert sorted(ids(query={"sample": "random"}, offset=100)) == list(range(1, 9)), "a sample has no offset"
    assert len(ids(prefetch=nearest, query={"sample": "random"}, offset=1)) == 2


def test_metadata_is_patched_key_by_key(server, name):
    client = server.client()
    create(server, name, UNNAMED | {"metadata": {"kept": 1, "nested": {"a": 1}, "gone": True}})
    client.update_collection(name, metadata={"new": "Disabled", "nested": {"b": 2}, "gone": None})
    assert client.get_collection(name).config.metadata == {"kept": 1, "nested": {"b": 2}, "new": "Disabled"}


def test_naming_a_missing_point_is_an_error_but_for_deletion(server, name):
    create(server, name, NAMED)
    upsert(server, name, [{"id": 1, "vector": {"image": [1, 1], "text": [1, 2, 3]}, "payload": {"a": 1}}])
    path = f"/collections/{name}/points"
    for change, body in [("payload/clear", {}), ("vectors/delete", {"vector": ["text"]}),
                         ("payload", {"payload": {"b": 1}}), ("payload/delete", {"keys": ["a"]})]:
        answer = server.post(f"{path}/{change}?wait=true", body | {"points": [1, 99]})
        assert error(answer, 404, "Not found: No point with id 99 found")
        nobody = {"filter": {"must": {"has_id": [99]}}}
        assert server.post(f"{path}/{change}?wait=true", body | nobody).result["status"] == "completed"
    [point] = points_of(server, name, [1], with_vector=True)
    assert point["payload"] == {"a": 1} and set(point["vector"]) == {"image", "text"}, "all or nothing"
    assert server.post(f"{path}/delete?wait=true", {"points": [1, 99]}).result["status"] == "completed"


def test_an_upsert_of_nothing_is_done(server, name):
    create(server, name)
    assert upsert(server, name, [])["status"] == "completed"


def test_options_without_effect_are_kept_or_refused(server, name):
    places = {"payload": {"memory": "cached"}, "id_tracker": {"memory": "cold"}}
    create(server, name, UNNAMED | places)
    params = lambda: server.get(f"/collections/{name}").result["config"]["params"]
    assert places.items() <= params().items()
    assert server.patch(f"/collections/{name}", {"params": {"id_tracker": {"memory": "pinned"}}}).result is True
    assert params()["id_tracker"] == {"memory": "pinned"} and params()["payload"] == {"memory": "cached"}


def test_endpoints_that_are_not_built(server, name):
    """Any method answers 501, never 405."""
    create(server, name)
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"]:
        for path in ["debug", "truncate_unapplied_wal", "shards/0/snapshot/partial/create", "shards/0/cleanup"]:
            answer = server.request(method, f"/collections/{name}/{path}", {})
            assert answer.status == 501 and answer.error.startswith("Not implemented: "), f"{method} {path} {answer.text}"


def test_scores_are_finite(server, name):
    """JSON has no infinity, and clients refuse null."""
    create(server, name, {"vectors": {m.lower(): {"size": 2, "distance": m} for m in ["Dot", "Euclid", "Manhattan", "Cosine"]}})
    far, near = [3e38, 3e38], [-3e38, 1]
    upsert(server, name, [{"id": k, "vector": {m: v for m in ["dot", "euclid", "manhattan", "cosine"]}} for k, v in [(1, far), (2, near)]])
    path = f"/collections/{name}/points/query"
    for metric in ["dot", "euclid", "manhattan", "cosine"]:
        prefetch = {"query": far, "using": metric}
        for body in [prefetch, {"prefetch": [prefetch, prefetch], "query": {"fusion": "dbsf"}}]:
            scores = [h["score"] for h in server.post(path, body).result["points"]]
            assert scores and all(isinstance(s, float) and abs(s) < 3.5e38 for s in scores), (metric, scores)


def test_compressed_bodies(server, name):
    create(server, name)
    body = json.dumps({"points": [{"id": k, "vector": [k, 1]} for k in range(1, 2000)]}).encode()
    path = f"/collections/{name}/points?wait=true"
    members = gzip.compress(body[:999]) + gzip.compress(body[999:])
    for encoding, data in [("gzip", gzip.compress(body)), ("x-gzip", members), ("deflate", zlib.compress(body))]:
        answer = server.request("PUT", path, data, headers={"Content-Encoding": encoding})
        assert answer.status == 200, answer.text
        assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 1999}
        for damaged in [data[:-9], data + b"x", b"plain", b""]:
            answer = server.request("PUT", path, damaged, headers={"Content-Encoding": encoding})
            assert (answer.status, answer.error) == (400, f"Bad request: the body is not whole {encoding} data")
    answer = server.request("PUT", path, body, headers={"Content-Encoding": "br"})
    assert answer.status == 415 and "`br`" in answer.error and "`gzip`" in answer.error
    bomb = gzip.compress(bytes(40 << 20))
    answer = server.request("PUT", path, bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status == 413 and answer.error.startswith("Payload too large: ")


def test_text_of_a_timeout(server, name):
    create(server, name, {"vectors": {"size": 256, "distance": "Manhattan"}})
    upsert(server, name, [{"id": k, "vector": [k] * 256} for k in range(1, 101)])
    searches = [{"query": [1] * 256, "limit": 100, "with_vector": True}] * 3000
    answer = server.post(f"/collections/{name}/points/query/batch?timeout=1", {"searches": searches})
    assert answer.status in (200, 408)
    if answer.status == 408:
        assert answer.error == "Timeout: Timeout error: Operation 'Search' timed out after 1 seconds"


def test_referenced_points_are_no_hits(server, name):
    """A point that any part of a query names as its vector is a hit in no part."""
    create(server, name, {"vectors": {"a": {"size": 2, "distance": "Dot"}, "b": {"size": 2, "distance": "Dot"}}})
    upsert(server, name, [{"id": i, "vector": {"a": [1, i], "b": [i, 1]}} for i in range(1, 7)])
    server.post("/collections/aliases", {"actions": [{"create_alias": {"collection_name": name, "alias_name": f"{name}-x"}}]})
    ids = lambda body: [h["id"] for h in server.post(f"/collections/{name}/points/query", body).result["points"]]
    prefetch = {"query": [0, 1], "using": "a", "limit": 3}
    assert ids({"prefetch": prefetch, "query": 6, "using": "b"}) == [5, 4, 3]
    for place in (name, f"{name}-x"):
        assert ids({"query": 6, "using": "a", "limit": 3, "lookup_from": {"collection": place, "vector": "b"}}) == [5, 4, 3]
    assert 6 not in ids({"prefetch": [{"query": 6, "using": "a"}, {"query": [0, 1], "using": "a"}],
                         "query": {"fusion": "rrf"}})
    batch = [{"query": 6, "using": "a", "limit": 1}, {"query": [0, 1], "using": "a", "limit": 1}]
    answers = server.post(f"/collections/{name}/points/query/batch", {"searches": batch}).result
    assert [a["points"][0]["id"] for a in answers] == [5, 6]


def test_thresholds_of_fusions_let_equal_scores_pass(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 0]} for k in range(1, 5)])
    body = {"prefetch": [{"query": [1, 0], "limit": 4}], "query": {"fusion": "rrf"}, "score_threshold": 0.25}
    scores = [h["score"] for h in server.post(f"/collections/{name}/points/query", body).result["points"]]
    assert scores == pytest.approx([1 / 2, 1 / 3, 1 / 4])


def test_one_vector_is_one_token(server, name):
    create(server, name, {"vectors": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}})
    upsert(server, name, [{"id": 1, "vector": [3, 4]}, {"id": 2, "vector": [[1, 0], [0, 1]]}])
    path = f"/collections/{name}/points"
    assert server.post(path, {"ids": [1], "with_vector": True}).result[0]["vector"] == [[3, 4]]
    assert server.post(f"{path}/query", {"query": [1, 1], "limit": 1}).result["points"][0]["score"] == 7
    assert error(server.put(f"{path}?wait=true", {"points": [{"id": 3, "vector": [1, 2, 3]}]}), 400,
                 "Wrong input: Vector dimension error: expected dim: 2, got 3")


def test_rrf_and_dbsf_scores(server, name):
    """Compares with scores computed by hand."""
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, -k]} for k in range(1, 4)])
    path = f"/collections/{name}/points/query"
    up, down = {"query": [1, 0], "limit": 3}, {"query": [0, 1], "limit": 2}  # 3 2 1 and 1 2
    scores = lambda query: {h["id"]: h["score"] for h in server.post(
        path, {"prefetch": [up, down], "query": query}).result["points"]}
    assert scores({"fusion": "rrf"}) == pytest.approx({3: 1 / 2, 2: 1 / 3 + 1 / 3, 1: 1 / 4 + 1 / 2})
    assert scores({"rrf": {"k": 60}}) == pytest.approx({3: 1 / 60, 2: 1 / 61 + 1 / 61, 1: 1 / 62 + 1 / 60})
    assert scores({"rrf": {"weights": [2.0, 1.0]}}) == pytest.approx(
        {3: 1 / (1 / 2 + 1), 2: 1 / (2 / 2 + 1) + 1 / 3, 1: 1 / (3 / 2 + 1) + 1 / 2})
    # First list: mean 2, deviation 1, so 3 maps to 4/6, 2 to 3/6, 1 to 2/6. Second list: mean -1.5, deviation sqrt(1/2).
    step = 0.5 / (6 * 0.5**0.5)
    assert scores({"fusion": "dbsf"}) == pytest.approx({3: 4 / 6, 2: 0.5 + 0.5 - step, 1: 2 / 6 + 0.5 + step})


def test_legacy_search(server, name):
    create(server, name, NAMED)
    upsert(server, name, [{"id": k, "vector": {"image": [1, k], "words": {"indices": [k], "values": [1]}},
                           "payload": {"k": k}} for k in range(1, 5)])
    path = f"/collections/{name}/points/search"
    body = {"vector": {"name": "image", "vector": [0, 1]}, "limit": 2, "with_payload": True}
    hits = server.post(path, body).result
    assert [(h["id"], h["payload"]) for h in hits] == [(4, {"k": 4}), (3, {"k": 3})]
    sparse = {"vector": {"name": "words", "vector": {"indices": [2], "values": [2]}}, "top": 5}
    assert [(h["id"], h["score"]) for h in server.post(path, sparse).result] == [(2, 2.0)]
    results = server.post(f"{path}/batch", {"searches": [body, sparse | {"offset": 1}]}).result
    assert [[h["id"] for h in hits] for hits in results] == [[4, 3], []]
    unnamed = f"{name}-unnamed"
    create(server, unnamed)
    upsert(server, unnamed, [{"id": k, "vector": [k, 0]} for k in range(1, 5)])
    plain = {"vector": [1, 0], "limit": 3, "score_threshold": 2.5, "filter": {"must_not": {"has_id": [4]}}}
    assert [h["id"] for h in server.post(f"/collections/{unnamed}/points/search", plain).result] == [3]


def test_ties_by_id(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [1, 1]} for k in range(50, 0, -1)])
    hits = server.post(f"/collections/{name}/points/query", {"query": [1, 1], "limit": 20}).result["points"]
    assert [h["id"] for h in hits] == list(range(1, 21))


def test_optimizations_and_green(server, name):
    create(server, name)
    upsert(server, name, [{"id": k, "vector": [k, 1]} for k in range(100)])
    assert comes_true(lambda: server.get(f"/collections/{name}").result["status"] == "green", 30)
    path = f"/collections/{name}/optimizations"
    result = server.get(path).result
    assert set(result) == {"summary", "running"} and isinstance(result["running"], list)
    for names in ["queued,completed,idle_segments", "queued%20,%20%20completed%20,idle_segments"]:
        result = server.get(f"{path}?with={names}").result
        assert set(result) == {"summary", "running", "queued", "completed", "idle_segments"}
    assert sum(s["points_count"] for s in result["idle_segments"]) == 100, "the growing segment among them"
    assert server.get(f"{path}?with=completed&completed_limit=0").result["completed"] == []
    assert server.get(f"{path}?with=finished").error == (
        "Deserialize error in query parameters: with: unknown variant `finished`, expected one of `queued`, `completed`, "
        "`idle_segments`")


def test_optimizations_as_the_client_reads_them(new_server):
    """Finished work and idle segments, parsed by the stock client's models."""
    server = new_server(env={"QUIVER__OPTIMIZER__SEAL_ROWS": "100"}).start()
    create(server, "c")
    for first in range(0, 1000, 100):
        upsert(server, "c", [{"id": k, "vector": [k, 1]} for k in range(first, first + 100)])
    read = lambda: TypeAdapter(models.OptimizationsResponse).validate_python(
        server.get("/collections/c/optimizations?with=queued,completed,idle_segments").result)

    def at_rest():
        report = read()
        return report if report.completed and not report.running and not report.queued else None

    report = comes_true(at_rest, 30)
    assert sum(s.points_count for s in report.idle_segments) <= 1000
    assert {o.optimizer for o in report.completed} & {"seal", "merge"}
    assert all(o.status == "done" and o.segments[0].points_count > 0 for o in report.completed)
    server.stop()


def test_an_acknowledged_payload_index_survives_kill(new_server):
    """Without `wait`, the index need not be usable yet, but it must survive."""
    server = new_server().start()
    create(server, "c")
    upsert(server, "c", [{"id": k, "vector": [k, 1], "payload": {"n": k}} for k in range(1, 6)])
    for field in ["n", "other"]:
        answer = server.put("/collections/c/index", {"field_name": field, "field_schema": "integer"})
        assert answer.result["status"] == "acknowledged"
        server.kill9()
        server.start()
        assert field in server.get("/collections/c").result["payload_schema"]
    page = server.post("/collections/c/points/scroll", {"order_by": {"key": "n", "direction": "desc"}, "limit": 2}).result
    assert [p["id"] for p in page["points"]] == [5, 4]
    server.put("/collections/c/index", {"field_name": "late", "field_schema": "integer"})
    answer = server.post("/collections/c/points/scroll", {"order_by": "late"})
    assert answer.status == 200 or error(answer, 503, "Shard temporarily unavailable: the index of `late` is still being built")
    server.stop()


# Process: keys, restart, a second process


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_api_key(new_server):
    server = new_server(env={"QUIVER__SERVICE__API_KEY": "secret"}).start()
    for path in ("/", "/healthz", "/readyz", "/livez"):
        assert server.get(path).status == 200
    answer = server.get("/collections")
    assert answer.status == 401
    assert answer.text == "Must provide an API key or an Authorization bearer token"
    wrong = server.get("/collections", headers={"api-key": "wrong"})
    assert (wrong.status, wrong.text) == (401, "Invalid API key or JWT")
    for headers in ({"api-key": "secret"}, {"Authorization": "Bearer secret"}):
        assert server.get("/collections", headers=headers).result == {"collections": []}
    assert server.client(api_key="secret").get_collections().collections == []
    server.stop()


def test_unknown_configuration_is_refused(new_server):
    server = new_server(env={"QUIVER__SERVICE__NO_SUCH_KEY": "1"}).start(wait=False)
    assert server.process.wait(20) not in (0, None)
    assert "NO_SUCH_KEY" in server.log_tail().upper()


def test_one_process_per_directory(new_server):
    first = new_server().start()
    second = Server(first.data_dir)
    second.log = first.log.with_name("second.log")
    second.start(wait=False)
    assert second.process.wait(20) != 0
    assert str(first.process.pid) in second.log_tail()
    assert first.get("/readyz").status == 200
    first.stop()


def test_clean_restart_keeps_everything(new_server):
    server = new_server().start()
    create(server, "kept", NAMED)
    upsert(server, "kept", [{"id": k, "vector": {"image": [1, k], "words": {"indices": [k], "values": [0.1]}},
                             "payload": {"k": k, "t": [1.0, None]}} for k in range(200)])
    server.put("/collections/kept/index?wait=true", {"field_name": "k", "field_schema": "integer"}).result
    server.post("/collections/kept/points/delete?wait=true", {"points": list(range(0, 200, 7))}).result
    server.post("/collections/aliases", {"actions": [{"create_alias": {"collection_name": "kept", "alias_name": "a"}}]})
    asks = [("/collections/kept/points/scroll", {"limit": 1000, "with_vector": True}),
            ("/collections/kept/points/query", {"query": [0.3, 0.7], "using": "image", "limit": 50}),
            ("/collections/a/points/query", {"query": {"indices": [3], "values": [1]}, "using": "words"}),
            ("/collections/a/points/count", {"filter": {"must": {"key": "k", "range": {"gt": 100}}}})]
    answers = lambda: [json.dumps(server.post(path, body).result) for path, body in asks]
    stable = lambda: {k: v for k, v in server.get("/collections/kept").result.items()
                      if k in ("config", "payload_schema", "points_count")}
    before, info = answers(), stable()
    for _ in range(2):
        server.stop()
        server.start()
        assert answers() == before
        assert stable() == info
    server.stop()


def test_a_damaged_collection_is_told_at_start_and_the_others_serve(new_server):
    server = new_server().start()
    for name in ("sound", "broken"):
        create(server, name, UNNAMED)
        upsert(server, name, [{"id": 1, "vector": [1, 2]}])
    server.stop()
    manifests = list(max((server.data_dir / "collections").iterdir()).rglob("MANIFEST-*"))  # of the collection made last
    assert manifests
    for manifest in manifests:
        manifest.write_bytes(b"no manifest")
    server.start(wait=False)
    server.wait_ready("/livez")
    ready = server.get("/readyz")
    assert ready.status == 503 and "`broken`" in ready.text and "`sound`" not in ready.text
    assert server.get("/livez").status == 200
    assert server.post("/collections/sound/points/query", {"query": [1, 1]}).result["points"][0]["id"] == 1
    assert server.post("/collections/broken/points/query", {"query": [1, 1]}).status == 503
    assert server.delete("/collections/broken").result is True
    assert server.get("/readyz").status == 200
    server.stop()


def test_pipelining_and_keep_alive(server):
    """Several requests in one packet are answered in order on the same connection."""
    import socket
    request = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(10)) as s:
        s.sendall(b"".join(request % p for p in (b"healthz", b"readyz", b"healthz")))
        data = b""
        while data.count(b"HTTP/1.1 200") < 3 or data.count(b"check passed") < 2:
            chunk = s.recv(65536)
            assert chunk, data
            data += chunk
    assert data.index(b"healthz") < data.index(b"all shards") < data.rindex(b"healthz")


def test_a_changed_modifier_counts_for_stored_points(server, name):
    """A collection changed to idf gives the same scores as one created with it."""
    points = [{"id": k, "vector": {"s": {"indices": [1, k + 2], "values": [1, 1]}}} for k in range(1, 6)]
    query = {"query": {"indices": [1, 4], "values": [1, 1]}, "using": "s", "limit": 10}
    for collection, modifier in ((name, {}), (f"{name}-idf", {"modifier": "idf"})):
        server.put(f"/collections/{collection}", {"sparse_vectors": {"s": modifier}}).result
        server.put(f"/collections/{collection}/points?wait=true", {"points": points}).result
    wanted = server.post(f"/collections/{name}-idf/points/query", query).result
    assert server.post(f"/collections/{name}/points/query", query).result != wanted
    server.patch(f"/collections/{name}", {"sparse_vectors": {"s": {"modifier": "idf"}}}).result
    assert server.post(f"/collections/{name}/points/query", query).result == wanted
    params = server.get(f"/collections/{name}").result["config"]["params"]
    assert params["sparse_vectors"] == {"s": {"modifier": "idf"}}
