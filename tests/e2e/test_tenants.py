"""Tenants, their limits, files that are pinned in memory, the audit log by request, and bytes of dropped vectors."""
import ctypes
import random
import re
import resource
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from patience import comes_true
from qdrant_client import QdrantClient, models
from quiver_server import Server

SECRET, READER = "e2e-secret-key", "e2e-reader-key"
DIM, N, SEED = 64, 3000, 13


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    env = {"QUIVER__OPTIMIZER__SEAL_ROWS": "800", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05"}
    server = Server(tmp_path_factory.mktemp("tenants") / "data", env=env, grpc=True).start()
    yield server
    server.stop()


def vectors(n, seed=SEED):
    draw = random.Random(seed)
    return [[draw.gauss(0, 1) for _ in range(DIM)] for _ in range(n)]


def fill(server, name, **settings):
    server.put(f"/collections/{name}", {"vectors": {"size": DIM, "distance": "Dot"}} | settings).result
    points = [{"id": i, "vector": v, "payload": {"tenant": f"t{i % 30}", "n": i}} for i, v in enumerate(vectors(N))]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result


def is_idle(server, name):
    info = server.get(f"/collections/{name}").result
    return info["status"] == "green" and not server.get(f"/collections/{name}/optimizations").result["running"]


def answers(server, name):
    """What readers see: nearest points with and without filters, pages, points by id."""
    queries = vectors(3, seed=SEED + 1)
    path = f"/collections/{name}/points"
    some = {"must": [{"key": "tenant", "match": {"value": "t7"}}]}
    return [server.post(f"{path}/query", {"query": q, "limit": 20, "filter": f, "params": {"exact": True}}).result["points"]
            for q in queries for f in (None, some, {"must": [{"has_id": list(range(0, N, 7))}]})] + [
            server.post(f"{path}/scroll", {"limit": 50, "offset": offset, "filter": f}).result
            for offset in (0, 1234) for f in (None, some)] + [server.post(path, {"ids": [0, 9, N - 1, N]}).result]


def locked_bytes(server):
    """Bytes of segments' files that the server has locked in memory."""
    locked, is_ours = 0, False
    with open(f"/proc/{server.process.pid}/smaps") as smaps:
        for line in smaps:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                is_ours = "/segments/" in line
            elif is_ours and line.startswith("Locked:"):
                locked += int(line.split()[1]) * 1024
    return locked


# Memory


PLACES = {"hnsw_config": {"memory": "pinned"}, "id_tracker": {"memory": "pinned"}, "payload": {"memory": "cold"}}


def test_files_are_pinned_and_released_without_a_restart(server, name):
    fill(server, name, optimizers_config={"indexing_threshold": 1})
    assert comes_true(lambda: is_idle(server, name))
    before = answers(server, name)
    base = locked_bytes(server)
    assert server.patch(f"/collections/{name}", {"params": {"id_tracker": {"memory": "pinned"}}}).result is True
    assert server.get(f"/collections/{name}").result["config"]["params"]["id_tracker"] == {"memory": "pinned"}
    assert comes_true(lambda: locked_bytes(server) >= base + N * 24 // 2), locked_bytes(server)
    assert "warnings" not in server.get(f"/collections/{name}").result
    some = locked_bytes(server)
    assert server.patch(f"/collections/{name}", {"hnsw_config": {"memory": "pinned"}}).result is True
    assert comes_true(lambda: locked_bytes(server) > some), "the files of the index"
    assert answers(server, name) == before
    body = {"params": {"id_tracker": {"memory": "cold"}, "payload": {"memory": "cold"}}, "hnsw_config": {"memory": "cached"},
            "vectors": {"": {"memory": "cold"}}}
    assert server.patch(f"/collections/{name}", body).result is True
    assert comes_true(lambda: locked_bytes(server) == base), locked_bytes(server)
    assert answers(server, name) == before
    assert server.patch(f"/collections/{name}", {"vectors": {"": {"memory": "cached"}}}).result is True
    assert answers(server, name) == before
    info = server.get(f"/collections/{name}").result["config"]
    assert info["params"]["vectors"]["memory"] == "cached" and info["params"]["payload"] == {"memory": "cold"}
    assert info["hnsw_config"]["memory"] == "cached"


def test_places_hold_after_a_restart(new_server, name):
    server = new_server(env={"QUIVER__OPTIMIZER__SEAL_ROWS": "800"}).start()
    fill(server, name, **PLACES)
    server.put(f"/collections/{name}/index?wait=true",
               {"field_name": "tenant", "field_schema": {"type": "keyword", "memory": "pinned"}}).result
    assert comes_true(lambda: locked_bytes(server) > 0)
    before = answers(server, name)
    server.stop()
    server.start()
    assert answers(server, name) == before
    assert comes_true(lambda: locked_bytes(server) > 0)
    config = server.get(f"/collections/{name}").result["config"]
    assert config["params"]["payload"] == {"memory": "cold"} and config["hnsw_config"]["memory"] == "pinned"


def without_locked_memory():
    """For the server's process: the system locks no page, also for root."""
    drop_from_bounding_set, cap_ipc_lock = 24, 14
    ctypes.CDLL(None).prctl(drop_from_bounding_set, cap_ipc_lock, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))


def test_a_refused_lock_is_a_warning_and_nothing_else(new_server, name):
    server = new_server(env={"QUIVER__OPTIMIZER__SEAL_ROWS": "800"})
    server._limit = without_locked_memory
    server.start()
    fill(server, name)
    before = answers(server, name)
    assert server.patch(f"/collections/{name}", {"params": {"id_tracker": {"memory": "pinned"}}}).result is True

    def warnings():
        return [w["message"] for w in server.get(f"/collections/{name}").result.get("warnings", [])]

    assert comes_true(lambda: warnings() != []) and "not pinned" in warnings()[0] and "locked in memory" in warnings()[0]
    assert locked_bytes(server) == 0 and answers(server, name) == before
    assert "not pinned" in server.log.read_text()
    server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": N, "vector": [1] * DIM}]}).result
    assert server.patch(f"/collections/{name}", {"params": {"id_tracker": {"memory": "cached"}}}).result is True
    assert comes_true(lambda: warnings() == [])
    info = server.get(f"/collections/{name}").result
    assert info["optimizer_status"] == "ok" and info["status"] in ("green", "yellow")


# Tenants


def test_rows_of_tenants_answer_the_same(server, name):
    plain = name + "plain"
    for each, schema in ((plain, "keyword"), (name, {"type": "keyword", "is_tenant": True})):
        server.put(f"/collections/{each}", {"vectors": {"size": DIM, "distance": "Dot"}}).result
        server.put(f"/collections/{each}/index?wait=true", {"field_name": "tenant", "field_schema": schema}).result
        fill_points = [{"id": i, "vector": v, "payload": {"tenant": f"t{i % 30}", "n": i}} for i, v in enumerate(vectors(N))]
        for first in range(0, N, 500):
            server.put(f"/collections/{each}/points?wait=true", {"points": fill_points[first:first + 500]}).result
        server.post(f"/collections/{each}/points/delete?wait=true", {"points": list(range(0, N, 11))}).result
        server.post(f"/collections/{each}/points/payload?wait=true",
                    {"payload": {"tenant": "t7"}, "filter": {"must": [{"key": "tenant", "match": {"value": "t8"}}]}}).result
    for each in (plain, name):
        assert comes_true(lambda: is_idle(server, each))
    assert answers(server, name) == answers(server, plain)
    schema = server.get(f"/collections/{name}").result["payload_schema"]["tenant"]
    assert schema["params"]["is_tenant"] is True


# Limits of tenants


def quotas(name):
    return f"/v1/collections/{name}/quotas"


def limited(server, name, max_points=3):
    server.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}, "shard_number": 2}).result
    server.put(f"/collections/{name}/index?wait=true",
               {"field_name": "t", "field_schema": {"type": "keyword", "is_tenant": True}}).result
    assert server.put(quotas(name), {"tenant": {"key": "t", "max_points": max_points}}).result is True


def put(server, name, *tenants, first=0):
    points = [{"id": first + i, "vector": [1, i], "payload": {"t": t} if t else {}} for i, t in enumerate(tenants)]
    return server.put(f"/collections/{name}/points?wait=true", {"points": points})


def seen(server, name):
    page = server.post(f"/collections/{name}/points/scroll", {"limit": 100}).result["points"]
    return {p["id"]: p["payload"].get("t") for p in page}


def test_a_tenant_has_at_most_so_many_points(server, name):
    limited(server, name)
    assert server.get(quotas(name)).result == {"tenant": {"key": "t", "max_points": 3}}
    assert put(server, name, "a", "a", "b", None).status == 200
    before = seen(server, name)
    refused = put(server, name, "b", "a", "a", first=10)
    assert refused.status == 400 and '`t` "a"' in refused.error and "Help" in refused.error
    assert seen(server, name) == before, "nothing of it is there"
    assert put(server, name, "a", first=0).status == 200, "a point that is there is no new one"
    assert put(server, name, "a", first=10).status == 200
    move = {"payload": {"t": "a"}, "points": [2]}
    assert server.post(f"/collections/{name}/points/payload?wait=true", move).status == 400
    assert server.put(f"/collections/{name}/points/payload?wait=true", move).status == 400
    by_filter = {"payload": {"t": "a"}, "filter": {"must": [{"is_empty": {"key": "t"}}]}}
    assert server.post(f"/collections/{name}/points/payload?wait=true", by_filter).status == 400
    batch = {"operations": [{"delete": {"points": [0]}}, {"upsert": {"points": [{"id": 20, "vector": [1, 1], "payload": {"t": "a"}}]}}]}
    assert server.post(f"/collections/{name}/points/batch?wait=true", batch).status == 200, "one goes, one comes"
    batch["operations"].pop(0)
    batch["operations"][0]["upsert"]["points"][0]["id"] = 21
    assert server.post(f"/collections/{name}/points/batch?wait=true", batch).status == 400
    assert seen(server, name) == {1: "a", 2: "b", 3: None, 10: "a", 20: "a"}
    refused = server.delete(f"/collections/{name}/index/t")
    assert refused.status == 400 and "tenants are limited" in refused.error
    assert server.delete(quotas(name)).result is True
    assert server.get(quotas(name)).result == {"tenant": None}
    assert put(server, name, "a", first=30).status == 200


def test_bad_limits_are_refused(server, name):
    limited(server, name)
    good = server.get(quotas(name)).result
    for body, status in [({}, 400), ({"tenant": 1}, 400), ({"tenant": {"key": "t"}}, 400), ({"tenant": {"max_points": 1}}, 400),
                         ({"tenant": {"key": "t", "max_points": 0}}, 422), ({"tenant": {"key": "t", "max_points": -1}}, 400),
                         ({"tenant": {"key": "u", "max_points": 1}}, 400), ({"tenant": {"key": "t", "max_points": 1, "x": 1}}, 400)]:
        answer = server.put(quotas(name), body)
        assert answer.status == status, (body, answer.text)
    assert server.put(quotas("none" + name), good).status == 404
    assert server.get(quotas(name)).result == good
    assert server.put(quotas(name), {"tenant": None}).result is True


def test_limits_hold_over_grpc_and_after_a_kill(new_server, name):
    server = new_server(grpc=True).start()
    limited(server, name)

    def upsert(client, i, tenant):
        client.upsert(name, [models.PointStruct(id=i, vector=[1.0, 1.0], payload={"t": tenant})], wait=True)

    def by_grpc():
        return QdrantClient(host="127.0.0.1", port=server.port, grpc_port=server.grpc_port, prefer_grpc=True, check_compatibility=False)

    client = by_grpc()
    for i in range(3):
        upsert(client, i, "a")
    with pytest.raises(grpc.RpcError) as refused:
        upsert(client, 3, "a")
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT and '`t` "a"' in refused.value.details()
    client.close()
    server.kill9()
    server.start()
    assert server.get(quotas(name)).result == {"tenant": {"key": "t", "max_points": 3}}
    assert put(server, name, "a", first=9).status == 400
    client = by_grpc()
    upsert(client, 4, "b")
    with pytest.raises(grpc.RpcError):
        client.set_payload(name, {"t": "a"}, points=[4], wait=True)
    client.close()
    assert seen(server, name) == {0: "a", 1: "a", 2: "a", 4: "b"}


def test_many_writers_never_exceed_a_limit(server, name):
    limited(server, name, max_points=10)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda i: put(server, name, f"t{i % 2}", first=i).status, range(60)))
    assert sorted(set(taken)) == [200, 400] and taken.count(200) == 20
    assert sorted(seen(server, name).values()) == ["t0"] * 10 + ["t1"] * 10


# The audit log


def key(secret):
    return {"api-key": secret}


def test_audit_entries_by_request(new_server):
    env = {"QUIVER__SERVICE__API_KEY": SECRET, "QUIVER__SERVICE__READ_ONLY_API_KEY": READER, "QUIVER__AUDIT__ENABLED": "true"}
    server = new_server(env=env).start()
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5))
    for i in range(4):
        server.put(f"/collections/a{i % 2}", {"vectors": {}}, headers=key(SECRET) | {"X-Request-Id": f"r{i}"})
    server.get("/collections", headers=key(READER))
    server.put("/collections/b", {"vectors": {}}, headers=key(READER))

    def entries(**body):
        return server.post("/audit/logs", body, headers=key(SECRET)).result["entries"]

    everything = entries()
    assert [e["timestamp"] for e in everything] == sorted((e["timestamp"] for e in everything), reverse=True)
    first = everything[-1]
    assert first == {"timestamp": first["timestamp"], "api": "PUT /collections/{collection_name}", "auth_type": "ApiKey",
                     "remote": "127.0.0.1", "collection": "a0", "tracing_id": "r0", "result": "ok", "transport": "rest",
                     "outcome": "ok", "status": 200}
    assert [e["tracing_id"] for e in entries(filters={"collection": "a1"})] == ["r3", "r1"]
    assert [e["tracing_id"] for e in entries(filters={"collection": "a1"}, limit=1)] == ["r3"]
    assert [e["collection"] for e in entries(filters={"result": "denied"})] == ["b"]
    assert entries(filters={"collection": "a1", "auth_type": "Jwt"}) == [] and entries(filters={"nonsense": "1"}) == []
    assert len(entries(time_from=start)) >= 6 and entries(time_to=start) == []
    assert entries(time_from="2000-01-01T00:00:00Z", time_to="2000-01-02T00:00:00Z") == []
    for body, status in [({"limit": 0}, 422), ({"limit": 10001}, 422), ({"limit": "x"}, 400), ({"time_from": "soon"}, 400),
                         ({"filters": {"a": 1}}, 400), ({"filters": []}, 400)]:
        assert server.post("/audit/logs", body, headers=key(SECRET)).status == status, body
    assert server.post("/audit/logs?timeout=0", {}, headers=key(SECRET)).status == 422
    assert server.post("/audit/logs", {}, headers=key(READER)).status == 403
    assert server.post("/audit/logs", {}).status == 401


def test_without_an_audit_log(server):
    refused = server.post("/audit/logs", {})
    assert refused.status == 400 and "not enabled" in refused.error


# Bytes of dropped fields


def segment_bytes(server):
    return sum(f.stat().st_size for f in server.data_dir.rglob("segments/*/*") if f.is_file())


def store_bytes(server):
    files = [f for kind in ("sst", "blob", "log") for f in server.data_dir.rglob(f"rows/*.{kind}")]
    return sum(f.stat().st_size for f in files if f.exists())


@pytest.mark.parametrize("moment", [None, 0.0, 0.01, 0.05, 0.2])
def test_bytes_of_a_dropped_field_come_back(new_server, name, moment):
    env = {"QUIVER__OPTIMIZER__SEAL_ROWS": "200", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05"}
    server = new_server(env=env).start()
    fields = {"small": {"size": 2, "distance": "Dot"}, "large": {"size": 1024, "distance": "Dot"}}
    server.put(f"/collections/{name}", {"vectors": fields}).result
    points = [{"id": i, "vector": {"small": [i, 1], "large": [i] * 1024}} for i in range(400)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    # Once the record counts the segment: one that a crash leaves uncounted stays until the second start.
    assert comes_true(lambda: server.get(f"/collections/{name}").result["indexed_vectors_count"] == 800)
    assert segment_bytes(server) > 400 * 4096 and store_bytes(server) > 400 * 4096
    server.delete(f"/collections/{name}/vectors/large").result
    if moment is not None:
        time.sleep(moment)
        server.kill9()
        server.start()
        server.get(f"/collections/{name}").result
    assert comes_true(lambda: segment_bytes(server) < 400 * 1024), segment_bytes(server)
    assert comes_true(lambda: store_bytes(server) < 400 * 1024), store_bytes(server)
    found = server.post(f"/collections/{name}/points/query", {"query": [1, 0], "using": "small", "limit": 3}).result["points"]
    assert [p["id"] for p in found] == [399, 398, 397]
    assert server.post(f"/collections/{name}/points/count", {}).result["count"] == 400
    record = server.post(f"/collections/{name}/points", {"ids": [5], "with_vector": True}).result[0]
    assert list(record["vector"]) == ["small"]
