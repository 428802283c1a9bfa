"""Nodes that are drained, stopped, removed and replaced, by the commands of an operator and by themselves."""
import contextlib
import http.server
import json
import shutil
import subprocess
import threading

import pytest
from patience import comes_true, patience
from placed import Load, count, holders, leader_of, make, peer_id, shards, upsert, url, view
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import binary

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")


@pytest.fixture
def cluster(tmp_path):
    with contextlib.closing(Cluster(tmp_path).start_whole()) as cluster:
        yield cluster


def command(node, *words):
    """`quiver cluster WORDS` at a node."""
    ran = subprocess.run([binary(), "cluster", *map(str, words), "--url", url(node)], capture_output=True, text=True,
                         timeout=patience(90))
    print(ran.stdout, ran.stderr)
    return ran


class Unclear(http.server.BaseHTTPRequestHandler):
    """A node that does not know at first whether a change was made."""
    protocol_version = "HTTP/1.1"
    n_changes = 0

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer(200, {"result": {"nodes": [{"peer_id": 7, "peer": "a:1"}]}})

    def do_POST(self):
        Unclear.n_changes += 1
        if Unclear.n_changes == 1:
            self.answer(408, {"status": {"error": "Timeout: the outcome is not known"}})
        else:
            self.answer(200, {"result": True})


def test_a_change_whose_outcome_is_not_known_is_asked_again():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unclear) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        ran = subprocess.run([binary(), "cluster", "drain", "7", "--no-wait", "--url",
                              f"http://127.0.0.1:{node.server_port}"], capture_output=True, text=True,
                             timeout=patience(20))
        node.shutdown()
    assert ran.returncode == 0, ran.stderr
    assert Unclear.n_changes == 2
    assert "the outcome is not known; trying again" in ran.stdout and "node 7 drains" in ran.stdout


def row_of(node, peer):
    return next((row for row in view(node)["nodes"] if row["peer_id"] == peer), None)


def nodes_with(cluster, name):
    """Ids of the nodes that have the collection, as the first node that runs says once it knows of it."""
    def placement():
        return next((p for p in view(cluster.alive()[0])["placements"] if p["collection"] == name), None)

    return {replica["peer_id"] for replica in comes_true(placement)["replicas"]}


def test_the_leader_is_drained_upgraded_and_undone_under_load(cluster, name):
    names = [f"{name}-{i}" for i in range(6)]
    for i, each in enumerate(names):
        make(cluster.nodes[0], each, 1 + i % 2)
        assert upsert(cluster.nodes[0], each, range(100)).status == 200
        assert comes_true(lambda each=each: leader_of(cluster, each))
    everywhere = f"{name}-everywhere"
    make(cluster.nodes[0], everywhere, 3)
    assert upsert(cluster.nodes[0], everywhere, range(100)).status == 200
    node = cluster.leader()
    others = [other for other in cluster.nodes if other is not node]
    peer = peer_id(node)
    held = [each for each in names if peer in nodes_with(cluster, each)]
    assert held and comes_true(lambda: node.metric("quiver_cluster_held_collections") == len(held))
    loads = [Load(cluster, held[0]), Load(cluster, everywhere), Load(cluster, held[-1])]
    with loads[0], loads[1], loads[2]:
        ran = command(others[0], "drain", cluster.peers[cluster.nodes.index(node)])
        assert ran.returncode == 0, ran.stderr
        assert "is drained and may be stopped" in ran.stdout
        drained = {"collections_left": 0, "safe_to_stop": True}
        assert comes_true(lambda: row_of(others[1], peer).get("draining") == drained)
    for load in loads:
        assert load.failed == [] and load.written and load.n_reads > 10
        print(f"{len(load.written)} changes, {load.n_reads} reads, longest change {load.longest_s:.2f} s")
    assert comes_true(lambda: all(peer not in nodes_with(cluster, each) for each in names))
    assert others[0].metric("quiver_cluster_draining_nodes") == 1
    assert command(others[0], "drain", peer).returncode == 0, "a second time"
    assert f"node {peer} is drained" in command(others[0], "status").stdout
    with Load(cluster, held[0], others) as load:
        node.stop()
        node.start()
        cluster.wait_settled()
    assert load.failed == [] and load.written
    assert comes_true(lambda: row_of(others[0], peer).get("draining") == drained), "it still drains"
    assert cluster.leader() is not node
    make(others[0], f"{name}-later", 2)
    assert peer not in nodes_with(cluster, f"{name}-later")
    assert "does not drain any more" in command(others[0], "drain", peer, "--undo").stdout
    assert comes_true(lambda: "draining" not in row_of(node, peer))
    assert all(count(node, each) >= 100 for each in names)


def test_what_cannot_move_is_named_and_nothing_is_lost(cluster, name):
    make(cluster.nodes[0], name, 2)
    assert upsert(cluster.nodes[0], name, range(50)).status == 200
    has, has_not = holders(cluster, name)
    peer = peer_id(has[0])
    has_not[0].kill9()
    ran = command(has[1], "drain", peer)
    assert ran.returncode == 1
    assert f"collection `{name}` cannot move: node {peer} drains, and no other node can take the copy" in ran.stderr
    assert "--undo" in ran.stderr
    assert count(has[0], name) == 50 and upsert(has[1], name, [50]).status == 200
    assert f"collection {name}: node {peer} drains" in command(has[1], "status").stdout
    refused = command(has[1], "remove", peer)
    assert refused.returncode == 1 and f"it has collection `{name}`: drain it first" in refused.stderr
    has_not[0].start()
    assert command(has[1], "drain", peer).returncode == 0
    assert comes_true(lambda: nodes_with(cluster, name) == {peer_id(has[1]), peer_id(has_not[0])})
    assert count(has[0], name) == 51
    assert command(has[1], "drain", "7").returncode == 1
    assert command(has[1], "drain", peer, "--undo").returncode == 0
    assert "drains" in command(has[1], "drain", peer, "--no-wait").stdout


def test_a_node_is_removed_and_another_takes_its_place(cluster, name):
    make(cluster.nodes[0], name, 2)
    everywhere = f"{name}-everywhere"
    make(cluster.nodes[0], everywhere, 3)
    assert upsert(cluster.nodes[0], name, range(20)).status == 200
    assert upsert(cluster.nodes[0], everywhere, range(20)).status == 200
    node = cluster.nodes[2]
    others = cluster.nodes[:2]
    peer = peer_id(node)
    assert command(others[0], "drain", peer).returncode == 0
    assert command(others[0], "remove", peer).returncode == 0
    assert comes_true(lambda: row_of(others[0], peer) is None and view(others[0])["n_nodes"] == 2)
    assert comes_true(lambda: node.get("/readyz").status == 503)
    assert "was removed from the cluster" in node.get("/readyz").text
    node.stop()
    for each in name, everywhere:
        assert upsert(others[0], each, [20]).status == 200
    shutil.rmtree(node.data_dir)
    node.start()
    cluster.wait_settled()
    assert comes_true(lambda: all(view(each)["n_nodes"] == 3 for each in cluster.nodes))
    assert peer_id(node) != peer
    assert count(node, everywhere) == 21 and count(node, name) == 21


def test_a_copy_on_a_node_that_stays_away_is_made_elsewhere(tmp_path, name):
    env = {"QUIVER__CLUSTER__REPLACE_AFTER_S": "2"}
    with contextlib.closing(Cluster(tmp_path, env=env).start_whole()) as cluster:
        make(cluster.nodes[0], name, 2)
        assert upsert(cluster.nodes[0], name, range(50)).status == 200
        has, has_not = holders(cluster, name)
        gone, left = peer_id(has[0]), peer_id(has[1])
        has[0].kill9()
        assert comes_true(lambda: nodes_with(cluster, name) == {left, peer_id(has_not[0])})
        assert comes_true(lambda: upsert(has[1], name, [50]).status == 200)
        assert comes_true(lambda: has[1].metric("quiver_cluster_under_replicated_collections") == 0)
        has[0].start()
        cluster.wait_settled()
        assert comes_true(lambda: not shards(has[0], name)["local_shards"])
        assert comes_true(lambda: gone not in nodes_with(cluster, name))
        assert count(has[0], name) == 51


def test_collections_move_so_that_nodes_hold_as_much(cluster, name):
    names = [f"{name}-{i}" for i in range(6)]
    for one in names:
        make(cluster.nodes[0], one, 1)
    full = holders(cluster, names[0])[0][0]
    on_it = [one for one in names if full in holders(cluster, one)[0]]
    assert len(on_it) == 2
    for one in on_it:
        assert upsert(cluster.nodes[0], one, range(4000), "x" * 200).status == 200
    would = command(cluster.nodes[1], "balance", "--dry-run")
    assert would.returncode == 0 and would.stdout.count("would move") == 1, would.stdout
    assert [one for one in names if full in holders(cluster, one)[0]] == on_it, "nothing has moved"
    with Load(cluster, on_it[0]) as load, Load(cluster, on_it[1]) as other:
        moved = command(cluster.nodes[1], "balance")
    assert moved.returncode == 0 and "done, moves: 1" in moved.stdout, moved.stdout
    assert not load.failed and not other.failed
    assert len([one for one in on_it if full in holders(cluster, one)[0]]) == 1
    assert {count(cluster.nodes[0], one) >= 4000 for one in on_it} == {True}
    assert "nothing to move" in command(cluster.nodes[0], "balance").stdout
