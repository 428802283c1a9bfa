"""Linear fusion, MMR over fusions and learned weights over REST, against a reference made of the prefetches' own answers."""
import itertools
import math
import random

import numpy as np
import pytest
from quiver_server import SMALL_SEGMENTS, Server

N, DIM, LIMIT = 120, 6, 25
WORDS = ["whale", "ship", "captain", "storm", "harbor", "island", "sailor", "anchor", "rope", "wind", "wave", "shore"]
QUERY = "/collections/papers/points/query"
LEARN = "/v1/collections/papers/fusions/learn"
NORMALIZATIONS = ["minmax", "zscore", "quantile", "none"]


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(3).standard_normal((N, DIM)).astype("f4")


@pytest.fixture(scope="module")
def server(tmp_path_factory, vectors):
    server = Server(tmp_path_factory.mktemp("linear") / "data", env=SMALL_SEGMENTS).start()
    server.put("/collections/papers", {"shard_number": 2, "vectors": {"dense": {"size": DIM, "distance": "Cosine"},
                                                                      "far": {"size": DIM, "distance": "Euclid"}}}).result
    server.put("/collections/papers/index?wait=true",
               {"field_name": "text", "field_schema": {"type": "text", "scoring": True}}).result
    choose = random.Random(5)
    points = []
    for i, vector in enumerate(vectors.tolist()):
        words = choose.choices(WORDS, k=choose.randint(2, 9))
        # The last ten have no vectors.
        stored = {} if i >= N - 10 else {"dense": vector, "far": vector}
        points.append({"id": i, "vector": stored, "payload": {"text": " ".join(words), "n": i}})
    server.put("/collections/papers/points?wait=true", {"points": points}).result
    yield server
    server.stop()


def prefetches(vector, text="whale storm wind"):
    return [{"query": {"text": text}, "using": "text", "limit": LIMIT},
            {"query": vector, "using": "dense", "limit": LIMIT},
            {"query": vector, "using": "far", "limit": LIMIT}]


def ask(server, body):
    return server.post(QUERY, body).result["points"]


def scaled(scores, normalize):
    n, low, high = len(scores), min(scores), max(scores)
    if normalize == "minmax":
        return [(s - low) / (high - low) if high > low else 1.0 for s in scores]
    if normalize == "zscore":
        return [(s - np.mean(scores)) / np.std(scores, ddof=1) if high > low else 0.0 for s in scores]
    if normalize == "quantile":
        return [(sum(o < s for o in scores) + 1 + sum(o <= s for o in scores)) / 2 / n for s in scores]
    return scores


def reference(lists, weights, normalize, missing):
    """lists: of (id, score), larger is better."""
    sums = {id: 0.0 for hits in lists for id, _ in hits}
    for hits, weight in zip(lists, weights):
        values = scaled([score for _, score in hits], normalize) if hits else []
        found = dict(zip((id for id, _ in hits), values))
        otherwise = min(values) if values and missing == "lowest" else 0.0
        for id in sums:
            sums[id] += weight * found.get(id, otherwise)
    return sums


def lists_of(server, parts):
    lists = []
    for part in parts:
        sign = -1 if part.get("using") == "far" else 1
        lists.append([(hit["id"], sign * hit["score"]) for hit in ask(server, part)])
    return lists


def check(hits, sums):
    assert {hit["id"] for hit in hits} <= set(sums)
    for hit in hits:
        assert hit["score"] == pytest.approx(sums[hit["id"]], abs=1e-4)
    best = sorted(sums.values(), reverse=True)[:len(hits)]
    assert [hit["score"] for hit in hits] == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("normalize, missing", itertools.product(NORMALIZATIONS, ["lowest", "zero"]))
def test_equals_the_weighted_sum_of_prefetches(server, vectors, normalize, missing):
    weights = [0.7, 0.3, 0.5]
    for vector in vectors[:3].tolist():
        parts = prefetches(vector)
        hits = ask(server, {"prefetch": parts, "limit": 60,
                            "query": {"linear": {"weights": weights, "normalize": normalize, "missing": missing}}})
        sums = reference(lists_of(server, parts), weights, normalize, missing)
        assert len(hits) == min(60, len(sums))
        check(hits, sums)


def test_defaults(server, vectors):
    parts = prefetches(vectors[4].tolist())
    hits = ask(server, {"prefetch": parts, "query": {"linear": {}}})
    check(hits, reference(lists_of(server, parts), [1, 1, 1], "minmax", "lowest"))
    spelled = {"linear": {"weights": [1, 1, 1], "normalize": "minmax", "missing": "lowest"}}
    assert ask(server, {"prefetch": parts, "query": spelled}) == hits


def test_nested(server, vectors):
    parts = prefetches(vectors[5].tolist())
    inner = {"prefetch": parts[:2], "query": {"linear": {"normalize": "quantile"}}, "limit": 15}
    outer = [inner, parts[2]]
    hits = ask(server, {"prefetch": outer, "query": {"linear": {"weights": [2, 1]}}, "limit": 40})
    check(hits, reference(lists_of(server, outer), [2, 1], "minmax", "lowest"))


def test_an_empty_prefetch_adds_nothing(server, vectors):
    parts = [{"query": {"text": "nosuchword"}, "using": "text"}, prefetches(vectors[6].tolist())[1]]
    hits = ask(server, {"prefetch": parts, "query": {"linear": {}}, "limit": LIMIT})
    alone = ask(server, parts[1])
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in alone]
    assert hits[0]["score"] == 1 and hits[-1]["score"] == 0
    assert ask(server, {"prefetch": parts[:1], "query": {"linear": {"normalize": "zscore"}}}) == []


def test_threshold_filter_and_batch(server, vectors):
    parts = prefetches(vectors[7].tolist())
    body = {"prefetch": parts, "query": {"linear": {}}, "limit": 50, "score_threshold": 1.5,
            "filter": {"must": [{"key": "n", "range": {"lt": 60}}]}}
    hits = ask(server, body)
    assert hits and all(hit["score"] >= 1.5 and hit["id"] < 60 for hit in hits)
    batch = server.post(QUERY + "/batch", {"searches": [body, body]}).result
    assert [answer["points"] for answer in batch] == [hits, hits]
    groups = server.post(QUERY + "/groups", {**body, "group_by": "n", "group_size": 1, "limit": 3}).result["groups"]
    assert [group["id"] for group in groups] == [hit["id"] for hit in hits[:3]]


def mmr_reference(hits, vectors, diversity, n):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pending, chosen = [(hit["id"], hit["score"]) for hit in hits], []

    def similarity(a, b):
        return 0.0 if max(a, b) >= N - 10 else float(unit[a] @ unit[b])

    while pending and len(chosen) < n:
        value = [(1 - diversity) * score - diversity * max((similarity(id, other) for other in chosen), default=0)
                 for id, score in pending]
        chosen.append(pending.pop(int(np.argmax(value)))[0])
    return chosen


@pytest.mark.parametrize("query", [{"fusion": "rrf"}, {"fusion": "dbsf"}, {"rrf": {"k": 5}}, {"linear": {}}])
def test_mmr_over_a_fusion(server, vectors, query):
    parts = prefetches(vectors[8].tolist())
    fused = ask(server, {"prefetch": parts, "query": query, "limit": 30})
    mmr = {"diversity": 0.4, "candidates_limit": 30, "using": "dense"}
    hits = ask(server, {"prefetch": parts, "query": {**query, "mmr": mmr}, "limit": 12})
    assert [hit["id"] for hit in hits] == mmr_reference(fused, vectors, 0.4, 12)
    assert {hit["id"]: hit["score"] for hit in hits}.items() <= {hit["id"]: hit["score"] for hit in fused}.items()
    answer = server.post(QUERY, {"prefetch": parts, "query": {**query, "mmr": {"using": "nosuch"}}})
    assert answer.status == 400 and "nosuch" in answer.error


def judged(vectors, n=40):
    """The relevant point is the one whose vector was disturbed; its text says little."""
    random_vectors = np.random.default_rng(9)
    for i in range(n):
        near = (vectors[i] + random_vectors.normal(0, 0.3, DIM)).tolist()
        yield {"prefetch": prefetches(near)[:2], "relevant": [i]}


@pytest.mark.parametrize("options", [{}, {"normalize": "none", "missing": "zero"}])
def test_learned_weights(server, vectors, options):
    queries = list(judged(vectors))
    learned = server.post(LEARN, {"judged": queries, **options}).result
    linear = learned["query"]["linear"]
    assert sum(linear["weights"]) == pytest.approx(1, abs=1e-5) and min(linear["weights"]) >= 0
    assert linear["normalize"] == options.get("normalize", linear["normalize"])
    assert linear["missing"] == options.get("missing", "lowest")
    ndcg = learned["ndcg"]
    assert learned["judged"] == len(queries) and len(ndcg["prefetches"]) == 2
    assert ndcg["learned"] > ndcg["rrf"] and ndcg["learned"] > ndcg["prefetches"][0]

    def measured(query):
        total = 0.0
        for one in queries:
            ids = [hit["id"] for hit in ask(server, {"prefetch": one["prefetch"], "query": query})]
            total += 1 / math.log2(ids.index(one["relevant"][0]) + 2) if one["relevant"][0] in ids else 0
        return total / len(queries)

    assert measured({"fusion": "rrf"}) == pytest.approx(ndcg["rrf"], abs=1e-6)
    assert measured(learned["query"]) >= ndcg["learned"] - 0.05  # the answer is a query as it stands
    assert server.post(LEARN, {"judged": queries, **options}).result == learned


def test_learning_keeps_the_filter_and_strict_mode(server, vectors):
    queries = list(judged(vectors))
    elsewhere = {"must": [{"key": "n", "range": {"gte": 40}}]}  # no relevant point
    ndcg = server.post(LEARN, {"judged": [{**one, "filter": elsewhere} for one in queries]}).result["ndcg"]
    assert ndcg == {"learned": 0.0, "rrf": 0.0, "prefetches": [0.0, 0.0]}
    server.patch("/collections/papers", {"strict_mode_config": {"enabled": True, "search_max_batchsize": 39}}).result
    answer = server.post(LEARN, {"judged": queries})
    assert answer.status == 400 and "40" in answer.error
    server.patch("/collections/papers", {"strict_mode_config": {"enabled": False}}).result


ERRORS = {
    "weights": ({"linear": {"weights": [1, 2]}}, 400, "linear weights must be one per prefetch: got 2 for 3 prefetches"),
    "normalize": ({"linear": {"normalize": "l2"}}, 400, "`minmax`, `zscore`, `quantile`, `none`"),
    "missing": ({"linear": {"missing": 0}}, 400, "linear.missing"),
    "member": ({"linear": {"k": 2}}, 400, "`k`"),
    "infinite": ({"linear": {"weights": [1e39, 1, 1]}}, 400, "weights[0]"),
    "diversity": ({"linear": {}, "mmr": {"diversity": -1}}, 422, "mmr.diversity"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(server, vectors, name):
    query, status, text = ERRORS[name]
    answer = server.post(QUERY, {"prefetch": prefetches(vectors[0].tolist()), "query": query})
    assert answer.status == status and text in answer.error


def test_errors_of_learning(server, vectors):
    good = list(judged(vectors, 10))

    def fails(body, status, text):
        answer = server.post(LEARN, body)
        assert answer.status == status and text in answer.error, answer.text

    fails({"judged": good[:9]}, 422, "9")
    fails({}, 400, "judged")
    fails({"judged": [*good, {**good[0], "prefetch": prefetches(vectors[0].tolist())}]}, 422, "judged[10].prefetch")
    fails({"judged": [*good, {**good[0], "relevant": []}]}, 422, "judged[10].relevant")
    unknown = [{"query": [1.0] * DIM, "using": "nosuch"}, good[0]["prefetch"][1]]
    fails({"judged": [*good, {**good[0], "prefetch": unknown}]}, 400, "nosuch")
    assert server.post("/v1/collections/nosuch/fusions/learn", {"judged": good}).status == 404


def test_using_and_no_prefetch(server, vectors):
    assert "without prefetches" in server.post(QUERY, {"query": {"linear": {}}}).error
    body = {"prefetch": prefetches(vectors[0].tolist()), "query": {"linear": {}}, "using": "dense"}
    assert "cannot be combined" in server.post(QUERY, body).error
