"""Three nodes on this machine: changes by any of them, what they say of each other, the death of the leader."""
import contextlib
import http.client
import shutil
import socket
import subprocess
import time

import pytest
from patience import patience
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams
from quiver_server import Server, binary

VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}
SECRET = "a-secret"

pytestmark = pytest.mark.skipif(shutil.which("etcd") is None, reason="etcd is not installed")


def is_free(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


def free_ports(n):
    """A port, of which the next `n` - 1 are free, too: peer, and etcd's two."""
    for _ in range(100):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            first = s.getsockname()[1]
        if first + n < 65536 and all(is_free(first + i) for i in range(n)):
            return first
    raise AssertionError("no free ports")


def eventually(condition, idle_s=20):
    """The first true value of `condition`; errors of the connection count as false."""
    end = time.monotonic() + patience(idle_s)
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            if value := condition():
                return value
        time.sleep(0.05)
    raise AssertionError(f"did not come true:\n{condition}")


class Cluster:
    def __init__(self, root):
        self.peers = [f"127.0.0.1:{free_ports(3)}" for _ in range(3)]
        self.nodes = [self.node(root / f"node{i}", self.peers[i]) for i in range(3)]

    def node(self, data, advertise, secret=SECRET):
        settings = {"cluster.peers": ",".join(self.peers), "cluster.advertise": advertise, "cluster.secret": secret,
                    "cluster.lease_s": 2}
        return Server(data, args=[f"--set={key}={value}" for key, value in settings.items()], grpc=True)

    def start(self):
        for node in self.nodes:
            node.start(wait=False)
        for node in self.nodes:
            node.wait_ready()
        self.wait_active()

    def wait_active(self, n=3):
        for node in self.nodes:
            if node.alive():
                eventually(lambda node=node: sum(m["active"] and m["alive"] for m in view(node)["nodes"]) == n)

    def leader(self):
        ids = {view(node)["peer_id"]: node for node in self.nodes if node.alive()}
        return eventually(lambda: next((ids[m["peer_id"]] for m in view(next(iter(ids.values())))["nodes"]
                                        if m["leads"] and m["alive"] and m["peer_id"] in ids), None))

    def close(self):
        for node in self.nodes:
            node.close()


def view(node):
    return node.get("/cluster").result


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.start()
    yield cluster
    cluster.close()


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


def test_changes_by_any_node_are_on_all(cluster, name):
    for i, node in enumerate(cluster.nodes):
        collection = f"{name}-{i}"
        assert node.put(f"/collections/{collection}", VECTORS).result is True
        points = [{"id": id, "vector": [1, id]} for id in range(10)]
        assert node.put(f"/collections/{collection}/points?wait=true", {"points": points}).result["status"] == "completed"
        assert [count(other, collection) for other in cluster.nodes] == [10, 10, 10]
        node.post(f"/collections/{collection}/points/delete?wait=true", {"points": [3]})
        assert [count(other, collection) for other in cluster.nodes] == [9, 9, 9]
        shards = node.get(f"/collections/{collection}/cluster").result
        assert [s["state"] for s in shards["local_shards"]] == ["Active"]
        assert [s["state"] for s in shards["remote_shards"]] == ["Active", "Active"]
        assert node.delete(f"/collections/{collection}").result is True
        assert node.put(f"/collections/{collection}/points", {"points": points}).status == 404


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


def test_snapshots_are_made_by_each_node_and_not_restored(cluster, name):
    node = cluster.nodes[0]
    node.put(f"/collections/{name}", VECTORS)
    for other in cluster.nodes:
        assert other.post(f"/collections/{name}/snapshots").status == 200
    snapshot = node.get(f"/collections/{name}/snapshots").result[0]["name"]
    answer = node.put(f"/collections/{name}/snapshots/recover", {"location": f"file:///{name}/{snapshot}"})
    assert answer.status == 501 and "in a cluster" in answer.error


def test_the_status_command(cluster):
    url = f"http://127.0.0.1:{cluster.nodes[0].port}"
    printed = subprocess.run([binary(), "cluster", "status", "--url", url], capture_output=True, text=True, check=True)
    rows = printed.stdout.splitlines()
    assert len(rows) == 5 and rows[0].split() == ["node", "peer", "alive", "leads", "active", "lag"]
    assert sorted(row.split()[1] for row in rows[1:4]) == sorted(cluster.peers)
    assert rows[4] == "ledger up, 2 of 3 nodes must have a change"


def test_a_node_with_another_secret_is_refused(cluster):
    host, port = cluster.peers[0].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=patience(10))
    connection.request("POST", "/internal/v1/applied", body=b"", headers={"x-quiver-secret": "another"})
    answer = connection.getresponse()
    assert answer.status == 403 and b"cluster.secret" in answer.read()
    connection.close()
    assert "its secret is wrong (cluster.secret)" in cluster.nodes[0].log_tail()


def test_another_node_leads_when_the_leader_dies(cluster, name):
    leader = cluster.leader()
    followers = [node for node in cluster.nodes if node is not leader]
    followers[0].put(f"/collections/{name}", VECTORS)

    def upsert(id):
        path = f"/collections/{name}/points?wait=true"
        return followers[id % 2].put(path, {"points": [{"id": id, "vector": [1, 2]}]}).status == 200

    assert upsert(1)
    leader.kill9()
    eventually(lambda: upsert(2))
    assert cluster.leader() in followers
    leader.start()
    cluster.wait_active()
    assert upsert(3)
    assert [count(node, name) for node in cluster.nodes] == [3, 3, 3]


def test_a_node_alone_is_not_ready_and_makes_no_changes(tmp_path):
    cluster = Cluster(tmp_path)
    node = cluster.nodes[0]
    try:
        node.start(wait=False)
        eventually(lambda: node.get("/healthz").status == 200)
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
