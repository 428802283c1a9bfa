"""Three nodes on this machine: the same API on each, and nothing acknowledged is lost with one of them."""
import contextlib
import functools
import http.client
import shutil
import subprocess
import threading
import time

import grpc
import pytest
from patience import comes_true, patience
from qdrant_client import models
from quiver_cluster import HAS_ETCD, Cluster, InBackground
from quiver_server import binary

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster")).start()
    yield cluster
    cluster.close()


def points(node, collection, query=""):
    page = node.post(f"/collections/{collection}/points/scroll{query}",
                     {"limit": 100000, "with_payload": True, "with_vector": True}).result
    return page["points"]


def make(node, collection, **kwargs):
    answer = node.put(f"/collections/{collection}", {"vectors": {"size": 4, "distance": "Dot"}} | kwargs)
    assert answer.status == 200, answer.text


def upsert(node, collection, ids, value="a"):
    body = {"points": [{"id": i, "vector": [1, 2, 3, i], "payload": {"value": value}} for i in ids]}
    return node.put(f"/collections/{collection}/points?wait=true", body)


def test_each_node_takes_changes_and_all_answer_alike(cluster, name):
    for i, node in enumerate(cluster.nodes):
        if i == 0:
            make(node, name, shard_number=2)
        assert upsert(node, name, range(10 * i, 10 * i + 10), f"from node {i}").status == 200
    expected = points(cluster.nodes[0], name)
    assert len(expected) == 30
    query = {"query": [1, 0, 2, 1], "limit": 7, "with_payload": True, "filter": {"must": [{"has_id": list(range(20))}]}}
    answers = []
    for node in cluster.nodes:
        assert points(node, name) == expected
        answers.append(node.post(f"/collections/{name}/points/query", query).result)
        assert node.post(f"/collections/{name}/points/count", {"exact": True}).result["count"] == 30
    assert answers[0] == answers[1] == answers[2]


def test_the_catalog_is_changed_through_any_node(cluster, name):
    follower = cluster.followers()[0]
    make(follower, name)
    assert follower.put(f"/collections/{name}/index?wait=true",
                        {"field_name": "value", "field_schema": "keyword"}).status == 200
    alias = f"{name}-alias"
    assert follower.post("/collections/aliases", {"actions": [
        {"create_alias": {"collection_name": name, "alias_name": alias}}]}).status == 200
    for node in cluster.nodes:
        assert comes_true(lambda node=node: node.get(f"/collections/{alias}").status == 200)
        assert comes_true(lambda node=node: "value" in node.get(f"/collections/{alias}").result["payload_schema"])
    assert upsert(cluster.leader(), alias, [1]).status == 200
    assert follower.delete(f"/collections/{name}").status == 200
    for node in cluster.nodes:
        assert comes_true(lambda node=node: node.get(f"/collections/{name}").status == 404)


def test_errors_are_those_of_the_leader(cluster, name):
    make(cluster.nodes[0], name)
    for node in cluster.nodes:
        answer = node.put(f"/collections/{name}/points", {"points": [{"id": 1, "vector": [1, 2]}]})
        assert answer.status == 400 and "dim" in answer.error
        assert node.put(f"/collections/{name}", {"vectors": {"size": 4, "distance": "Dot"}}).status == 409
        assert upsert(node, "there-is-none", [1]).status == 404


def test_the_stock_client_sees_the_cluster(cluster, name):
    make(cluster.nodes[0], name)
    for node in cluster.nodes:
        status = node.get("/cluster").result
        assert status["status"] == "enabled" and len(status["peers"]) == 3
        client = node.client()
        client.upsert(name, models.Batch(ids=[5], vectors=[[1, 2, 3, 4]]))
        assert client.count(name).count == 1
        info = node.get(f"/collections/{name}/cluster").result
        assert len(info["local_shards"]) == 1 and len(info["remote_shards"]) == 2


class Writers(InBackground):
    """Threads that write and delete points of their own through changing nodes, and note what was acknowledged."""

    N_POINTS = 50  # of a thread

    def __init__(self, cluster, collection, n=4):
        self.cluster, self.collection = cluster, collection
        # What each point may be: its payload's value, or None if it may be absent. A change whose outcome is not known
        # may come about at any later time, so its point is written no more.
        self.possible, self.n_acknowledged, self.failed, self.longest_pause_s = {}, 0, 0, 0.0
        self._lock = threading.Lock()
        self._last = time.monotonic()
        super().__init__(*(functools.partial(self._run, i) for i in range(n)))

    def _run(self, number):
        points = list(range(1_000_000 * number, 1_000_000 * number + self.N_POINTS))
        n = 0
        while not self.stop.is_set():
            n += 1
            slot = n % len(points)
            value = None if n % 7 == 0 else f"{number}-{n}"
            node = self.cluster.nodes[(number + n) % len(self.cluster.nodes)]
            if not node.alive():
                time.sleep(0.01)
            elif not self._note(points[slot], value, self._write(node, points[slot], value)):
                points[slot] = max(points) + 1
                time.sleep(0.01)

    def _write(self, node, point, value):
        """True if it was acknowledged."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            if value is not None:
                return upsert(node, self.collection, [point], value).status == 200
            return node.post(f"/collections/{self.collection}/points/delete?wait=true", {"points": [point]}).status == 200
        return False

    def _note(self, point, value, done):
        with self._lock:
            if not done:
                self.failed += 1
                self.possible.setdefault(point, [None]).append(value)
                return False
            self.possible[point] = [value]
            self.n_acknowledged += 1
            now = time.monotonic()
            self.longest_pause_s = max(self.longest_pause_s, now - self._last)
            self._last = now
            return True

    def check(self):
        """All nodes are equal, and hold what was acknowledged."""
        self.cluster.wait_settled()
        # Of a collection whose shards have nodes of their own, the leader may ask one that has not caught up yet.
        expected = comes_true(lambda: points(self.cluster.leader(), self.collection, "?consistency=majority"))
        for node in self.cluster.nodes:
            assert comes_true(lambda node=node: points(node, self.collection) == expected)
        found = {point["id"]: point["payload"]["value"] for point in expected}
        for point, values in self.possible.items():
            assert found.get(point) in values, f"point {point} is {found.get(point)}, and may be {values}"
        return len(found)


@pytest.mark.parametrize("whom", ["leader", "follower", "all"])
def test_kill9_loses_nothing_that_was_acknowledged(cluster, name, whom):
    make(cluster.nodes[0], name, shard_number=2)
    with Writers(cluster, name) as writers:
        time.sleep(1)
        killed = {"leader": lambda: [cluster.leader()], "follower": lambda: cluster.followers()[:1],
                  "all": lambda: list(cluster.nodes)}[whom]()
        for node in killed:
            node.kill9()
        time.sleep(0.2 if whom == "all" else patience(2))
        before = writers.n_acknowledged
        if whom != "all":
            assert comes_true(lambda: cluster.leader() is not None)
            assert comes_true(lambda: writers.n_acknowledged > before)
        for node in killed:
            node.start(wait=False)
        cluster.wait_settled()
        time.sleep(1)
    assert writers.check() > 20


def test_a_read_with_consistency_shows_what_was_acknowledged(cluster, name):
    make(cluster.nodes[0], name)
    followers = cluster.followers()
    for i in range(200):
        body = {"points": [{"id": i, "vector": [1, 2, 3, 4]}]}
        assert cluster.nodes[i % 3].put(f"/collections/{name}/points", body).status == 200
        for node in followers:
            answer = node.post(f"/collections/{name}/points/count?consistency=majority", {"exact": True})
            assert answer.result["count"] == i + 1, node.port
    other = f"{name}-other"
    make(cluster.leader(), other)
    for node in followers:
        assert node.post(f"/collections/{other}/points/count?consistency=2", {"exact": True}).result["count"] == 0


def active_nodes(leader, collection):
    info = leader.get(f"/collections/{collection}/cluster").result
    return 1 + sum(shard["state"] == "Active" for shard in info["remote_shards"])


def etcd_is_healthy(peer):
    """Whether the member of etcd beside this peer takes part."""
    host, port = peer.rsplit(":", 1)
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection(host, int(port) + 1, timeout=2)
        connection.request("GET", "/health")
        return b"true" in connection.getresponse().read()
    return False


def test_a_node_that_lost_everything_is_replaced_by_an_empty_one(tmp_path):
    """Its member of etcd, too: afterwards another node may be lost."""
    cluster = Cluster(tmp_path)
    with contextlib.closing(cluster.start()):
        make(cluster.nodes[0], "kept")
        assert comes_true(lambda: active_nodes(cluster.leader(), "kept") == 3)
        n_points = 0
        for i, node in enumerate(cluster.nodes):
            node.kill9()
            shutil.rmtree(node.data_dir)
            node.start(wait=False)
            cluster.wait_settled()
            assert comes_true(lambda: active_nodes(cluster.leader(), "kept") == 3, idle_s=40)
            assert comes_true(lambda i=i: etcd_is_healthy(cluster.peers[i]), idle_s=60)
            other = cluster.nodes[(i + 1) % 3]
            other.kill9()
            assert comes_true(lambda n=n_points: upsert(node, "kept", range(n, n + 10)).status == 200)  # noqa: B023
            n_points += 10
            other.start(wait=False)
            cluster.wait_settled()
            assert comes_true(lambda: active_nodes(cluster.leader(), "kept") == 3)
            assert comes_true(lambda i=i: etcd_is_healthy(cluster.peers[(i + 1) % 3]), idle_s=60)
        for node in cluster.nodes:
            answer = node.post("/collections/kept/points/count?consistency=all", {"exact": True})
            assert answer.result["count"] == n_points


def test_check_compares_the_nodes(cluster, name):
    make(cluster.nodes[0], name)
    assert upsert(cluster.nodes[0], name, range(1200)).status == 200
    command = [str(binary()), "cluster", "check", "--url", f"http://{cluster.nodes[1].host}:{cluster.nodes[1].port}"]
    with Writers(cluster, name):
        found = subprocess.run(command, capture_output=True, text=True, timeout=patience(60))
    assert found.returncode == 0, found.stdout + found.stderr
    assert f"{name}: " in found.stdout and " 0 differ" in found.stdout


def test_alone_a_node_answers_reads_but_none_with_consistency(tmp_path):
    cluster = Cluster(tmp_path, grpc=True)
    with contextlib.closing(cluster.start()):
        make(cluster.nodes[0], "some")
        assert upsert(cluster.nodes[0], "some", range(5)).status == 200
        count = "/collections/some/points/count"
        assert cluster.nodes[0].post(f"{count}?consistency=many", {"exact": True}).status == 400
        for node in cluster.nodes[1:]:
            node.kill9()
        node = cluster.nodes[0]
        assert node.post(count, {"exact": True}).result["count"] == 5
        assert node.post(f"{count}?consistency=1", {"exact": True}).result["count"] == 5
        for wanted in ("majority", "quorum", "all", "2"):
            answer = node.post(f"{count}?consistency={wanted}&timeout=1", {"exact": True})
            assert answer.status == 503, answer.text
            assert answer.headers["retry-after"] == "1"
        with contextlib.closing(node.client(prefer_grpc=True, grpc_port=node.grpc_port)) as client:
            assert client.query_points("some", query=[1, 2, 3, 4]).points
            with pytest.raises(grpc.RpcError) as refused:
                client.query_points("some", query=[1, 2, 3, 4], consistency=models.ReadConsistencyType.MAJORITY)
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE


def test_messages_with_another_secret_are_refused(cluster):
    peer = cluster.peers[0].rsplit(":", 1)
    connection = http.client.HTTPConnection(peer[0], int(peer[1]), timeout=10)
    connection.request("POST", "/internal/v1/refresh", body=b"", headers={"x-quiver-secret": "wrong"})
    assert connection.getresponse().status == 403
    connection.close()
