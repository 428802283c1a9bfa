"""Custom sharding: points under keys, over REST and gRPC; keys come and go, also across crashes."""
import json
import os
import random
import subprocess
import threading

import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from quiver_server import ANSWER_TIMEOUT_S, Server, binary

grpc = pytest.importorskip("grpc")
CUSTOM = models.ShardingMethod.CUSTOM
VECTORS = models.VectorParams(size=4, distance=models.Distance.DOT)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server") / "data", grpc=True).start()
    yield server
    server.stop()


def connect(server, is_grpc):
    return QdrantClient(url=f"http://127.0.0.1:{server.port}", grpc_port=server.grpc_port, prefer_grpc=is_grpc,
                        check_compatibility=False, timeout=int(ANSWER_TIMEOUT_S))


@pytest.fixture(params=[False, True], ids=["rest", "grpc"])
def client(request, server):
    client = connect(server, request.param)
    yield client
    client.close()


def vector(i):
    rng = random.Random(i)
    return [rng.random() for _ in range(4)]


def points(*ids, **payload):
    return [models.PointStruct(id=i, vector=vector(i), payload={"n": i, **payload}) for i in ids]


def create(client, name, *keys, shard_number=1, **kwargs):
    client.create_collection(name, vectors_config=VECTORS, sharding_method=CUSTOM, shard_number=shard_number, **kwargs)
    for key in keys:
        assert client.create_shard_key(name, key)
    return client


def pets(client, name, shard_number=2):
    """1-4 are cats, 5-8 are dogs, 9-10 are under the number 7."""
    create(client, name, "cats", "dogs", 7, shard_number=shard_number)
    client.upsert(name, points(1, 2, 3, 4, kind="cat"), shard_key_selector="cats")
    client.upsert(name, points(5, 6, 7, 8, kind="dog"), shard_key_selector="dogs")
    client.upsert(name, points(9, 10, kind="fish"), shard_key_selector=7)
    return client


def error(call):
    """(status or code, text) of a refused call."""
    with pytest.raises((UnexpectedResponse, grpc.RpcError)) as refused:
        call()
    e = refused.value
    if isinstance(e, UnexpectedResponse):
        return e.status_code, json.loads(e.content)["status"]["error"]
    return e.code(), e.details()


def key_of(point):
    """The key of a point, as REST has it."""
    return point.shard_key


def ids(found):
    return sorted(p.id for p in found)


def all_ids(client, name, selector=None):
    return ids(client.scroll(name, limit=1000, shard_key_selector=selector)[0])


def cluster(server, name):
    return server.get(f"/collections/{name}/cluster").result["local_shards"]


def test_keys_are_created_listed_and_deleted(client, server, name):
    create(client, name)
    assert cluster(server, name) == [] and server.get(f"/collections/{name}/shards").result == {"shard_keys": []}
    config = client.get_collection(name).config.params
    assert config.sharding_method == CUSTOM and config.shard_number == 1
    assert client.create_shard_key(name, "cats") and client.create_shard_key(name, 100, shards_number=2, replication_factor=3)
    assert client.create_shard_key(name, "100")  # a text is not a number
    listed = server.get(f"/collections/{name}/shards").result["shard_keys"]
    assert listed == [{"key": "cats"}, {"key": 100}, {"key": "100"}]
    assert [(s["shard_id"], s["shard_key"], s["state"]) for s in cluster(server, name)] == [
        (0, "cats", "Active"), (1, 100, "Active"), (2, 100, "Active"), (3, "100", "Active")]
    assert "already exists" in error(lambda: client.create_shard_key(name, "cats"))[1]
    assert client.delete_shard_key(name, 100)
    assert "does not exist" in error(lambda: client.delete_shard_key(name, 100))[1]
    assert client.create_shard_key(name, 100)
    assert [s["shard_id"] for s in cluster(server, name)] == [0, 3, 4], "numbers are not used twice"


def test_placement_and_state_are_checked(client, server, name):
    create(client, name)
    peer = server.get(f"/collections/{name}/cluster").result["peer_id"]
    assert client.create_shard_key(name, "here", placement=[peer], initial_state=models.ReplicaState.ACTIVE)
    assert f"Peer {peer + 1} does not exist" in error(lambda: client.create_shard_key(name, "x", placement=[peer + 1]))[1]
    text = "Initial state cannot be Dead, only Active or Partial"
    assert text in error(lambda: client.create_shard_key(name, "x", initial_state=models.ReplicaState.DEAD))[1]
    assert error(lambda: client.create_shard_key(name, "x", shards_number=0))
    assert error(lambda: client.create_shard_key(name, "x", shards_number=65))
    assert error(lambda: client.create_shard_key(name, "x" * 1025))
    assert len(cluster(server, name)) == 1
    assert client.create_shard_key(name, "there", initial_state=models.ReplicaState.PARTIAL)
    assert {shard["state"] for shard in cluster(server, name)} == {"Active"}


def test_without_custom_sharding_there_are_no_keys(client, name):
    client.create_collection(name, vectors_config=VECTORS, sharding_method=models.ShardingMethod.AUTO)
    assert "cannot be created with Auto sharding method" in error(lambda: client.create_shard_key(name, "a"))[1]
    assert "with Auto sharding method" in error(lambda: client.delete_shard_key(name, "a"))[1]
    client.upsert(name, points(1))
    for call in (lambda: client.upsert(name, points(2), shard_key_selector="a"), lambda: client.count(name, shard_key_selector="a"),
                 lambda: client.delete(name, [1], shard_key_selector="a"), lambda: client.scroll(name, shard_key_selector=["a"])):
        assert 'Shard key "a" not found' in error(call)[1]
    assert all_ids(client, name) == [1]


def test_reads_cover_the_keys_they_name(client, name):
    pets(client, name)
    assert all_ids(client, name) == list(range(1, 11))
    for selector, wanted in (("cats", [1, 2, 3, 4]), (7, [9, 10]), (["dogs", 7], [5, 6, 7, 8, 9, 10]), (["cats", "cats"], [1, 2, 3, 4]), ([], [])):
        assert all_ids(client, name, selector) == wanted
        assert client.count(name, shard_key_selector=selector).count == len(wanted)
        assert ids(client.retrieve(name, range(1, 11), shard_key_selector=selector)) == wanted
        assert ids(client.query_points(name, query=[1, 1, 1, 1], limit=20, shard_key_selector=selector).points) == wanted
    found = client.query_points(name, query=[1, 1, 1, 1], limit=20, shard_key_selector=["cats", 7]).points
    assert {p.id: key_of(p) for p in found} == {**dict.fromkeys([1, 2, 3, 4], "cats"), **dict.fromkeys([9, 10], 7)}
    assert all(key_of(p) == "dogs" for p in client.scroll(name, shard_key_selector="dogs")[0])
    assert key_of(client.retrieve(name, [9])[0]) == 7
    fallback = models.ShardKeyWithFallback(target="birds", fallback="dogs")
    assert all_ids(client, name, fallback) == [5, 6, 7, 8]
    client.create_shard_key(name, "birds")
    assert all_ids(client, name, fallback) == []


def test_every_kind_of_search_takes_keys(client, name):
    pets(client, name)
    client.create_payload_index(name, "kind", models.PayloadSchemaType.KEYWORD)
    batch = client.query_batch_points(name, [models.QueryRequest(query=[1, 1, 1, 1], limit=20, shard_key=key) for key in ("cats", ["cats", 7], None)])
    assert [len(answer.points) for answer in batch] == [4, 6, 10]
    fused = client.query_points(name, prefetch=[models.Prefetch(query=[1, 0, 0, 0], limit=20), models.Prefetch(query=[0, 1, 0, 0], limit=20)],
                                query=models.FusionQuery(fusion=models.Fusion.RRF), limit=20, shard_key_selector="dogs").points
    assert ids(fused) == [5, 6, 7, 8]
    groups = client.query_points_groups(name, group_by="kind", query=[1, 1, 1, 1], shard_key_selector=["cats", "dogs"]).groups
    assert sorted(g.id for g in groups) == ["cat", "dog"]
    assert [(h.value, h.count) for h in client.facet(name, "kind", shard_key_selector=["dogs", 7]).hits] == [("dog", 4), ("fish", 2)]
    assert ids_of_matrix(client.search_matrix_offsets(name, sample=20, limit=3, shard_key_selector="cats")) == [1, 2, 3, 4]
    # An id as the query is looked up under the same keys.
    assert ids(client.query_points(name, query=5, limit=20, shard_key_selector="dogs").points) == [6, 7, 8]
    assert error(lambda: client.query_points(name, query=1, shard_key_selector="dogs"))
    lookup = models.LookupLocation(collection=name, shard_key="cats")
    assert ids(client.query_points(name, query=1, lookup_from=lookup, limit=20, shard_key_selector="dogs").points) == [5, 6, 7, 8]
    wrong = models.LookupLocation(collection=name, shard_key="dogs")
    if not client._client._prefer_grpc:  # the client drops this key over gRPC
        assert error(lambda: client.query_points(name, query=1, lookup_from=wrong, limit=20))


def ids_of_matrix(matrix):
    return sorted(matrix.ids)


def test_unknown_and_missing_keys_are_errors_that_change_nothing(client, name):
    pets(client, name)
    for call in (lambda s: client.upsert(name, points(50), shard_key_selector=s), lambda s: client.delete(name, [1], shard_key_selector=s),
                 lambda s: client.delete(name, models.Filter(must=[]), shard_key_selector=s),
                 lambda s: client.set_payload(name, {"x": 1}, [1], shard_key_selector=s),
                 lambda s: client.overwrite_payload(name, {"x": 1}, [1], shard_key_selector=s),
                 lambda s: client.delete_payload(name, ["kind"], [1], shard_key_selector=s),
                 lambda s: client.clear_payload(name, [1], shard_key_selector=s),
                 lambda s: client.update_vectors(name, [models.PointVectors(id=1, vector=[0, 0, 0, 1])], shard_key_selector=s),
                 lambda s: client.delete_vectors(name, [""], [1], shard_key_selector=s)):
        assert "Shard key not specified" in error(lambda: call(None))[1]
        assert 'Shard key "birds" not found' in error(lambda: call("birds"))[1]
        assert "Shard key 8 not found" in error(lambda: call(["cats", 8]))[1]
    for call in (lambda s: client.scroll(name, shard_key_selector=s), lambda s: client.count(name, shard_key_selector=s),
                 lambda s: client.query_points(name, query=[1, 1, 1, 1], shard_key_selector=s), lambda s: client.retrieve(name, [1], shard_key_selector=s),
                 lambda s: client.query_points_groups(name, group_by="kind", query=[1, 1, 1, 1], shard_key_selector=s),
                 lambda s: client.facet(name, "kind", shard_key_selector=s), lambda s: client.search_matrix_pairs(name, shard_key_selector=s),
                 lambda s: client.query_batch_points(name, [models.QueryRequest(query=[1, 1, 1, 1], shard_key=s)])):
        assert 'Shard key "birds" not found' in error(lambda: call(["cats", "birds"]))[1]
        neither = models.ShardKeyWithFallback(target="birds", fallback=8)
        assert 'Neither target shard key "birds" nor fallback shard key 8 exist' in error(lambda: call(neither))[1]
    assert {p.id: p.payload for p in client.scroll(name, limit=100)[0]} == {
        i: {"n": i, "kind": "cat" if i < 5 else "dog" if i < 9 else "fish"} for i in range(1, 11)}


def test_changes_concern_the_keys_they_name(client, name):
    pets(client, name)
    client.set_payload(name, {"tag": 1}, models.Filter(must=[]), shard_key_selector="cats")
    client.delete(name, models.Filter(must=[models.FieldCondition(key="n", range=models.Range(gte=6))]), shard_key_selector=["cats", "dogs"])
    client.update_vectors(name, [models.PointVectors(id=9, vector=[0, 0, 0, 9])], shard_key_selector=7)
    client.batch_update_points(name, [
        models.UpsertOperation(upsert=models.PointsList(points=points(20), shard_key="cats")),
        models.SetPayloadOperation(set_payload=models.SetPayload(payload={"tag": 2}, points=[10], shard_key=7)),
        models.DeleteOperation(delete=models.PointIdsList(points=[5], shard_key=models.ShardKeyWithFallback(target="birds", fallback="dogs")))])
    assert all_ids(client, name) == [1, 2, 3, 4, 9, 10, 20] and all_ids(client, name, "dogs") == []
    tags = {p.id: p.payload.get("tag") for p in client.scroll(name, limit=100)[0]}
    assert tags == {1: 1, 2: 1, 3: 1, 4: 1, 9: None, 10: 2, 20: None}
    assert client.retrieve(name, [9], with_vectors=True)[0].vector == [0, 0, 0, 9]
    assert error(lambda: client.batch_update_points(name, [
        models.UpsertOperation(upsert=models.PointsList(points=points(30), shard_key="cats")),
        models.UpsertOperation(upsert=models.PointsList(points=points(31)))]))
    assert all_ids(client, name) == [1, 2, 3, 4, 9, 10, 20]


def test_an_id_under_two_keys_is_shown_once(client, name):
    create(client, name, "a", "b", "c")
    client.upsert(name, points(*range(1, 21)), shard_key_selector=["a", "b"])
    client.upsert(name, points(21, 22), shard_key_selector="c")
    found = client.query_points(name, query=[1, 1, 1, 1], limit=15).points
    assert len(found) == 15 == len(set(ids(found)))
    exact = client.query_points(name, query=[1, 1, 1, 1], limit=22, shard_key_selector=["a", "c"]).points
    assert [p.id for p in found] == [p.id for p in exact][:15]
    page = client.query_points(name, query=[1, 1, 1, 1], limit=10, offset=10).points
    assert [p.id for p in page] == [p.id for p in exact][10:20]
    seen, offset = [], None
    while True:
        points_, offset = client.scroll(name, limit=7, offset=offset)
        seen += [p.id for p in points_]
        if offset is None:
            break
    assert seen == list(range(1, 23))
    assert ids(client.retrieve(name, [3, 21])) == [3, 21] and client.count(name).count == 42
    client.delete(name, [3], shard_key_selector="a")
    assert 3 in all_ids(client, name) and 3 not in all_ids(client, name, "a")


def test_indexes_and_fields_reach_keys_old_and_new(client, name):
    pets(client, name)
    client.create_payload_index(name, "n", models.PayloadSchemaType.INTEGER)
    client.create_shard_key(name, "late")
    client.upsert(name, points(40, kind="late"), shard_key_selector="late")
    ordered = client.scroll(name, order_by=models.OrderBy(key="n", direction=models.Direction.DESC), limit=3)[0]
    assert [p.id for p in ordered] == [40, 10, 9]
    assert client.get_collection(name).payload_schema["n"].points == 11


def test_a_deleted_key_takes_its_points_along_and_nothing_else(client, server, name):
    pets(client, name)
    before = len(server.files("collections/*/shard-*"))
    client.delete_shard_key(name, "cats")
    assert all_ids(client, name) == [5, 6, 7, 8, 9, 10] and len(server.files("collections/*/shard-*")) == before - 2
    client.create_shard_key(name, "cats")
    assert all_ids(client, name, "cats") == []
    client.upsert(name, points(1), shard_key_selector="cats")
    assert all_ids(client, name, "cats") == [1]


def test_a_check_names_shards_by_their_directories(new_server, name):
    server = new_server(grpc=True).start()
    client = pets(connect(server, False), name)
    client.delete_shard_key(name, "cats")
    numbers = sorted(shard["shard_id"] for shard in cluster(server, name))
    server.stop()
    for command, *more in (["check"], ["repair", "--collection", name]):
        ran = subprocess.run([binary(), command, "--data-dir", server.data_dir, *more], capture_output=True, text=True, check=True)
        named = [line.split(":")[0] for line in ran.stdout.splitlines() if line.startswith("collection ")]
        assert named == [f"collection {name}, shard {number}" for number in numbers] and numbers[0] == 2


def test_keys_survive_restarts_snapshots_and_aliases(new_server, name):
    server = new_server(grpc=True).start()
    client = pets(connect(server, False), name)
    shards = cluster(server, name)
    client.update_collection_aliases([models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=name, alias_name="pets"))])
    for stop in (server.stop, server.kill9):
        stop()
        server.start()
        client = connect(server, False)
        assert cluster(server, name) == shards
        assert all_ids(client, "pets", ["cats", 7]) == [1, 2, 3, 4, 9, 10]
    snapshot = client.create_snapshot(name).name
    client.delete_shard_key("pets", "cats")
    client.create_shard_key("pets", "birds")
    assert all_ids(client, name) == [5, 6, 7, 8, 9, 10]
    dogs = [s["shard_id"] for s in shards if s["shard_key"] == "dogs"]
    shard_snapshot = server.post(f"/collections/{name}/shards/{dogs[0]}/snapshots").result["name"]
    assert server.post(f"/collections/{name}/shards/99/snapshots").status == 404
    client.delete(name, models.Filter(must=[]), shard_key_selector="dogs")
    assert server.put(f"/collections/{name}/shards/{dogs[0]}/snapshots/recover", {"location": shard_snapshot}).status in (200, 400)
    file = next(f for f in server.files(f"snapshots/**/{snapshot}*"))
    path = os.path.join(server.data_dir, file)
    assert server.put(f"/collections/{name}/snapshots/recover", {"location": f"file://{path}"}).result is True
    assert cluster(server, name) == shards and all_ids(client, "pets", "cats") == [1, 2, 3, 4]
    client.create_shard_key("pets", "birds")
    client.upsert("pets", points(90), shard_key_selector="birds")
    assert all_ids(client, name) == [*range(1, 11), 90]


def test_a_crash_during_a_deletion_keeps_the_other_keys(new_server, name):
    """kill -9 at a random moment while keys are deleted and created, and others are written to."""
    server = new_server(grpc=True).start()
    create(connect(server, False), name, "kept")
    rng = random.Random(7)
    kept = 0
    for round_ in range(4):
        client = connect(server, False)
        key = f"k{round_}"
        client.create_shard_key(name, key, shards_number=3)
        client.upsert(name, points(*range(1000, 1200)), shard_key_selector=key)
        done = {"deleted": False}
        acknowledged = []

        def write(client=client, first=kept, acknowledged=acknowledged):
            try:
                for i in range(first + 1, first + 500):
                    client.upsert(name, points(i), shard_key_selector="kept")
                    acknowledged.append(i)
            except Exception:  # noqa: BLE001 the server was killed
                return

        def delete(client=client, key=key, done=done):
            try:
                done["deleted"] = client.delete_shard_key(name, key)
            except Exception:  # noqa: BLE001 the server was killed
                return

        threads = [threading.Thread(target=f) for f in (write, delete)]
        for thread in threads:
            thread.start()
        threads[1].join(rng.choice([0, 0.002, 0.005, 0.01, 0.02, 0.05]))
        server.kill9()
        for thread in threads:
            thread.join()
        server.start()
        client = connect(server, False)
        keys = [k["key"] for k in server.get(f"/collections/{name}/shards").result["shard_keys"]]
        found = all_ids(client, name, "kept")
        assert set(acknowledged) <= set(found) and set(found) - set(acknowledged) <= {kept + len(acknowledged) + 1}
        kept = max([kept, *found])
        if key in keys:
            assert not done["deleted"] and client.count(name, shard_key_selector=key).count == 200
            client.delete_shard_key(name, key)
        client.delete(name, models.Filter(must=[]), shard_key_selector="kept")
        assert client.count(name).count == 0
        assert len(server.files("collections/*/shard-*")) == 1, "shards of dropped keys are removed"


def test_a_cluster_change_makes_keys_too(server, name):
    create(connect(server, False), name)
    assert server.post(f"/collections/{name}/cluster", {"create_sharding_key": {"shard_key": "a", "shards_number": 2}}).result is True
    assert [s["shard_key"] for s in cluster(server, name)] == ["a", "a"]
    assert server.post(f"/collections/{name}/cluster", {"drop_sharding_key": {"shard_key": "a"}}).result is True
    assert cluster(server, name) == []
    assert server.post(f"/collections/{name}/cluster", {"move_shard": {"shard_id": 0, "to_peer_id": 1, "from_peer_id": 2}}).status == 405
    for body in ({}, {"shard_key": True}, {"shard_key": -1}, {"shard_key": ["a"]}, {"shard_key": None}):
        assert server.put(f"/collections/{name}/shards", body).status == 400
    assert server.post(f"/collections/{name}/points/scroll", {"shard_key": {"target": "a"}}).status == 400
    assert server.post(f"/collections/{name}/points/scroll", {"shard_key": 1.5}).status == 400
    assert server.post(f"/collections/{name}/points/query", {"prefetch": {"query": [1, 1, 1, 1], "shard_key": "a"}, "query": [1, 1, 1, 1]}).status == 400


def test_parallel_creation_of_keys(client, server, name):
    create(client, name, "base")
    client.upsert(name, points(1), shard_key_selector="base")
    failures = []

    def churn(n):
        try:
            for i in range(3):
                client.create_shard_key(name, f"{n}-{i}")
                client.upsert(name, points(100 + n), shard_key_selector=f"{n}-{i}")
                assert client.count(name, shard_key_selector="base").count == 1
                if i:
                    client.delete_shard_key(name, f"{n}-{i}")
        except Exception as e:  # noqa: BLE001 reported below
            failures.append(e)

    threads = [threading.Thread(target=churn, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(k["key"] for k in server.get(f"/collections/{name}/shards").result["shard_keys"]) == ["0-0", "1-0", "2-0", "base"]
