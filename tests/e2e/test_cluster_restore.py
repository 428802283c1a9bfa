"""Snapshots restored on all nodes of a cluster: by any node, with nodes killed meanwhile; collections that are adopted."""
import contextlib
import http.client
import os
import random
import subprocess
import threading
import time

import placed
import pytest
from patience import comes_true
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import binary

DIM = 32
N_ROUNDS = 6 if os.environ.get("QUIVER_LONG_TESTS") else 1
VECTORS = {"vectors": {"size": DIM, "distance": "Dot"}, "shard_number": 2}

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster")).start()
    assert comes_true(lambda: all(m["active"] for m in cluster.leader().get("/cluster").result["nodes"]))
    yield cluster
    cluster.close()


def upsert(node, name, ids, value):
    points = [{"id": i, "vector": [float(i % 7)] * DIM, "payload": {"value": value}} for i in ids]
    return node.put(f"/collections/{name}/points?wait=true", {"points": points})


def values(node, name):
    """What the node itself has: value by id; None if it has no such collection or cannot be asked."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        answer = node.post(f"/collections/{name}/points/scroll", {"limit": 100_000})
        if answer.status == 200:
            return {p["id"]: p["payload"]["value"] for p in answer.result["points"]}
    return None


def fill(node, name, n=2000):
    assert node.put(f"/collections/{name}", VECTORS).status == 200
    for first in range(0, n, 500):
        assert upsert(node, name, range(first, first + 500), "old").status == 200


def snapshot_of(node, name):
    """Afterwards the collection has other points."""
    before = values(node, name)
    made = node.post(f"/collections/{name}/snapshots?wait=true").result["name"]
    assert upsert(node, name, range(100, 2500), "new").status == 200
    return made, before, values(node, name)


def recover(node, name, snapshot):
    return node.put(f"/collections/{name}/snapshots/recover?wait=true", {"location": snapshot})


def no_archives(cluster):
    return not any(list((node.data_dir / "restores").glob("*")) for node in cluster.nodes)


def test_any_node_restores_what_it_has(cluster, name):
    fill(cluster.nodes[0], name)
    for node in cluster.nodes:
        snapshot, before, after = snapshot_of(node, name)
        assert before != after
        answer = recover(node, name, snapshot)
        assert answer.status == 200 and answer.result is True, answer.text
        assert values(node, name) == before
        for other in cluster.nodes:
            assert comes_true(lambda other=other, before=before: values(other, name) == before)
        assert upsert(node, name, range(5000, 5010), "later").status == 200
        for other in cluster.nodes:
            assert values(other, name) == before | {i: "later" for i in range(5000, 5010)}
    assert comes_true(lambda: no_archives(cluster))


def test_a_collection_of_some_nodes_is_restored_there(cluster, name):
    placed.make(cluster.nodes[0], name, 2, vectors={"size": DIM, "distance": "Dot"})
    has, others = placed.holders(cluster, name)
    assert len(has) == 2
    assert upsert(others[0], name, range(500), "old").status == 200
    snapshot, before, after = snapshot_of(has[0], name)
    archive = has[0].get(f"/collections/{name}/snapshots/{snapshot}").body
    assert recover(has[0], name, snapshot).status == 200
    assert values(others[0], name) == before != after
    for node in cluster.nodes:
        assert comes_true(lambda: upsert(others[0], name, range(100, 2500), "new").status == 200)
        answer = placed.upload(node, f"/collections/{name}", archive)
        assert answer.status == 200, answer.text
        for one in cluster.nodes:
            assert comes_true(lambda one=one: values(one, name) == before)
        assert placed.holders(cluster, name) == (has, others)
    target = f"{name}-new"
    assert placed.upload(others[0], f"/collections/{target}", archive).status == 200
    assert comes_true(lambda: len(placed.holders(cluster, target)[0]) == 2 and values(others[0], target) == before)
    assert comes_true(lambda: no_archives(cluster))


def test_an_upload_makes_a_new_collection(cluster, name):
    fill(cluster.nodes[0], name, 500)
    node = cluster.followers()[0]
    snapshot = node.post(f"/collections/{name}/snapshots?wait=true").result["name"]
    archive = node.get(f"/collections/{name}/snapshots/{snapshot}").body
    for to in cluster.nodes:
        target = f"{name}-{to.port}"
        answer = placed.upload(to, f"/collections/{target}", archive)
        assert answer.status == 200, answer.text
        for other in cluster.nodes:
            assert comes_true(lambda other=other, target=target: values(other, target) == values(node, name))
    damaged = bytearray(archive)
    damaged[len(damaged) // 2] ^= 1
    assert placed.upload(node, f"/collections/{name}", bytes(damaged)).status == 400
    assert len(values(node, name)) == 500
    assert comes_true(lambda: no_archives(cluster))


@pytest.mark.parametrize("whom", ["leader", "follower", "origin"])
def test_kill9_in_the_middle_leaves_the_old_or_the_new(cluster, name, whom):
    fill(cluster.nodes[0], name)
    rng = random.Random(f"59-{whom}")
    for _ in range(N_ROUNDS):
        leader, followers = cluster.leader(), cluster.followers()
        origin = leader if whom == "follower" and rng.random() < 0.5 else followers[0]
        snapshot, before, after = snapshot_of(origin, name)
        victim = {"leader": leader, "follower": followers[1], "origin": origin}[whom]
        answers = []

        def ask(origin=origin, snapshot=snapshot, answers=answers):
            with contextlib.suppress(OSError, http.client.HTTPException):
                answers.append(recover(origin, name, snapshot).status)

        asking = threading.Thread(target=ask)
        asking.start()
        time.sleep(rng.uniform(0, 0.6))
        victim.kill9()
        asking.join()
        victim.start(wait=False)
        cluster.wait_settled()
        assert comes_true(lambda: values(cluster.leader(), name) is not None)
        assert comes_true(lambda before=before, after=after: values(cluster.nodes[0], name) in (before, after))

        def are_equal():
            found = [values(node, name) for node in cluster.nodes]
            return found[0] is not None and found[0] == found[1] == found[2]
        assert comes_true(are_equal)
        if answers == [200]:
            assert values(cluster.nodes[0], name) == before
        assert comes_true(lambda: upsert(cluster.nodes[0], name, range(6000, 6010), "later").status == 200)
        assert comes_true(are_equal)
        assert values(cluster.nodes[1], name)[6000] == "later"
    assert comes_true(lambda: no_archives(cluster))


def test_a_server_with_collections_becomes_a_node(tmp_path):
    cluster = Cluster(tmp_path)
    alone = cluster.nodes[1]
    settings, alone.env = alone.env, {k: v for k, v in alone.env.items() if "CLUSTER" not in k}
    alone.start()
    fill(alone, "docs", 500)
    fill(alone, "other", 500)
    before = values(alone, "docs")
    alone.stop()
    alone.env = settings
    with contextlib.closing(cluster.start()):
        assert comes_true(lambda: len([m for m in cluster.leader().get("/cluster").result["nodes"] if m["active"]]) == 3)
        assert values(alone, "docs") == before and values(cluster.nodes[0], "docs") is None
        assert upsert(alone, "docs", [1], "x").status in (400, 404, 412)
        url = f"http://127.0.0.1:{alone.port}"
        command = [binary(), "cluster", "adopt", "--url", url]
        printed = subprocess.run([*command, "docs"], capture_output=True, text=True)
        assert printed.returncode == 0 and printed.stdout == "docs: is one of the cluster now\n", printed.stderr
        for node in cluster.nodes:
            assert comes_true(lambda node=node: values(node, "docs") == before)
        assert upsert(cluster.nodes[0], "docs", [1], "changed").status == 200
        assert all(values(node, "docs")[1] == "changed" for node in cluster.nodes)
        assert values(cluster.nodes[0], "other") is None, "it was not named"
        again = subprocess.run([*command, "docs"], capture_output=True, text=True)
        assert again.returncode == 1 and "one of the cluster already" in again.stderr
        assert alone.get("/collections/docs/snapshots").result == []
