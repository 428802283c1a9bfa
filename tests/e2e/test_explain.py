"""`"explain": true`: how a query was answered, by stage and segment."""
import json

import grpc
import numpy as np
import pytest
from google.protobuf import json_format

from patience import comes_true
from quiver_server import ANSWER_TIMEOUT_S, Server

N, DIM = 6000, 64
SEALED_SOON = {"QUIVER__OPTIMIZER__SEAL_ROWS": "3000", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05"}
QUERY = "/collections/papers/points/query"


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(7)
    centres = random.standard_normal((40, DIM))
    rows = centres[random.integers(0, 40, N)] + 0.7 * random.standard_normal((N, DIM))
    return rows.astype("f4")


def wait_for_index(server):
    """Until all rows are in sealed segments with an index."""
    def indexes():
        return server.get("/v1/collections/papers/indexes").result["indexes"]

    def n_indexed():
        return sum(i["vectors_count"] for i in indexes() if i["sealed"] and i["index"] == "ivf")

    assert comes_true(lambda: n_indexed() == N, 60), indexes()


@pytest.fixture(scope="module")
def server(tmp_path_factory, vectors):
    server = Server(tmp_path_factory.mktemp("explain") / "data", env=SEALED_SOON, grpc=True).start()
    server.put("/collections/papers", {"shard_number": 1, "vectors": {"dense": {"size": DIM, "distance": "Cosine"}},
                                       "hnsw_config": {"full_scan_threshold": 1}}).result
    points = [{"id": i, "vector": {"dense": vector}, "payload": {"part": i % 20, "text": "a b c"}}
              for i, vector in enumerate(vectors.tolist())]
    for first in range(0, N, 1000):
        server.put("/collections/papers/points?wait=true", {"points": points[first:first + 1000]}).result
    wait_for_index(server)
    yield server
    server.stop()


def ask(server, body):
    return server.post(QUERY, body).result


def test_an_explained_query_has_the_same_points(server, vectors):
    body = {"query": vectors[3].tolist(), "using": "dense", "limit": 7,
            "filter": {"must": [{"key": "part", "match": {"value": 3}}]}}
    plain, explained = ask(server, body), ask(server, {**body, "explain": True})
    assert "explain" not in plain
    assert "explain" not in ask(server, {**body, "explain": False})
    assert plain["points"] == explained["points"]


def test_segments_tell_rows_ways_and_work(server, vectors):
    body = {"query": vectors[3].tolist(), "using": "dense", "limit": 7, "explain": True,
            "filter": {"must": [{"key": "part", "match": {"value": 3}}]}}
    explain = ask(server, body)["explain"]
    assert explain["us"] > 0
    stage = explain["stage"]
    assert (stage["kind"], stage["using"], stage["limit"], stage["hits"]) == ("nearest", "dense", 7, 7)
    segments = stage["segments"]
    assert sum(s["rows"] for s in segments) == N
    assert sum(s["allowed"]["counted"] for s in segments) == N // 20
    for segment in segments:
        allowed = segment["allowed"]
        assert allowed["least"] <= allowed["counted"] <= allowed["most"]
        taken = [way for way in segment["ways"] if way["taken"]]
        assert taken
        assert segment["work"]["bytes"] > 0
        # The cheapest way is tried first.
        assert segment["ways"][0]["taken"]
        times = [way["estimated_us"] for way in segment["ways"]]
        assert times == sorted(times)


def test_exact_searches_say_so(server, vectors):
    body = {"query": vectors[3].tolist(), "using": "dense", "explain": True, "params": {"exact": True}}
    for segment in ask(server, body)["explain"]["stage"]["segments"]:
        assert [way["way"] for way in segment["ways"] if way["taken"]] == ["exact"]


def test_prefetches_are_nested(server, vectors):
    one = {"query": vectors[1].tolist(), "using": "dense", "limit": 20}
    nested = {"prefetch": [one], "query": vectors[2].tolist(), "using": "dense", "limit": 15}
    stage = ask(server, {"prefetch": [one, nested], "query": {"fusion": "rrf"}, "explain": True})["explain"]["stage"]
    assert stage["kind"] == "rrf" and "segments" not in stage
    first, second = stage["prefetch"]
    assert (first["kind"], first["hits"], first["limit"]) == ("nearest", 20, 20)
    assert second["prefetch"][0]["hits"] == 20
    assert stage["us"] >= first["us"] + second["us"]


def test_grpc_explains_too(server, vectors, messages):
    """The report of REST, as JSON in a field of its own."""
    one = {"collectionName": "papers", "using": "dense", "limit": 4,
           "query": {"nearest": {"dense": {"data": vectors[3].tolist()}}}}
    explained = {**one, "explain": True}
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        def send(method, request, response, body):
            call = channel.unary_unary(f"/qdrant.Points/{method}", lambda m: m.SerializeToString(),
                                       messages(response).FromString)
            return call(json_format.ParseDict(body, messages(request)()), timeout=ANSWER_TIMEOUT_S)

        plain = send("Query", "QueryPoints", "QueryResponse", one)
        asked = send("Query", "QueryPoints", "QueryResponse", explained)
        assert not plain.HasField("explain")
        assert list(plain.result) == list(asked.result)
        assert json.loads(asked.explain)["stage"]["hits"] == 4
        batch = send("QueryBatch", "QueryBatchPoints", "QueryBatchResponse",
                     {"collectionName": "papers", "queryPoints": [one, explained]})
        assert [answer.HasField("explain") for answer in batch.result] == [False, True]


def test_batches_explain_what_asks_for_it(server, vectors):
    searches = [{"query": vector.tolist(), "using": "dense", "limit": 3, "explain": asks}
                for vector, asks in zip(vectors, [True, False, True])]
    answers = server.post(QUERY + "/batch", {"searches": searches}).result
    assert ["explain" in answer for answer in answers] == [True, False, True]
    assert answers[0]["explain"]["stage"]["hits"] == 3


def test_other_kinds_have_a_stage(server):
    for query, kind in (({"order_by": "part"}, "order_by"), ({"sample": "random"}, "sample"), (None, "list")):
        if kind == "order_by":
            server.put("/collections/papers/index?wait=true", {"field_name": "part", "field_schema": "integer"}).result
        body = {"explain": True, "limit": 4} | ({"query": query} if query else {})
        stage = ask(server, body)["explain"]["stage"]
        assert (stage["kind"], stage["hits"]) == (kind, 4)


def test_bad_flags_are_refused(server):
    answer = server.post(QUERY, {"explain": "yes"})
    assert answer.status == 400
    assert "explain" in answer.error
