"""Collections that are on some of three nodes: each node answers for them, and they move without a failed request."""
import contextlib
import http.client
import subprocess
import time

import pytest
from patience import comes_true, patience
from placed import Load, count, has_moved, holders, leader_of, make, move, peer_id, shards, upsert, url, view
from qdrant_client import QdrantClient
from qdrant_client.models import PointStruct
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import binary

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), grpc=True).start_whole()
    yield cluster
    cluster.close()


@pytest.mark.parametrize("factor", [1, 2])
def test_every_node_answers_for_a_collection_of_some(cluster, name, factor):
    make(cluster.nodes[0], name, factor, shard_number=2, shards_together=True)
    for i, node in enumerate(cluster.nodes):
        assert upsert(node, name, range(10 * i, 10 * i + 10)).status == 200
    has, has_not = holders(cluster, name)
    assert len(has) == factor
    assert all(count(node, name) == 30 for node in cluster.nodes)
    query = {"query": [1, 1], "limit": 7, "with_payload": True}
    answers = [node.post(f"/collections/{name}/points/query", query).result for node in cluster.nodes]
    assert answers[0] == answers[1] == answers[2] and len(answers[0]["points"]) == 7
    for node in cluster.nodes:
        info = node.get(f"/collections/{name}").result
        assert info["points_count"] == 30 and info["config"]["params"]["replication_factor"] == factor
        assert node.get(f"/collections/{name}/points/3").result["payload"] == {"value": "a"}
        assert name in [c["name"] for c in node.get("/collections").result["collections"]]
        assert node.get(f"/collections/{name}/exists").result["exists"]
        state = shards(node, name)
        assert state["shard_count"] == 2 and state["peer_id"] == peer_id(node)
        assert len(state["local_shards"]) == (2 if node in has else 0)
        assert len(state["remote_shards"]) == 2 * (factor - (node in has))
        assert [p["collection"] for p in view(node)["placements"] if p["collection"] == name] == [name]
    assert upsert(has_not[0], name, [1], "changed").status == 200
    assert all(node.get(f"/collections/{name}/points/1").result["payload"] == {"value": "changed"}
               for node in cluster.nodes)
    fresh = has_not[0].post(f"/collections/{name}/points/query?consistency=majority", query)
    assert fresh.status == 200 and len(fresh.result["points"]) == 7
    status = [binary(), "cluster", "status", "--url", url(has[0])]
    table = subprocess.run(status, capture_output=True, text=True, check=True).stdout
    assert name in table


def test_the_catalog_is_right_everywhere(cluster, name):
    make(cluster.followers()[0], name, 1)
    assert upsert(cluster.nodes[0], name, range(5)).status == 200
    has, has_not = holders(cluster, name)
    alias = f"{name}-alias"
    assert has_not[0].post("/collections/aliases", {"actions": [
        {"create_alias": {"collection_name": name, "alias_name": alias}}]}).status == 200
    for node in cluster.nodes:
        assert comes_true(lambda node=node: node.get(f"/collections/{alias}").status == 200)
        assert count(node, alias) == 5
        assert {"alias_name": alias, "collection_name": name} in node.get("/aliases").result["aliases"]
        assert node.get(f"/collections/{name}/aliases").result["aliases"]
        assert node.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}}).status == 409
    assert has_not[1].put(f"/collections/{name}/index?wait=true",
                          {"field_name": "value", "field_schema": "keyword"}).status == 200
    assert all("value" in node.get(f"/collections/{name}").result["payload_schema"] for node in cluster.nodes)
    refused = has_not[0].post(f"/collections/{name}/snapshots")
    assert refused.status == 400 and url(has[0]) in refused.error
    assert has[0].post(f"/collections/{name}/snapshots").status == 200
    assert has_not[0].delete(f"/collections/{name}").status == 200
    for node in cluster.nodes:
        assert comes_true(lambda node=node: node.get(f"/collections/{name}").status == 404)


def test_a_lookup_in_a_collection_of_other_nodes_says_so(cluster, name):
    make(cluster.nodes[0], name, 1)
    here, elsewhere = f"{name}-here", holders(cluster, name)[1][0]
    assert cluster.nodes[0].put(f"/collections/{here}", {"vectors": {"size": 2, "distance": "Dot"}}).status == 200
    assert upsert(cluster.nodes[0], name, [1]).status == 200
    answer = elsewhere.post(f"/collections/{here}/points/query", {"query": 1, "lookup_from": {"collection": name}})
    assert answer.status == 400 and name in answer.error and "is not on this node" in answer.error


def test_grpc_calls_are_sent_on(cluster, name):
    make(cluster.nodes[0], name, 1)
    for i, node in enumerate(cluster.nodes):
        client = QdrantClient(host=node.host, port=node.port, grpc_port=node.grpc_port, prefer_grpc=True)
        client.upsert(name, [PointStruct(id=i, vector=[1, i], payload={"node": i})], wait=True)
        assert client.count(name).count == i + 1
        assert client.retrieve(name, [0])[0].payload == {"node": 0}
        assert client.get_collection(name).points_count == i + 1
        assert client.query_points(name, query=[1, 1], limit=1).points
        assert client.collection_exists(name)
        client.close()


@pytest.mark.parametrize("moves_leader", [False, True])
def test_it_moves_under_load_without_a_failed_request(cluster, name, moves_leader):
    make(cluster.nodes[0], name, 2 if not moves_leader else 1)
    assert upsert(cluster.nodes[0], name, range(200)).status == 200
    assert comes_true(lambda: leader_of(cluster, name) is not None)
    has, has_not = holders(cluster, name)
    source = next(node for node in has if (node is leader_of(cluster, name)) == moves_leader)
    ids = {peer_id(node) for node in has} - {peer_id(source)} | {peer_id(has_not[0])}
    with Load(cluster, name) as load:
        move(cluster, name, peer_id(source), peer_id(has_not[0]))
        assert comes_true(has_moved(cluster, name, ids))
        time.sleep(1)
    assert load.failed == [] and load.n_reads > 10
    print(f"{len(load.written)} changes, {load.n_reads} reads, longest change {load.longest_s:.2f} s")
    assert all(count(node, name) == 200 + len(load.written) for node in cluster.nodes)
    assert comes_true(lambda: not shards(source, name)["local_shards"])


def test_copies_are_added_dropped_and_refused(cluster, name):
    make(cluster.nodes[0], name, 1)
    assert upsert(cluster.nodes[0], name, range(10)).status == 200
    has, has_not = holders(cluster, name)
    ids = [peer_id(has[0]), peer_id(has_not[0])]
    path = f"/collections/{name}/cluster"
    answer = has_not[1].post(path, {"replicate_shard": {"shard_id": 0, "from_peer_id": ids[0], "to_peer_id": ids[1]}})
    assert answer.status == 200 and answer.result is True
    assert comes_true(has_moved(cluster, name, ids))
    assert has[0].post(path, {"drop_replica": {"shard_id": 0, "peer_id": ids[0]}}).status == 200
    assert comes_true(has_moved(cluster, name, ids[1:]))
    assert upsert(has[0], name, [11]).status == 200
    for body in ({"drop_replica": {"shard_id": 0, "peer_id": ids[1]}},
                 {"drop_replica": {"shard_id": 9, "peer_id": ids[1]}},
                 {"move_shard": {"shard_id": 0, "from_peer_id": ids[0], "to_peer_id": peer_id(has_not[1])}},
                 {"move_shard": {"shard_id": 0, "from_peer_id": ids[1]}},
                 {"abort_transfer": {"shard_id": 0, "from_peer_id": ids[1], "to_peer_id": ids[0]}}):
        assert has[0].post(path, body).status in (400, 422), body
    assert has[0].post(path, {"restart_transfer": {}}).status == 501


def test_a_killed_target_gets_its_copy_when_it_is_back(cluster, name):
    make(cluster.nodes[0], name, 1)
    assert upsert(cluster.nodes[0], name, range(50)).status == 200
    has, has_not = holders(cluster, name)
    source, target = peer_id(has[0]), peer_id(has_not[0])
    move(cluster, name, source, target)
    has_not[0].kill9()
    with contextlib.suppress(OSError, http.client.HTTPException):
        upsert(has[0], name, [100])
    has_not[0].start()
    cluster.wait_settled()
    assert comes_true(has_moved(cluster, name, [target]))
    assert count(has[0], name) == count(has_not[0], name) >= 50


def test_reads_go_on_when_a_holder_is_killed(cluster, name):
    make(cluster.nodes[0], name, 2)
    assert upsert(cluster.nodes[0], name, range(50)).status == 200
    has, has_not = holders(cluster, name)
    has[0].kill9()
    deadline = time.monotonic() + patience(1)
    try:
        while time.monotonic() < deadline:
            assert count(has_not[0], name) == 50
    finally:
        has[0].start()
        cluster.wait_settled()
    assert comes_true(lambda: upsert(has_not[0], name, [100]).status == 200)
