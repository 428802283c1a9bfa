"""Text queries (BM25) beside the formula in Python: random writes, seals, merges, kill -9, filters, prefetches, and the
stock client's documents for the model qdrant/bm25."""
import math
import random
from collections import Counter

import pytest
from qdrant_client import models
from quiver_server import SMALL_SEGMENTS, Server

WORDS = [f"w{i}" for i in range(60)]
INDEX = {"type": "text", "scoring": True}
PATH = "/collections/texts"


class Oracle:
    """The texts of all points, and their scores by the formula."""

    def __init__(self):
        self.texts = {}  # id -> list of words

    def scores(self, query, k=1.2, b=0.75, within=None):
        corpus = {i: Counter(words) for i, words in self.texts.items() if words}
        if not corpus:
            return {}
        lengths = {i: sum(c.values()) for i, c in corpus.items()}
        mean = sum(lengths.values()) / len(lengths)
        scores = Counter()
        for word, repetitions in Counter(query).items():
            n = sum(word in c for c in corpus.values())
            idf = math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
            for i, c in corpus.items():
                if c[word] and (within is None or i in within):
                    tf = c[word]
                    scores[i] += repetitions * idf * tf * (k + 1) / (tf + k * (1 - b + b * lengths[i] / mean))
        return scores


def some_words(rng, n):
    return [WORDS[min(int(rng.paretovariate(0.7)) - 1, len(WORDS) - 1)] for _ in range(n)]


def text_of(words, rng):
    """As one string or several: the tokens of a key are counted together."""
    cut = rng.randrange(len(words) + 1)
    return " ".join(words) if rng.random() < 0.7 else [" ".join(words[:cut]), " ".join(words[cut:])]


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "data", env=SMALL_SEGMENTS, grpc=True).start()
    yield server
    server.stop()


def create(server):
    server.put(PATH, {"vectors": {"size": 2, "distance": "Dot"}}).result
    server.put(f"{PATH}/index?wait=true", {"field_name": "t", "field_schema": INDEX}).result


def search(server, query, **more):
    body = {"query": {"text": query}, "using": "t", "limit": 1000, **more}
    return [(p["id"], p["score"]) for p in server.post(f"{PATH}/points/query", body).result["points"]]


def expect_scores(hits, wanted):
    assert {i for i, _ in hits} == set(wanted)
    for i, score in hits:
        assert score == pytest.approx(wanted[i], rel=1e-5)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def change(server, oracle, rng):
    """One random write to the server and the oracle."""
    kind = rng.choice(["upsert", "upsert", "upsert", "delete", "set", "clear"])
    ids = rng.sample(range(150), rng.randrange(1, 12))
    if kind == "upsert":
        points = []
        for i in ids:
            words = some_words(rng, rng.choice([0, 1, 5, 20, 80]))
            payload = {"t": text_of(words, rng), "even": i % 2 == 0} if rng.random() < 0.9 else {"t": 5}
            oracle.texts[i] = words if payload["t"] != 5 else []
            points.append({"id": i, "vector": [i, 1], "payload": payload})
        return server.put(f"{PATH}/points?wait=true", {"points": points}).result
    known = [i for i in ids if i in oracle.texts]
    if not known:
        return None
    if kind == "delete":
        for i in known:
            del oracle.texts[i]
        return server.post(f"{PATH}/points/delete?wait=true", {"points": known}).result
    if kind == "set":
        words = some_words(rng, 12)
        for i in known:
            oracle.texts[i] = words
        body = {"payload": {"t": " ".join(words)}, "points": known}
        return server.post(f"{PATH}/points/payload?wait=true", body).result
    for i in known:
        oracle.texts[i] = []
    return server.post(f"{PATH}/points/payload/clear?wait=true", {"points": known}).result


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_follow_every_change(server, seed):
    rng = random.Random(seed)
    oracle = Oracle()
    create(server)
    for step in range(120):
        change(server, oracle, rng)
        query = some_words(rng, rng.randrange(1, 6)) + rng.choice([[], ["unheard"]])
        expect_scores(search(server, " ".join(query)), oracle.scores(query))
        if step % 40 == 39:
            server.kill9()
            server.start()
            expect_scores(search(server, " ".join(query)), oracle.scores(query))
    k, b = 2.0, 0.3
    hits = search(server, {"query": "w0 w1 w1", "scoring": {"bm25": {"k": k, "b": b}}})
    expect_scores(hits, oracle.scores(["w0", "w1", "w1"], k, b))


def test_filters_limits_and_prefetches(server):
    rng = random.Random(3)
    oracle = Oracle()
    create(server)
    for _ in range(30):
        change(server, oracle, rng)
    query = ["w0", "w3", "w1"]
    even = {"must": [{"has_id": [i for i in oracle.texts if i % 2 == 0]}]}
    wanted = oracle.scores(query, within={i for i in oracle.texts if i % 2 == 0})
    expect_scores(search(server, " ".join(query), filter=even), wanted)
    everything = search(server, " ".join(query))
    assert search(server, " ".join(query), limit=5) == everything[:5]
    assert search(server, " ".join(query), limit=5, offset=3) == everything[3:8]
    least = everything[4][1]
    assert search(server, " ".join(query), score_threshold=least) == [hit for hit in everything if hit[1] > least]
    # The words of what another query found.
    body = {"prefetch": {"query": [1, 0], "limit": 20}, "query": {"text": " ".join(query)}, "using": "t", "limit": 50}
    found = [p["id"] for p in server.post(f"{PATH}/points/query", {"query": [1, 0], "limit": 20}).result["points"]]
    hits = [(p["id"], p["score"]) for p in server.post(f"{PATH}/points/query", body).result["points"]]
    expect_scores(hits, oracle.scores(query, within=set(found)))
    # Hybrid.
    both = [{"query": {"text": "w3"}, "using": "t", "limit": 10}, {"query": [1, 0], "limit": 10}]
    fused = server.post(f"{PATH}/points/query", {"prefetch": both, "query": {"fusion": "rrf"}, "limit": 20}).result
    assert {p["id"] for p in fused["points"]} == {i for i, _ in search(server, "w3", limit=10)} | set(found[:10])
    # Statistics of a part of the points.
    corpus = {"params": {"idf": {"corpus": even}}, "filter": even}
    oracle.texts = {i: words for i, words in oracle.texts.items() if i % 2 == 0}
    expect_scores(search(server, " ".join(query), **corpus), oracle.scores(query))


def test_an_index_that_comes_later_and_changes(server):
    oracle = Oracle()
    rng = random.Random(4)
    server.put(PATH, {"vectors": {"size": 2, "distance": "Dot"}}).result
    for _ in range(20):
        change(server, oracle, rng)
    index = f"{PATH}/index?wait=true"
    for schema in (None, {"type": "text"}, {"type": "keyword"}):
        if schema is not None:
            server.put(index, {"field_name": "t", "field_schema": schema}).result
        answer = server.post(f"{PATH}/points/query", {"query": {"text": "w0"}, "using": "t"})
        assert answer.status == 400 and b"needs a payload index of type `text` with `scoring`" in answer.body
    for schema in (INDEX, {"type": "text", "scoring": {"type": "bm25"}, "min_token_len": 3}, INDEX):
        server.put(index, {"field_name": "t", "field_schema": schema}).result
        least = schema.get("min_token_len", 0)
        texts = oracle.texts
        oracle.texts = {i: [w for w in words if len(w) >= least] for i, words in texts.items()}
        expect_scores(search(server, "w10 w11 w0"), oracle.scores([w for w in ("w10", "w11", "w0") if len(w) >= least]))
        oracle.texts = texts


@pytest.mark.parametrize("prefer_grpc", [False, True])
def test_documents_of_the_stock_client(server, prefer_grpc):
    client = server.client(prefer_grpc=prefer_grpc, grpc_port=server.grpc_port)
    client.create_collection("docs", vectors_config={}, sparse_vectors_config={
        "text": models.SparseVectorParams(modifier=models.Modifier.IDF)})
    texts = ["The cats sat on the mat", "dogs and a cat", "clauses of Horn"]
    client.upsert("docs", [models.PointStruct(id=i, vector={"text": models.Document(text=t, model="qdrant/bm25")})
                           for i, t in enumerate(texts)])
    found = client.query_points("docs", query=models.Document(text="the CAT", model="Qdrant/bm25"), using="text")
    assert [p.id for p in found.points] == [1, 0]  # the shorter text first; "the" is a stop word
    plain = {"language": "none", "avg_len": 4.0, "b": 0.0}
    client.upsert("docs", [models.PointStruct(id=9, vector={
        "text": models.Document(text="the the cat", model="qdrant/bm25", options=plain)})])
    vector = client.retrieve("docs", [9], with_vectors=True)[0].vector["text"]
    assert sorted(vector.values) == pytest.approx([1.0, 2 * 2.2 / 3.2])
    other = {"query": {"text": "cat", "model": "other/model"}, "using": "text"}
    answer = server.post("/collections/docs/points/query", other)
    assert answer.status == 400 and b"inference with model `other/model` is not available" in answer.body


def test_several_keys_misspelt_words_and_prefixes(server):
    create(server)
    for key, schema in (("title", INDEX), ("body", {**INDEX, "stemmer": {"type": "snowball", "language": "english"}})):
        server.put(f"{PATH}/index?wait=true", {"field_name": key, "field_schema": schema}).result
    payloads = {1: {"title": "Moby Dick", "body": "a whale and a ship"}, 2: {"title": "Whales", "body": "mammals of the sea"},
                3: {"title": "Ships", "body": "whaling was hard, whales are large"}, 4: {"body": "nothing"}}
    points = [{"id": i, "vector": [0, 0], "payload": payload} for i, payload in payloads.items()]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result

    def found(text, **options):
        body = {"query": {"text": {"query": text, **options}}, "limit": 10}
        return {p["id"]: p["score"] for p in server.post(f"{PATH}/points/query", body).result["points"]}

    title, body = found("whales", fields=["title"]), found("whales", fields=["body"])
    assert set(title) == {2} and set(body) == {1, 3}
    both = found("whales", fields={"title": 3, "body": 1})
    assert both == pytest.approx({2: 3 * title[2], **body}, rel=1e-5)
    for _ in range(2):  # growing, then sealed or not: the same
        assert set(found("whalex", fields=["body"])) == set()
        assert set(found("whelk whalr", fields=["title"])) == set()
        assert set(found("whalxs", fields=["title"], fuzzy=1)) == {2}
        assert set(found("moby di", fields=["title"], prefix=True)) == {1}
        assert set(found("di moby", fields=["title"], prefix=True, max_expansions=0)) == {1}
        assert set(found("shi", fields=["title", "body"], prefix=True)) == {1, 3}
        server.stop()
        server.start()
    answer = server.post(f"{PATH}/points/query", {"query": {"text": {"query": "x", "fields": ["title", "other"]}}})
    assert answer.status == 400 and b"`other` has no index" in answer.body


def test_required_excluded_and_enough_words(server):
    rng = random.Random(5)
    oracle = Oracle()
    create(server)
    for step in range(60):
        change(server, oracle, rng)
        if step % 10 != 9:
            continue
        query, required, excluded = some_words(rng, 4), some_words(rng, rng.randrange(3)), some_words(rng, 1)
        minimum = rng.choice([1, 2, 9, "50%", "100%"])
        n_words = len(set(query))
        least = min(n_words, minimum) if isinstance(minimum, int) else n_words * int(minimum[:-1]) // 100
        allowed = {i for i, words in oracle.texts.items()
                   if len(set(query) & set(words)) >= least and set(required) <= set(words) and excluded[0] not in words}
        # Words that are only required count for the score, too, but once.
        scores = oracle.scores(query + [w for w in dict.fromkeys(required) if w not in query], within=allowed)
        rules = {"required": required, "excluded": excluded, "minimum_should_match": minimum}
        hits = search(server, {"query": " ".join(query), **rules})
        expect_scores(hits, scores)
        body = {"prefetch": {"filter": {}, "limit": 1000}, "query": {"text": {"query": " ".join(query), **rules}},
                "using": "t", "limit": 1000}
        assert [(p["id"], p["score"]) for p in server.post(f"{PATH}/points/query", body).result["points"]] == hits
        server.kill9()
        server.start()
        assert search(server, {"query": " ".join(query), **rules}) == hits


def test_filters_with_misspelt_words_and_prefixes(server):
    create(server)
    texts = {1: "moby dick and whales", 2: "whale", 3: "the whaling ship", 4: "ships"}
    points = [{"id": i, "vector": [0, 0], "payload": {"t": text, "s": text}} for i, text in texts.items()]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result

    def found(match, key="t"):
        body = {"filter": {"must": [{"key": key, "match": match}]}, "limit": 10}
        return {p["id"] for p in server.post(f"{PATH}/points/scroll", body).result["points"]}

    for _ in range(2):
        assert found({"text": "whalr"}) == set()
        assert found({"text": "whalr", "fuzzy": 1}) == {2}
        assert found({"text": "whalos", "fuzzy": 1}) == {1}
        assert found({"text_any": "whal shi", "prefix": True}) == {3, 4}
        assert found({"phrase": "moby di", "prefix": True}) == {1}
        server.stop()
        server.start()
    answer = server.post(f"{PATH}/points/scroll", {"filter": {"must": [{"key": "s", "match": {"text": "a", "fuzzy": 1}}]}})
    assert answer.status == 400 and b"needs a payload index of type `text`" in answer.body
    answer = server.post(f"{PATH}/points/scroll", {"filter": {"must": [{"key": "t", "match": {"text": "a", "fuzzy": 3}}]}})
    assert answer.status == 422 and b"must be 0 to 2" in answer.body


def test_synonyms(server):
    create(server)
    texts = {1: "a fast automobile", 2: "cars are fast", 3: "the tele", 4: "slow"}
    points = [{"id": i, "vector": [0, 0], "payload": {"t": text}} for i, text in texts.items()]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result
    english = {**INDEX, "stemmer": {"type": "snowball", "language": "english"}}
    assert {i for i, _ in search(server, "car")} == set()
    for groups, wanted in (([["car", "automobile"], ["tv", "tele"]], {1, 2}), ([["tv", "tele"]], {2})):
        schema = {**english, "synonyms": groups}
        server.put(f"{PATH}/index?wait=true", {"field_name": "t", "field_schema": schema}).result
        for _ in range(2):
            hits = search(server, "car")
            assert {i for i, _ in hits} == wanted
            assert search(server, "cars") == hits
            assert {i for i, _ in search(server, "TV")} == {3}
            server.kill9()
            server.start()
    info = server.get(PATH).result["payload_schema"]["t"]["params"]
    assert info["synonyms"] == [["tv", "tele"]]
    # The highlight shows the text's own word.
    body = {"query": {"text": "tv"}, "using": "t", "highlight": {"fields": ["t"]}}
    found = server.post(f"{PATH}/points/query", body).result["points"]
    assert found[0]["highlights"]["t"][0]["text"] == "the <b>tele</b>"


def test_statistics_of_a_tenant(server):
    rng = random.Random(6)
    create(server)
    tenant_index = {"field_name": "who", "field_schema": {"type": "keyword", "is_tenant": True}}
    server.put(f"{PATH}/index?wait=true", tenant_index).result
    oracles = {name: Oracle() for name in ("ann", "bob", "cy")}
    for step in range(12):
        points = []
        for i in rng.sample(range(200), 20):
            for oracle in oracles.values():
                oracle.texts.pop(i, None)
            name = rng.choice(list(oracles))
            words = oracles[name].texts[i] = some_words(rng, rng.choice([1, 5, 20]))
            points.append({"id": i, "vector": [i, 1], "payload": {"t": " ".join(words), "who": name}})
        server.put(f"{PATH}/points?wait=true", {"points": points}).result
        query = some_words(rng, 3)
        text = " ".join(query)
        for name, oracle in oracles.items():
            of_tenant = {"key": "who", "match": {"value": name}}
            for must in ([of_tenant], [{"must": [of_tenant]}, {"has_id": list(range(200))}]):
                expect_scores(search(server, text, filter={"must": must}), oracle.scores(query))
            fused = {"prefetch": {"query": {"text": text}, "using": "t", "limit": 1000},
                     "query": {"formula": "$score"}, "filter": {"must": [of_tenant]}, "limit": 1000}
            hits = [(p["id"], p["score"]) for p in server.post(f"{PATH}/points/query", fused).result["points"]]
            expect_scores(hits, oracle.scores(query))
        two, everybody = Oracle(), Oracle()
        for name, oracle in oracles.items():
            everybody.texts.update(oracle.texts)
            if name != "cy":
                two.texts.update(oracle.texts)
        both = {"must": [{"key": "who", "match": {"any": ["ann", "bob"]}}]}
        expect_scores(search(server, text, filter=both), two.scores(query))
        expect_scores(search(server, text), everybody.scores(query))
        # A corpus that the query names counts instead: here all points.
        named = {"filter": both, "params": {"idf": {"corpus": {"must": []}}}}
        expect_scores(search(server, text, **named), everybody.scores(query, within=two.texts))
        if step == 6:
            server.kill9()
            server.start()
