"""What nodes of a cluster say of it, changes over gRPC, and what is refused. Changes and faults: test_cluster.py."""
import subprocess

import pytest
from patience import patience
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import binary

VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), grpc=True).start_whole()
    yield cluster
    cluster.close()


def view(node):
    return node.get("/cluster").result


def count(node, name):
    return node.post(f"/collections/{name}/points/count", {}).result["count"]


def test_every_node_tells_the_same(cluster):
    views = [view(node) for node in cluster.nodes]
    assert {v["raft_info"]["leader"] for v in views} == {v["raft_info"]["leader"] for v in views[:1]}
    assert sorted(v["raft_info"]["role"] for v in views) == ["Follower", "Follower", "Leader"]
    for v in views:
        assert v["status"] == "enabled" and set(v["peers"]) == {str(other["peer_id"]) for other in views}
        assert [m["peer"] for m in sorted(v["nodes"], key=lambda m: m["peer"])] == sorted(cluster.peers)
    assert sum(node.metric("quiver_cluster_is_leader") for node in cluster.nodes) == 1
    assert cluster.nodes[0].metric("quiver_cluster_members_alive") == 3
    telemetry = cluster.nodes[1].get("/telemetry").result["cluster"]
    assert telemetry["enabled"] and telemetry["status"]["number_of_peers"] == 3


def test_changes_over_grpc_by_any_node_are_on_all(cluster, name):
    for i, node in enumerate(cluster.nodes):
        collection = f"{name}-{i}"
        client = QdrantClient(port=node.port, grpc_port=node.grpc_port, prefer_grpc=True, check_compatibility=False)
        client.create_collection(collection, VectorParams(size=2, distance=Distance.DOT))
        client.upsert(collection, [PointStruct(id=1, vector=[1, 2]), PointStruct(id=2, vector=[2, 1])], wait=True)
        assert [count(other, collection) for other in cluster.nodes] == [2, 2, 2]
        with pytest.raises(Exception, match="doesn't exist"):
            client.upsert(f"{collection}-missing", [PointStruct(id=1, vector=[1, 2])])
        client.close()


def test_snapshots_are_made_by_each_node(cluster, name):
    node = cluster.nodes[0]
    node.put(f"/collections/{name}", VECTORS)
    shards = node.get(f"/collections/{name}/cluster").result
    assert [s["state"] for s in shards["local_shards"] + shards["remote_shards"]] == ["Active"] * 3
    for other in cluster.nodes:
        assert other.post(f"/collections/{name}/snapshots").status == 200
    shard = node.post(f"/collections/{name}/shards/0/snapshots").result["name"]
    answer = node.put(f"/collections/{name}/shards/0/snapshots/recover", {"location": shard})
    assert answer.status == 400 and "a shard cannot be restored alone in a cluster" in answer.error


def test_the_status_command(cluster):
    url = f"http://127.0.0.1:{cluster.nodes[0].port}"
    printed = subprocess.run([binary(), "cluster", "status", "--url", url], capture_output=True, text=True, check=True)
    rows = printed.stdout.splitlines()
    assert len(rows) == 5 and rows[0].split() == ["node", "peer", "alive", "leads", "active", "lag"]
    assert sorted(row.split()[1] for row in rows[1:4]) == sorted(cluster.peers)
    assert rows[4] == "ledger up, 2 of 3 nodes must have a change"


def test_a_node_alone_is_not_ready_and_makes_no_changes(tmp_path):
    cluster = Cluster(tmp_path)
    node = cluster.nodes[0]
    try:
        node.start(wait=False)
        node.wait_ready("/healthz")
        ready = node.get("/readyz")
        assert ready.status == 503 and "has not reached the ledger" in ready.text
        answer = node.put("/collections/c", VECTORS)
        assert answer.status == 503 and answer.headers["retry-after"] == "1"
        assert "the change was not made: this node has not reached the ledger yet" in answer.error
    finally:
        cluster.close()


def test_settings_that_cannot_be(tmp_path):
    def error(**settings):
        flags = [f"--set=cluster.{key}={value}" for key, value in settings.items()]
        command = [binary(), "serve", "--data-dir", tmp_path / "data", *flags]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=patience(20))
        assert ended.returncode == 1
        return ended.stderr

    assert "cluster.secret is empty" in error(peers="node1,node2")
    assert "cluster.advertise must say which" in error(peers="127.0.0.1:7001,127.0.0.1:7002")
    assert "which cluster.peers lacks" in error(peers="127.0.0.1:7001", advertise="127.0.0.1:7002")
    assert "cluster.peers: " in error(peers="a:b")
