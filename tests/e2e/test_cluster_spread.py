"""A collection whose shards have nodes of their own: every node answers for all of them, as one server would."""
import random
import subprocess
import threading

import numpy as np
import pytest
from patience import comes_true
from placed import count, peer_id, shards, upload, upsert, url, view
from qdrant_client import QdrantClient
from qdrant_client.models import FieldCondition, Filter, FusionQuery, MatchValue, PointStruct, Prefetch
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import Server, binary

pytestmark = pytest.mark.skipif(not HAS_ETCD, reason="etcd was not found in PATH: install etcd-server")

COLLECTION = {"vectors": {"dense": {"size": 8, "distance": "Cosine"}}, "sparse_vectors": {"words": {}, "rare": {"modifier": "idf"}}}
SHARDS = 4
WORDS = "a red fox and two blue birds saw the green river near an old stone bridge".split()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), grpc=True).start_whole()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("alone"))
    server.start()
    yield server
    server.close()


def make_spread(node, name, factor, **kwargs):
    answer = node.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}, "shard_number": SHARDS,
                                               "replication_factor": factor} | kwargs)
    assert answer.status == 200, answer.text


def some_points(n, seed=1):
    draw = np.random.default_rng(seed)
    for i in range(n):
        indices = draw.choice(60, 6, replace=False)
        sparse = {"indices": sorted(int(k) for k in indices), "values": draw.random(6).tolist()}
        text = " ".join(WORDS[k] for k in draw.integers(0, len(WORDS), 1 + i % 9))
        yield {"id": i, "payload": {"n": int(i % 17), "tag": f"t{i % 5}", "tags": [f"t{i % 5}", f"t{i % 3}"], "text": text},
               "vector": {"dense": draw.standard_normal(8).tolist(), "words": sparse, "rare": sparse}}


def questions():
    """(path below the collection, body)"""
    draw = random.Random(2)
    dense = [draw.gauss(0, 1) for _ in range(8)]
    words = {"indices": [3, 9, 27, 40], "values": [1, .5, .25, 2]}
    exact = {"exact": True}
    near = {"query": dense, "using": "dense", "params": exact, "limit": 30}
    sparse = {"query": words, "using": "words", "limit": 30}
    some = {"must": [{"key": "tag", "match": {"value": "t1"}}], "must_not": [{"has_id": [6, 11]}]}
    yield "points/query", near | {"with_payload": True, "with_vector": True}
    yield "points/query", near | {"offset": 7, "limit": 5, "filter": some, "score_threshold": -.2}
    yield "points/query", sparse
    yield "points/query", {"query": 17, "using": "dense", "params": exact, "limit": 9}
    yield "points/query", {"query": {"recommend": {"positive": [3, dense], "negative": [5]}}, "using": "dense", "params": exact}
    yield "points/query", {"query": {"discover": {"target": 1, "context": [{"positive": 2, "negative": 3}]}},
                           "using": "dense", "params": exact}
    for fusion in ("rrf", "dbsf"):
        yield "points/query", {"prefetch": [near, sparse], "query": {"fusion": fusion}, "limit": 12, "with_payload": ["n"]}
    yield "points/query", {"prefetch": [sparse, near | {"filter": some}], "query": dense, "using": "dense", "limit": 12}
    yield "points/query", {"prefetch": near, "query": {"formula": {"sum": ["$score", {"mult": [.1, "n"]}]}}, "limit": 8}
    yield "points/query", near | {"query": {"nearest": dense, "mmr": {"diversity": .5, "candidates_limit": 40}}, "limit": 10}
    yield "points/query", {"query": words, "using": "rare", "limit": 30}
    by_text = {"query": {"text": "blue bird bridges"}, "using": "text", "limit": 25}
    yield "points/query", by_text | {"with_payload": True, "highlight": {"fields": ["text"]}}
    yield "points/query", {"query": {"text": "blu rivr", "fuzzy": True}, "using": "text"}
    yield "points/query", {"prefetch": [near, by_text], "query": {"fusion": "rrf"}, "limit": 12}
    yield "points/query", {"prefetch": [near, sparse], "query": {"text": "red river"}, "using": "text", "limit": 12}
    yield "points/query", {"prefetch": [near, sparse], "query": words, "using": "rare", "limit": 12}
    yield "points/query", {"query": {"order_by": {"key": "n", "direction": "desc"}}, "limit": 20}
    yield "points/query/groups", near | {"group_by": "tags", "group_size": 3, "limit": 4, "with_payload": True}
    yield "points/scroll", {"limit": 40, "offset": 12, "filter": some}
    yield "points/scroll", {"limit": 15, "order_by": "n"}
    yield "points", {"ids": [4, 900, 2, 77, 1], "with_vector": True}
    yield "points/count", {"filter": some, "exact": True}
    yield "facet", {"key": "tag", "limit": 3}
    yield "points/query/batch", {"searches": [near, sparse]}
    yield "points/recommend", {"positive": [1], "negative": [2], "using": "dense", "limit": 4, "params": exact}


def test_every_node_gives_the_bytes_of_one_server(cluster, alone, name):
    points = list(some_points(300))
    for server in (alone, cluster.nodes[0]):
        assert server.put(f"/collections/{name}", COLLECTION | {"shard_number": SHARDS, "replication_factor": 1}).status == 200
        for field, schema in (("n", "integer"), ("tag", "keyword"), ("text", {"type": "text", "scoring": True})):
            assert server.put(f"/collections/{name}/index?wait=true", {"field_name": field, "field_schema": schema}).status == 200
    for i in range(0, 300, 25):
        for server in (alone, cluster.nodes[i % 3]):
            assert server.put(f"/collections/{name}/points?wait=true", {"points": points[i:i + 25]}).status == 200
    for change in ("delete", "payload"):
        body = {"points": list(range(20, 30))} | ({"payload": {"n": 3}} if change == "payload" else {})
        by_filter = {"filter": {"must": [{"key": "n", "match": {"value": 9}}]}} | ({"payload": {"n": 4}} if change == "payload" else {})
        body["points"] = [i for i in body["points"] if change == "delete" or i >= 30] or [40, 41]
        for each in (body, by_filter):
            for server in (alone, cluster.nodes[1]):
                assert server.post(f"/collections/{name}/points/{change}?wait=true", each).status == 200
    for path, body in questions():
        wanted = alone.post(f"/collections/{name}/{path}", body)
        assert wanted.status == 200, (path, wanted.text)
        for node in cluster.nodes:
            found = node.post(f"/collections/{name}/{path}", body)
            assert found.status == 200, (path, found.text)
            assert found.result == wanted.result, (path, body)
    for path, body in (("points/query", {"query": [1], "using": "dense"}), ("points/query", {"query": 12345, "using": "dense"}),
                       ("points/scroll", {"order_by": "tags"}), ("facet", {"key": "none"})):
        wanted, found = (server.post(f"/collections/{name}/{path}", body) for server in (alone, cluster.nodes[2]))
        assert wanted.status == found.status >= 400 and wanted.error.split(" (")[0] in found.error


def test_each_node_knows_where_the_shards_are(cluster, name):
    make_spread(cluster.nodes[0], name, 2)
    assert upsert(cluster.nodes[0], name, range(80)).status == 200
    all_points = 0
    for node in cluster.nodes:
        state = shards(node, name)
        assert state["shard_count"] == SHARDS and len(state["shard_leaders"]) == SHARDS
        assert len(state["local_shards"]) + len(state["remote_shards"]) == 2 * SHARDS
        all_points += sum(shard["points_count"] for shard in state["local_shards"])
        info = node.get(f"/collections/{name}").result
        assert info["points_count"] == 80 and info["config"]["params"]["shard_number"] == SHARDS
        assert sum(1 for p in view(node)["placements"] if p["collection"] == name) == SHARDS
        assert [c["name"] for c in node.get("/collections").result["collections"]].count(name) == 1
        assert node.get(f"/collections/{name}%2F0").status == 404
        indexes = node.get(f"/v1/collections/{name}/indexes").result["indexes"]
        assert {index["shard"] for index in indexes} == set(range(SHARDS))
        summary = node.get(f"/collections/{name}/optimizations").result["summary"]
        assert summary["idle_segments"] + summary["queued_segments"] >= 1
    assert all_points == 160
    table = subprocess.run([binary(), "cluster", "status", "--url", url(cluster.nodes[0])], capture_output=True, text=True, check=True)
    assert f"{name}/{SHARDS - 1}" in table.stdout
    fresh = cluster.nodes[1].post(f"/collections/{name}/points/count?consistency=majority", {})
    assert fresh.status == 200 and fresh.result["count"] == 80


def test_changes_of_the_collection_reach_all_shards(cluster, name):
    make_spread(cluster.nodes[0], name, 1)
    assert upsert(cluster.nodes[0], name, range(40)).status == 200
    for node, field in zip(cluster.nodes, ("a", "b", "c")):
        assert node.put(f"/collections/{name}/index?wait=true", {"field_name": field, "field_schema": "keyword"}).status == 200
    assert cluster.nodes[1].patch(f"/collections/{name}", {"optimizers_config": {"indexing_threshold": 77}}).status == 200
    assert cluster.nodes[2].delete(f"/collections/{name}/index/b?wait=true").status == 200
    for node in cluster.nodes:
        info = comes_true(lambda node=node: (i := node.get(f"/collections/{name}").result)["payload_schema"].keys() == {"a", "c"} and i)
        assert info["config"]["optimizer_config"]["indexing_threshold"] == 77
    refused = cluster.nodes[0].post(f"/collections/{name}/snapshots")
    assert refused.status == 400 and f"/collections/{name}/shards/N/snapshots" in refused.error
    assert cluster.nodes[2].delete(f"/collections/{name}").status == 200
    for node in cluster.nodes:
        assert comes_true(lambda node=node: node.get(f"/collections/{name}").status == 404)
        assert node.put(f"/collections/{name}/points", {"points": []}).status == 404


def test_shards_are_restored_one_by_one(cluster, alone, name):
    make_spread(cluster.nodes[0], name, 2)
    assert upsert(cluster.nodes[0], name, range(60)).status == 200
    archives = []
    for shard in range(SHARDS):
        path = f"/collections/{name}/shards/{shard}/snapshots"
        made = [node.post(path) for node in cluster.nodes]
        assert sorted(answer.status for answer in made) == [200, 200, 400], [answer.text for answer in made]
        node, answer = next((node, answer) for node, answer in zip(cluster.nodes, made) if answer.status == 200)
        assert [one["name"] for one in node.get(path).result] == [answer.result["name"]]
        archives.append(node.request("GET", f"{path}/{answer.result['name']}").body)
    assert upsert(cluster.nodes[1], name, range(50, 200)).status == 200
    for shard, archive in enumerate(archives):
        answer = upload(cluster.nodes[shard % 3], f"/collections/{name}/shards/{shard}", archive)
        assert answer.status == 200, answer.text
    for node in cluster.nodes:
        assert comes_true(lambda node=node: count(node, name) == 60)
    # On a server alone a shard is a collection.
    total = 0
    for archive in archives:
        answer = upload(alone, "/collections/one-shard", archive)
        assert answer.status == 200, answer.text
        total += count(alone, "one-shard")
    assert total == 60


def test_the_stock_client_sees_one_collection(cluster, name):
    make_spread(cluster.nodes[0], name, 1)
    for i, node in enumerate(cluster.nodes):
        for prefers_grpc in (False, True):
            client = QdrantClient(host=node.host, port=node.port, grpc_port=node.grpc_port, prefer_grpc=prefers_grpc)
            ids = range(20 * i, 20 * i + 20)
            client.upsert(name, [PointStruct(id=k, vector=[1, k], payload={"even": k % 2 == 0}) for k in ids], wait=True)
            assert client.count(name).count == 20 * i + 20
            assert client.get_collection(name).points_count == 20 * i + 20
            assert len(client.query_points(name, query=[1, 1], limit=15).points) == 15
            even = Filter(must=[FieldCondition(key="even", match=MatchValue(value=True))])
            assert client.count(name, count_filter=even).count == 10 * i + 10
            fused = client.query_points(name, prefetch=[Prefetch(query=[1, 1], limit=9), Prefetch(query=[1, -1], limit=9)],
                                        query=FusionQuery(fusion="rrf"), limit=5)
            assert len(fused.points) == 5
            client.close()


def test_a_shard_moves_under_load_without_a_failed_request(cluster, name):
    make_spread(cluster.nodes[0], name, 1)
    assert upsert(cluster.nodes[0], name, range(200)).status == 200
    ids = {peer_id(node): node for node in cluster.nodes}
    source = shards(cluster.nodes[0], name)["shard_leaders"][0]
    target = next(peer for peer in ids if peer != source)
    stop, failed, written = threading.Event(), [], []

    def write():
        while not stop.is_set():
            id = 1000 + len(written)
            answer = upsert(cluster.nodes[id % 3], name, [id])
            (written if answer.status == 200 else failed).append(answer.text if answer.status != 200 else id)

    def read():
        while not stop.is_set():
            answer = cluster.nodes[len(written) % 3].post(f"/collections/{name}/points/query", {"query": [0, 1], "limit": 3})
            if answer.status != 200:
                failed.append(answer.text)

    threads = [threading.Thread(target=work) for work in (write, read)]
    for thread in threads:
        thread.start()
    try:
        answer = cluster.nodes[2].post(f"/collections/{name}/cluster", {"move_shard": {
            "shard_id": 0, "from_peer_id": source, "to_peer_id": target}})
        assert answer.status == 200, answer.text
        for node in cluster.nodes:
            assert comes_true(lambda node=node: shards(node, name)["shard_leaders"][0] == target)
        assert comes_true(lambda: 0 in [shard["shard_id"] for shard in shards(ids[target], name)["local_shards"]])
        assert comes_true(lambda: 0 not in [shard["shard_id"] for shard in shards(ids[source], name)["local_shards"]])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == [] and len(written) > 5
    assert all(count(node, name) == 200 + len(written) for node in cluster.nodes)
