"""Sparse vectors that the server makes of payloads (modifier bm25), beside the definition in Python."""
import random

import pytest
from quiver_server import SMALL_SEGMENTS, Server

PATH = "/collections/made"
WORDS = ["whale", "ship", "sea", "storm", "sail", "captain", "white", "old"]
K1, B, MEAN = 0.9, 0.5, 6


def config(**other):
    return {"vectors": {}, "sparse_vectors": {
        "words": {"modifier": "bm25", "source": "title, body", "k1": K1, "b": B, "avg_len": MEAN, **other}}}


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "data", env=SMALL_SEGMENTS, grpc=True).start()
    server.put(PATH, config()).result
    yield server
    server.stop()


def words_of(payload):
    texts = [payload.get("title", ""), *payload.get("body", [])]
    return " ".join(texts).split()


def weights(payload):
    words = words_of(payload)
    norm = K1 * (1 - B + B * len(words) / MEAN)
    return sorted(words.count(w) * (K1 + 1) / (words.count(w) + norm) for w in set(words))


def expect_vectors(server, payloads):
    points = server.post(f"{PATH}/points/scroll", {"limit": 1000, "with_vector": True, "with_payload": True}).result["points"]
    assert {p["id"]: p["payload"] for p in points} == payloads
    for point in points:
        vector = point["vector"].get("words", {"values": []})
        assert sorted(vector["values"]) == pytest.approx(weights(point["payload"]), rel=1e-5)


def some_payload(rng):
    payload = {}
    if rng.random() < 0.8:
        payload["title"] = " ".join(rng.choices(WORDS, k=rng.randrange(4)))
    if rng.random() < 0.8:
        payload["body"] = [" ".join(rng.choices(WORDS, k=rng.randrange(6))) for _ in range(rng.randrange(3))]
    return payload


def test_vectors_follow_every_change(server):
    rng, payloads = random.Random(3), {}
    for step in range(120):
        id, change = rng.randrange(20), rng.randrange(6)
        if change < 3 or id not in payloads:
            payloads[id] = some_payload(rng)
            # A vector that a client sends is replaced.
            vector = {"words": {"indices": [5], "values": [9]}} if rng.random() < 0.3 else {}
            server.put(f"{PATH}/points?wait=true", {"points": [{"id": id, "vector": vector, "payload": payloads[id]}]}).result
        elif change == 3:
            payloads[id] = {**payloads[id], "title": "white whale"}
            server.post(f"{PATH}/points/payload?wait=true", {"payload": {"title": "white whale"}, "points": [id]}).result
        elif change == 4:
            payloads[id].pop("body", None)
            server.post(f"{PATH}/points/payload/delete?wait=true", {"keys": ["body"], "points": [id]}).result
        else:
            server.post(f"{PATH}/points/vectors/delete?wait=true", {"vector": ["words"], "points": [id]}).result
        if step % 40 == 39:
            server.kill9()
            server.start()
            expect_vectors(server, payloads)


def test_queries(server):
    texts = [("white whale", ["the whale sinks the ship"]), ("ship", ["a ship and a captain"]), ("sea", [])]
    points = [{"id": i, "vector": {}, "payload": {"title": t, "body": b}} for i, (t, b) in enumerate(texts)]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result

    def hits(query, **other):
        body = {"query": query, "using": "words", "limit": 10, **other}
        return [(p["id"], p["score"]) for p in server.post(f"{PATH}/points/query", body).result["points"]]

    by_text = hits({"text": "whale captain"})
    assert [i for i, _ in by_text] == [0, 1]
    assert by_text == hits({"text": {"query": "whale captain"}})
    assert by_text == hits({"text": "whale captain", "model": "qdrant/bm25", "options": {"language": "none"}})
    assert hits({"text": "whale captain"}, prefetch={"filter": {}, "limit": 10}) == by_text
    assert hits({"text": "unknown"}) == [] == hits({"text": "..."})
    assert [i for i, _ in hits(0)] == [1]  # points with the words of point 0
    answer = server.post(f"{PATH}/points/query", {"query": {"text": {"query": "whale", "fuzzy": 1}}, "using": "words"})
    assert answer.status == 400 and b"no options" in answer.body
    assert server.get(PATH).result["config"]["params"]["sparse_vectors"]["words"]["source"] == "title, body"


def test_analyzer(server):
    server.put("/collections/english", config(analyzer={"stopwords": "english", "stemmer": {"type": "snowball", "language": "english"}},
                                              source=["title"])).result
    points = [{"id": 1, "vector": {}, "payload": {"title": "The running of whales", "body": ["ship"]}}]
    server.put("/collections/english/points?wait=true", {"points": points}).result
    for text, found in (("runs", [1]), ("whale", [1]), ("the", []), ("ship", [])):
        body = {"query": {"text": text}, "using": "words"}
        answer = server.post("/collections/english/points/query", body).result["points"]
        assert [p["id"] for p in answer] == found, text


@pytest.mark.parametrize("params, words", [
    ({"modifier": "bm25"}, "needs `source`"),
    ({"modifier": "idf", "source": "title"}, "only for sparse vectors with `modifier` `bm25`"),
    ({"k1": 2}, "only for sparse vectors with `modifier` `bm25`"),
    ({"modifier": "bm25", "source": []}, "at least one"),
    ({"modifier": "bm25", "source": "title,,body"}, "source"),
    ({"modifier": "bm25", "source": 3}, "source"),
    ({"modifier": "bm25", "source": "title", "b": 2}, "must be 0 to 1"),
    ({"modifier": "bm25", "source": "title", "avg_len": 0}, "more than 0"),
    ({"modifier": "bm25", "source": "title", "analyzer": {"tokenizer": "none"}}, "unknown variant `none`"),
    ({"modifier": "bm26"}, "bm25"),
])
def test_errors_of_creation(server, params, words):
    answer = server.put("/collections/other", {"vectors": {}, "sparse_vectors": {"words": params}})
    assert answer.status in (400, 422) and words in answer.body.decode(), answer.body


def test_it_is_set_once(server):
    answer = server.patch(PATH, {"sparse_vectors": {"words": {"modifier": "bm25", "source": "other"}}})
    assert answer.status == 400 and b"when the collection is created" in answer.body
    answer = server.patch(PATH, {"sparse_vectors": {"words": {"modifier": "none"}}})
    assert answer.status == 400 and b"does not change" in answer.body
    answer = server.put(f"{PATH}/vectors/more", {"sparse": {"modifier": "bm25", "source": "title"}})
    assert answer.status == 400 and b"when the collection is created" in answer.body
