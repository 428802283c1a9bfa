"""Search by a scorer of the caller over REST: the rounds, what is proposed, and what is refused."""
import numpy as np
import pytest
from quiver_server import SMALL_SEGMENTS, Server

N, DIM = 600, 12
PROPOSE = "/v1/collections/things/points/propose"


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(7).standard_normal((N, DIM)).astype("f4")


@pytest.fixture(scope="module")
def server(tmp_path_factory, vectors):
    server = Server(tmp_path_factory.mktemp("proposals") / "data", env=SMALL_SEGMENTS).start()
    fields = {"dot": {"size": DIM, "distance": "Dot"}, "cosine": {"size": DIM, "distance": "Cosine"},
              "euclid": {"size": DIM, "distance": "Euclid"}, "half": {"size": DIM, "distance": "Dot", "datatype": "float16"},
              "taxi": {"size": DIM, "distance": "Manhattan"}}
    server.put("/collections/things", {"shard_number": 2, "vectors": fields, "sparse_vectors": {"words": {}}}).result
    points = []
    for i, vector in enumerate(vectors.tolist()):
        stored = dict.fromkeys(("dot", "cosine", "euclid", "half", "taxi"), vector)
        stored["words"] = {"indices": [i % 7, 7 + i % 11], "values": [1.0, 2.0]}
        points.append({"id": i, "vector": stored if i < N - 20 else {"words": stored["words"]}, "payload": {"n": i, "odd": i % 2}})
    server.put("/collections/things/points?wait=true", {"points": points}).result
    yield server
    server.stop()


def propose(server, **body):
    return server.post(PROPOSE, body).result


def rounds(server, scores, body, n_rounds=4, n=25):
    """Scores what is proposed, in rounds; returns the scored points and the last answer."""
    scored = {}
    for _ in range(n_rounds):
        answer = propose(server, n=n, scored=[{"id": i, "score": s} for i, s in scored.items()], **body)
        new = [point["id"] for point in answer["propose"]]
        assert not set(new) & set(scored), "a scored point was proposed again"
        assert len(set(new)) == len(new)
        scored.update((i, float(scores[i])) for i in new)
    return scored, answer


@pytest.mark.parametrize("basis", ["dot", "half", "cosine", "euclid"])
def test_a_scorer_that_vectors_explain_is_found_out(server, vectors, basis):
    weights = np.random.default_rng(8).standard_normal(DIM)
    rows = vectors[:N - 20].astype("f8")
    if basis == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    # Under Euclid: nearest to another point than the query.
    scores = -((rows - weights) ** 2).sum(1) if basis == "euclid" else rows @ weights + 5
    query = vectors[3].tolist()
    scored, answer = rounds(server, scores, {"basis": basis, "query": query})
    best = np.argsort(-scores)[:10]
    assert set(best) <= set(scored)
    assert [point["id"] for point in answer["best"]] == best.tolist()
    assert answer["model"]["scored"] == 75 and answer["model"]["r2"] > .9
    estimates = {point["id"]: point["estimate"] for point in answer["propose"]}
    for i, estimate in estimates.items():
        assert estimate == pytest.approx(scores[i], abs=.05 * np.ptp(scores))
    last = propose(server, basis=basis, query=query, scored=[{"id": i, "score": s} for i, s in scored.items()])
    assert last["done"] and 0 <= last["gain"] < .01 * np.ptp(scores)


def test_the_first_round_has_the_nearest_points_and_different_ones(server, vectors):
    query = vectors[3].tolist()
    answer = propose(server, basis="dot", query=query, n=20)
    nearest = np.argsort(-(vectors[:N - 20] @ vectors[3]), kind="stable")
    ids = [point["id"] for point in answer["propose"]]
    assert ids[:15] == nearest[:15].tolist()
    assert len(set(ids)) == 20 and set(ids) <= set(nearest[:80].tolist())
    assert answer["model"] is None and answer["gain"] is None and not answer["done"] and answer["best"] == []
    assert all(set(point) == {"id"} for point in answer["propose"])


def test_the_point_that_is_the_query_is_not_proposed(server, vectors):
    by_id = propose(server, basis="dot", query=3, n=50)
    by_vector = propose(server, basis="dot", query=vectors[3].tolist(), n=50)
    assert 3 in [point["id"] for point in by_vector["propose"]]
    assert 3 not in [point["id"] for point in by_id["propose"]]


def test_prefetches_give_candidates_and_explain_scores(server):
    """Scores follow the sparse vectors alone, which dense ones know nothing of."""
    words = {"indices": [3, 12], "values": [1.0, 1.0]}
    scores = [(i % 7 == 3) + 2 * (i % 11 == 5) for i in range(N)]
    prefetch = [{"query": words, "using": "words"}]
    scored, answer = rounds(server, scores, {"basis": "dot", "query": 0, "prefetch": prefetch}, n_rounds=3, n=12)
    assert answer["model"]["r2"] > .99
    assert sorted(scored.values(), reverse=True)[:5] == sorted((scores[i] for i in range(1, N - 20)), reverse=True)[:5]


def test_filters_and_payloads(server):
    body = {"basis": "dot", "query": 0, "filter": {"must": [{"key": "odd", "match": {"value": 1}}]}, "with_payload": ["n"]}
    first = propose(server, **body)
    scored = [{"id": point["id"], "score": point["id"] / 10} for point in first["propose"]]
    for answer in first, propose(server, scored=scored, **body):
        assert len(answer["propose"]) == 20
        for point in answer["propose"]:
            assert point["id"] % 2 == 1 and point["payload"] == {"n": point["id"]}


def test_same_request_same_bytes(server):
    body = {"basis": "cosine", "query": 5, "scored": [{"id": i, "score": (i * 37 % 101) / 7} for i in range(200, 320)], "n": 40}
    texts = {server.post(PROPOSE, body).text for _ in range(5)}
    body["scored"].reverse()
    texts.add(server.post(PROPOSE, body).text)
    assert len({text.split('"time"')[0].split('"result"')[-1] for text in texts}) == 1


def test_without_penalty_estimates_are_those_of_anncur(server, vectors):
    """C * pinv(U) * R, if the field holds the scores of anchor queries."""
    rows = vectors.astype("f8")
    anchors = list(range(40, 48))
    scores = np.cos(np.arange(8) * 2.2)
    body = {"basis": "dot", "scored": [{"id": i, "score": s} for i, s in zip(anchors, scores.tolist())], "n": 100,
            "ridge": 0, "intercept": False, "explore": 0}
    answer = propose(server, **body)
    wanted = rows @ (np.linalg.pinv(rows[anchors]) @ scores)
    for point in answer["propose"]:
        assert point["estimate"] == pytest.approx(wanted[point["id"]], rel=1e-6, abs=1e-6)


def test_unknown_points_are_passed_over(server):
    scored = [{"id": 10**9, "score": 5}, {"id": N - 1, "score": 4}, {"id": 7, "score": 1}, {"id": 8, "score": 2}]
    answer = propose(server, basis="dot", query=0, scored=scored)
    assert answer["model"]["scored"] == 2
    assert not {7, 8, N - 1} & {point["id"] for point in answer["propose"]}
    none = propose(server, basis="dot", scored=scored[:2])
    assert none["propose"] == [] and none["model"] is None and none["done"]


def test_scored_points_may_have_gone_or_lie_under_several_shard_keys(tmp_path):
    """A score counts if one live point of that id has the vector."""
    server = Server(tmp_path / "data").start()
    server.put("/collections/things", {"sharding_method": "custom", "vectors": {"a": {"size": 2, "distance": "Dot"}},
                                       "sparse_vectors": {"words": {}}}).result
    sparse = {"words": {"indices": [1], "values": [1.0]}}
    for key in ("one", "two"):
        server.put("/collections/things/shards", {"shard_key": key}).result
        points = [{"id": i, "vector": {"a": [1.0, i / 10], **sparse} if key == "two" or i > 2 else sparse} for i in range(6)]
        server.put("/collections/things/points?wait=true", {"points": points, "shard_key": key}).result
    scored = [{"id": i, "score": i} for i in range(5)]
    assert propose(server, basis="a", scored=scored)["model"]["scored"] == 5
    server.post("/collections/things/points/delete?wait=true", {"points": [0], "shard_key": "two"}).result
    server.post("/collections/things/points/delete?wait=true", {"points": [4], "shard_key": "two"}).result
    assert propose(server, basis="a", scored=scored)["model"]["scored"] == 4
    assert propose(server, basis="a", scored=scored, shard_key="one")["model"]["scored"] == 2
    server.stop()


def test_everything_scored_is_done(server, vectors):
    scored = [{"id": i, "score": float(vectors[i, 0])} for i in range(N)]
    answer = propose(server, basis="dot", query=0, scored=scored, limit=3)
    assert answer["propose"] == [] and answer["done"]
    assert [point["id"] for point in answer["best"]] == np.argsort(-vectors[:N - 20, 0])[:3].tolist()
    assert all(point["scored"] for point in answer["best"])


@pytest.mark.parametrize("body, status, text", [
    ({"basis": "dot"}, 400, "nothing says where to begin"),
    ({"basis": "nosuch", "query": 0}, 400, "nosuch"),
    ({"basis": "words", "query": 0}, 400, "must be a dense vector"),
    ({"basis": "taxi", "query": 0}, 400, "under Manhattan"),
    ({"basis": "dot", "query": [1.0, 2.0]}, 400, "12"),
    ({"basis": "dot", "query": 10**9}, 404, "1000000000"),
    ({"basis": "dot", "query": 0, "n": 0}, 422, "n"),
    ({"basis": "dot", "query": 0, "n": 501}, 422, "500 or smaller"),
    ({"basis": "dot", "query": 0, "limit": 0}, 422, "limit"),
    ({"basis": "dot", "query": 0, "explore": -1}, 422, "explore"),
    ({"basis": "dot", "query": 0, "ridge": -1}, 422, "ridge"),
    ({"basis": "dot", "query": 0, "scored": [{"id": 1, "score": 1}, {"id": 1, "score": 2}]}, 422, "point 1 twice"),
    ({"basis": "dot", "query": 0, "scored": [{"id": 1}]}, 400, "score"),
    ({"basis": "dot", "query": 0, "scored": [{"id": i, "score": 1} for i in range(4097)]}, 422, "4096 or fewer"),
    ({"basis": "dot", "query": 0, "prefetch": [{"query": 1, "using": "dot"}] * 9}, 422, "8 or fewer"),
    ({"basis": "dot", "query": 0, "candidates": 3}, 400, "candidates"),
])
def test_bad_requests(server, body, status, text):
    answer = server.post(PROPOSE, body)
    assert answer.status == status, answer.text
    assert text in answer.text


def test_no_such_collection(server):
    assert server.post("/v1/collections/nosuch/points/propose", {"query": [1.0]}).status == 404
