"""Recall asked for by number: measuring it, queries with a target, what is kept and what is refused."""
import numpy as np
import pytest
from patience import comes_true
from quiver_server import Server

N, DIM, N_QUERIES = 12_000, 32, 200
CALIBRATE = "/v1/collections/things/recall/calibrate"
QUERY = "/collections/things/points/query"


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(11)
    centres = random.standard_normal((150, DIM))
    rows = centres[random.integers(0, 150, N + N_QUERIES)] + .6 * random.standard_normal((N + N_QUERIES, DIM))
    return rows.astype("f4")


@pytest.fixture(scope="module")
def server(tmp_path_factory, vectors):
    # Nothing is measured unless these tests ask for it: test_recall_watch.py has the rest.
    server = Server(tmp_path_factory.mktemp("recall") / "data", env={"QUIVER__STORAGE__WATCH_RECALL": "false"}).start()
    server.put("/collections/things", {"vectors": {"dense": {"size": DIM, "distance": "Euclid"}, "plain": {"size": 4, "distance": "Dot"}},
                                       "optimizers_config": {"indexing_threshold": 100}}).result
    for first in range(0, N, 2000):
        points = [{"id": i, "vector": {"dense": vectors[i].tolist()}, "payload": {"n": i}} for i in range(first, first + 2000)]
        server.put("/collections/things/points?wait=true", {"points": points}).result
    assert comes_true(lambda: server.get("/collections/things").result["status"] == "green")
    yield server
    server.stop()


def tables(server):
    """The tables of all fields; what is watched of them is left out."""
    fields = server.get("/v1/collections/things/recall").result["fields"]
    return [{name: value for name, value in field.items() if name != "watch"} for field in fields if "curves" in field]


def ask(server, vector, **members):
    return server.post(QUERY, {"query": vector, "using": "dense", **members}).result


def recall_of(server, vectors, target, k=10, filter_=None):
    members = {"limit": k} | ({"filter": filter_} if filter_ else {})
    found = []
    for vector in vectors[N + N_QUERIES // 2:].tolist():
        truth = {point["id"] for point in ask(server, vector, params={"exact": True}, **members)["points"]}
        answer = ask(server, vector, params={"recall": target}, **members)
        found.append(len(truth & {point["id"] for point in answer["points"]}) / len(truth))
    return np.mean(found), answer["recall"]


def test_without_a_measurement_it_is_exact_and_says_so(server, vectors):
    recall, told = recall_of(server, vectors, .8)
    assert recall == 1
    assert told == {"target": .8, "estimate": 1.0, "exact": True, "effort": 0}
    assert tables(server) == []
    [field] = server.get("/v1/collections/things/recall").result["fields"]
    assert field["using"] == "dense" and field["watch"]["next"] == {"state": "never", "why": "`storage.watch_recall` is false"}


def test_the_recall_asked_for_is_reached(server, vectors):
    queries = vectors[N:N + N_QUERIES // 2].tolist()
    table = server.post(CALIBRATE, {"using": "dense", "queries": queries}).result
    assert table["queries"] == len(queries) and table["from"] == "given" and table["points"] == N
    assert {(curve["k"], curve["selectivity"]) for curve in table["curves"]} == {(k, s) for k in (1, 10, 100) for s in (1, .5, .333333, .2, .1, .01)}
    for curve in table["curves"]:
        recalls = [point["recall"] for point in curve["efforts"]]
        assert recalls[-1] >= .9 and recalls[0] <= recalls[-1]
    assert tables(server) == [table]
    for target in (.8, .95):
        recall, told = recall_of(server, vectors, target)
        assert recall >= target - .03
        assert not told["exact"] and told["effort"] >= 16 and told["estimate"] >= target and told["from"] == "given"
    few = {"must": [{"key": "n", "range": {"lt": N // 20}}]}
    assert recall_of(server, vectors, .9, filter_=few)[0] >= .87


def test_each_and_mean_may_be_asked_for_together(server, vectors):
    told = ask(server, vectors[N].tolist(), params={"recall": .5, "recall_each": .8})["recall"]
    assert told["target"] == .5 and told["target_each"] == .8
    more = ask(server, vectors[N].tolist(), params={"recall": .5})["recall"]
    assert more["effort"] <= told["effort"] or told["exact"]


def test_more_hits_than_were_measured_are_exact(server, vectors):
    assert ask(server, vectors[N].tolist(), params={"recall": .8}, limit=101)["recall"]["exact"]


def test_prefetches_and_batches(server, vectors):
    prefetch = [{"query": vectors[N].tolist(), "using": "dense", "params": {"recall": .9}, "limit": 20},
                {"query": vectors[N + 1].tolist(), "using": "dense", "limit": 20}]
    fused = server.post(QUERY, {"prefetch": prefetch, "query": {"fusion": "rrf"}}).result
    assert fused["recall"]["target"] == .9 and fused["recall"]["effort"] >= 16
    searches = [{"query": vectors[N].tolist(), "using": "dense", "params": {"recall": .9}}, {"query": vectors[N].tolist(), "using": "dense"}]
    with_recall, without = server.post("/collections/things/points/query/batch", {"searches": searches}).result
    assert "recall" in with_recall and "recall" not in without


def test_other_kinds_of_query(server, vectors):
    average = {"query": {"recommend": {"positive": [1, 2]}}, "using": "dense", "params": {"recall": .9}}
    # The index is asked for more hits than were measured.
    assert server.post(QUERY, average).result["recall"]["exact"]
    for query in {"recommend": {"positive": [1, 2], "strategy": "best_score"}}, {"order_by": "n"}:
        answer = server.post(QUERY, {"query": query, "using": "dense", "params": {"recall": .9}})
        assert answer.status != 200 or "recall" not in answer.result, "nothing chose an effort"


def test_synthetic_queries_and_restart(server, vectors):
    table = server.post(CALIBRATE, {"using": "dense", "sample": 100}).result
    assert table["from"] == "synthetic" and 50 <= table["queries"] <= 100
    server.stop()
    server.start()
    assert tables(server) == [table]
    recall, told = recall_of(server, vectors, .9)
    assert recall >= .85 and told["from"] == "synthetic"


@pytest.mark.parametrize("body, status, text", [
    ({"using": "nosuch"}, 400, "nosuch"),
    ({"using": "plain"}, 400, "16 or more queries"),
    ({"using": "dense", "sample": 15}, 422, "16 to 2000"),
    ({"using": "dense", "queries": [1, 2]}, 422, "16 to 2000"),
    ({"using": "dense", "queries": [[1.0]] * 16}, 400, "32"),
    ({"using": "dense", "k": 10}, 400, "k"),
])
def test_bad_measurements(server, body, status, text):
    answer = server.post(CALIBRATE, body)
    assert answer.status == status and text in answer.text, answer.text


@pytest.mark.parametrize("params, status, text", [
    ({"recall": 0}, 422, "recall"),
    ({"recall": 1.1}, 422, "recall"),
    ({"recall": "high"}, 400, "recall"),
    ({"recall_each": -1}, 422, "recall_each"),
    ({"recall": .9, "hnsw_ef": 100}, 400, "hnsw_ef"),
    ({"recall": .9, "exact": True}, 400, "exact"),
])
def test_bad_targets(server, params, status, text):
    answer = server.post(QUERY, {"query": [1.0] * DIM, "using": "dense", "params": params})
    assert answer.status == status and text in answer.text, answer.text


def test_a_dropped_field_takes_its_measurement_along(server, vectors):
    server.put("/collections/things/vectors/later", {"dense": {"size": 4, "distance": "Dot"}}).result
    points = [{"id": i, "vector": {"later": vectors[i, :4].tolist()}} for i in range(200)]
    server.put("/collections/things/points/vectors?wait=true", {"points": points}).result
    server.post(CALIBRATE, {"using": "later", "sample": 50}).result
    assert [table["using"] for table in tables(server)] == ["dense", "later"]
    server.delete("/collections/things/vectors/later").result
    assert [table["using"] for table in tables(server)] == ["dense"]
