"""Recall by number, without anybody's help: queries are recorded, fields are measured and searches are watched."""
import numpy as np
import pytest
from patience import comes_true
from quiver_server import Server

# Small: measurements have the lowest priority, and the machine may be busy.
N, DIM, N_QUERIES = 2_000, 16, 150
CALIBRATE = "/v1/collections/things/recall/calibrate"
RECALL = "/v1/collections/things/recall"
BATCH = "/collections/things/points/query/batch"


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(12)
    centres = random.standard_normal((100, DIM))
    return (centres[random.integers(0, 100, N + N_QUERIES)] + .6 * random.standard_normal((N + N_QUERIES, DIM))).astype("f4")


@pytest.fixture(scope="module")
def words():
    random = np.random.default_rng(13)
    return [{"indices": np.sort(random.choice(300, 12, replace=False)).tolist(), "values": random.random(12).round(3).tolist()}
            for _ in range(N + N_QUERIES)]


@pytest.fixture(scope="module")
def server(tmp_path_factory, rows, words):
    server = Server(tmp_path_factory.mktemp("watch") / "data").start()
    server.put("/collections/things", {"vectors": {"dense": {"size": DIM, "distance": "Euclid"}, "unused": {"size": 4, "distance": "Dot"}},
                                       "sparse_vectors": {"words": {}}, "optimizers_config": {"indexing_threshold": 100}}).result
    for first in range(0, N, 1000):
        points = [{"id": i, "vector": {"dense": rows[i].tolist(), "words": words[i]}} for i in range(first, first + 1000)]
        server.put("/collections/things/points?wait=true", {"points": points}).result
    assert comes_true(lambda: server.get("/collections/things").result["status"] == "green")
    yield server
    server.stop()


def ask(server, field, queries, **params):
    searches = [{"query": query, "using": field, "limit": 10, "params": params} for query in queries]
    return server.post(BATCH, {"searches": searches}).result


def field_of(server, name):
    return next((field for field in server.get(RECALL).result["fields"] if field["using"] == name), None)


def queries_of(field, rows, words):
    return rows[N:].tolist() if field == "dense" else words[N:]


def test_nothing_is_known_of_fields_that_nobody_asks(server, rows):
    ask(server, "dense", rows[N:].tolist())
    assert server.get(RECALL).result == {"fields": []}


def test_too_few_recorded_queries_are_told(server, rows):
    answer = server.post(CALIBRATE, {"using": "dense", "from": "recorded"})
    assert answer.status == 400 and "0 queries of `dense` are recorded, and 128 or more are wanted" in answer.text, answer.text


@pytest.mark.parametrize("field", ["dense", "words"])
def test_a_field_is_measured_by_itself(server, rows, words, field):
    queries = queries_of(field, rows, words)
    first = ask(server, field, queries[:100], recall=.9)
    assert all(answer["recall"]["exact"] for answer in first)
    watch = field_of(server, field)["watch"]
    assert 100 <= watch["recorded"] <= 101 and watch["next"]["state"] == "waiting" and "128 are wanted" in watch["next"]["why"]
    ask(server, field, queries[100:], recall=.9)
    assert comes_true(lambda: field_of(server, field).get("from") == "recorded", 200)
    found = field_of(server, field)
    assert found["queries"] >= 128 and found["points"] == N and found["watch"]["next"]["state"] in ("none", "waiting", "running")
    answers = ask(server, field, queries, recall=.9)
    assert all(answer["recall"]["from"] == "recorded" and answer["recall"]["queries"] >= 128 for answer in answers)
    truth = ask(server, field, queries, exact=True)
    shares = [len({p["id"] for p in a["points"]} & {p["id"] for p in t["points"]}) / 10 for a, t in zip(answers, truth)]
    assert np.mean(shares) >= .87


def test_searches_are_watched(server, rows):
    def is_watched():
        ask(server, "dense", rows[N:N + 20].tolist(), recall=.9)
        return field_of(server, "dense")["watch"]["watched"] >= 3
    assert comes_true(is_watched)
    watch = field_of(server, "dense")["watch"]
    assert 0 <= watch["observed"] <= 1 and watch["effort_factor"] >= 1 and watch["alarms"] >= 0
    metrics = server.get("/metrics").text
    for name in "observed", "watched", "effort_factor", "alarms_total":
        assert f'collection_recall_{name}{{id="things",vector="dense"}}' in metrics


def test_what_is_measured_with(server):
    for body, source in (({}, "recorded"), ({"from": "recorded"}, "recorded"), ({"from": "synthetic"}, "synthetic"), ({"sample": 50}, "synthetic")):
        table = server.post(CALIBRATE, {"using": "words"} | body).result
        assert table["from"] == source, body
        assert table["queries"] >= 128 if source == "recorded" else 16 <= table["queries"] <= 400


def test_after_a_restart_all_is_there(server, rows):
    before = field_of(server, "dense")
    server.stop()
    server.start()
    after = field_of(server, "dense")
    # A measurement may have ended while the server stopped.
    assert after["from"] == "recorded" and after["queries"] >= before["queries"]
    assert after["curves"] == before["curves"] or after["measured_at"] > before["measured_at"]
    assert after["watch"]["recorded"] >= before["watch"]["recorded"] and after["watch"]["watched"] == 0
    assert ask(server, "dense", rows[N:N + 1].tolist(), recall=.9)[0]["recall"]["from"] == "recorded"


def test_a_field_that_is_added_later_is_recorded_too(server, rows):
    server.put("/collections/things/vectors/later", {"dense": {"size": 4, "distance": "Dot"}}).result
    points = [{"id": i, "vector": {"later": rows[i, :4].tolist()}} for i in range(200)]
    server.put("/collections/things/points/vectors?wait=true", {"points": points}).result
    ask(server, "later", rows[N:, :4].tolist(), recall=.9)
    assert field_of(server, "later")["watch"]["recorded"] == N_QUERIES
    assert comes_true(lambda: field_of(server, "later").get("from") == "recorded", 200)


@pytest.mark.parametrize("body, status, text", [
    ({"from": "thin air"}, 400, "expected one of `recorded`, `synthetic`"),
    ({"from": 1}, 400, "from"),
    ({"from": "recorded", "sample": 50}, 400, "sample"),
    ({"from": "recorded", "queries": [1] * 16}, 400, "from"),
    ({"from": "recorded", "using": "unused"}, 400, "0 queries of `unused` are recorded"),
])
def test_bad_measurements(server, body, status, text):
    answer = server.post(CALIBRATE, {"using": "dense"} | body)
    assert answer.status == status and text in answer.text, answer.text
