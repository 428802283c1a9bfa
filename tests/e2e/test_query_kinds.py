"""Recommend, discover, context and relevance feedback queries, against the stock client's in-memory mode as oracle."""
import contextlib
import copy
import math
import os
import random

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from quiver_server import SMALL_SEGMENTS, Server

N_POINTS = 150
DIMS = {"cosine": 8, "dot": 6, "euclid": 5, "manhattan": 4, "tokens": 4, "far_tokens": 3}
SPARSE = ["words", "rare_words"]
# The client's in-memory mode orders relevance feedback by distance under these metrics, and knows no
# relevance feedback over other fields than dense ones.
NO_FEEDBACK = {"euclid", "manhattan", "tokens", "far_tokens", *SPARSE}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("kinds") / "data", env=SMALL_SEGMENTS).start()
    yield server
    server.stop()


class Both:
    """The same points in the server and in memory."""

    by_id = True  # some examples are ids

    def __init__(self, server, name, seed):
        self.name, self.random, self.numpy = name, random.Random(seed), np.random.default_rng(seed)
        self.clients = [server.client(), QdrantClient(":memory:")]
        multi = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        vectors = {
            "cosine": models.VectorParams(size=8, distance="Cosine"),
            "dot": models.VectorParams(size=6, distance="Dot"),
            "euclid": models.VectorParams(size=5, distance="Euclid"),
            "manhattan": models.VectorParams(size=4, distance="Manhattan"),
            "tokens": models.VectorParams(size=4, distance="Cosine", multivector_config=multi),
            "far_tokens": models.VectorParams(size=3, distance="Euclid", multivector_config=multi),
        }
        sparse = {"words": models.SparseVectorParams(),
                  "rare_words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
        for client in self.clients:
            client.create_collection(name, vectors_config=vectors, sparse_vectors_config=sparse, shard_number=2)
        self.ids = list(range(N_POINTS))
        points = [models.PointStruct(id=id, payload={"n": id % 7},
                                     vector={field: self.vector(field) for field in [*DIMS, *SPARSE]})
                  for id in self.ids]
        for client in self.clients:
            client.upsert(name, points=points, wait=True)

    def vector(self, field):
        if field in SPARSE:
            n = self.random.randint(1, 8)
            return models.SparseVector(indices=self.numpy.choice(40, n, replace=False).tolist(),
                                       values=(self.numpy.random(n) + 0.1).astype(np.float32).tolist())
        shape = (self.random.randint(1, 4), DIMS[field]) if "tokens" in field else DIMS[field]
        return self.numpy.standard_normal(shape).astype(np.float32).tolist()

    def example(self, field):
        by_id = self.by_id and self.random.random() < 0.5
        return self.random.choice(self.ids) if by_id else self.vector(field)

    @contextlib.contextmanager
    def by_vectors_only(self):
        """Points that some prefetch names are no hits of the whole query; in memory, only of that prefetch."""
        self.by_id = False
        yield
        self.by_id = True

    def examples(self, field, least):
        return [self.example(field) for _ in range(self.random.randint(least, 4))]

    def pairs(self, field):
        return [models.ContextPair(positive=self.example(field), negative=self.example(field))
                for _ in range(self.random.randint(1, 4))]

    def recommend(self, field, strategy):
        average = strategy == models.RecommendStrategy.AVERAGE_VECTOR
        positive = self.examples(field, 1 if average else 0)
        negative = self.examples(field, 0 if positive else 1)
        return models.RecommendQuery(
            recommend=models.RecommendInput(positive=positive, negative=negative, strategy=strategy))

    def query(self, kind, field):
        if isinstance(kind, models.RecommendStrategy):
            return self.recommend(field, kind)
        if kind == "discover":
            return models.DiscoverQuery(
                discover=models.DiscoverInput(target=self.example(field), context=self.pairs(field)))
        if kind == "context":
            return models.ContextQuery(context=self.pairs(field))
        feedback = [models.FeedbackItem(example=self.example(field), score=self.random.random())
                    for _ in range(self.random.randint(1, 4))]
        strategy = models.NaiveFeedbackStrategy(naive=models.NaiveFeedbackStrategyParams(a=0.4, b=1.3, c=0.7))
        return models.RelevanceFeedbackQuery(relevance_feedback=models.RelevanceFeedbackInput(
            target=self.example(field), feedback=feedback, strategy=strategy))

    def compare(self, limit, **kwargs):
        ours = self.clients[0].query_points(self.name, limit=limit, **copy.deepcopy(kwargs)).points
        theirs = self.clients[1].query_points(self.name, limit=10_000, **copy.deepcopy(kwargs)).points
        scores = {hit.id: hit.score for hit in theirs}
        assert len(ours) == min(limit, len(theirs))
        for hit, at_rank in zip(ours, theirs):
            assert math.isclose(hit.score, at_rank.score, rel_tol=1e-4, abs_tol=1e-5), kwargs
            assert math.isclose(hit.score, scores[hit.id], rel_tol=1e-4, abs_tol=1e-5), kwargs
        return ours


@pytest.fixture(scope="module")
def both(server):
    return Both(server, "kinds", 1)


def has_ties(kind, field):
    """Many points may have the same score. In memory, a prefetch takes any of them."""
    return kind == "context" or field in SPARSE


KINDS = [*models.RecommendStrategy, "discover", "context", "feedback"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", [*DIMS, *SPARSE])
def test_scores_as_in_memory_mode(both, kind, field):
    if kind == "feedback" and field in NO_FEEDBACK:
        pytest.skip("in-memory mode cannot")
    odd = models.Filter(must=[models.FieldCondition(key="n", match=models.MatchAny(any=[1, 3, 5]))])
    for k in range(4):
        query = both.query(kind, field)
        both.compare(both.random.randint(1, 40), query=query, using=field, query_filter=odd if k % 2 else None)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "feedback"])
def test_as_prefetch_and_over_prefetches(both, kind):
    with both.by_vectors_only():
        for field in ["cosine", "euclid", "words", "tokens"]:
            inner = models.Prefetch(query=both.vector("dot"), using="dot", limit=30)
            both.compare(12, query=both.query(kind, field), using=field, prefetch=[inner])
            if has_ties(kind, field):
                continue
            first = models.Prefetch(query=both.query(kind, field), using=field, limit=40)
            both.compare(12, query=both.vector("dot"), using="dot", prefetch=[first])
            both.compare(12, query=models.FusionQuery(fusion=models.Fusion.RRF), prefetch=[first, inner])


def test_points_that_any_part_names_are_no_hits(both, server):
    recommend = {"recommend": {"positive": [3], "strategy": "best_score"}}
    body = {"prefetch": {"query": recommend, "using": "cosine", "limit": 500}, "limit": 500,
            "query": {"context": [{"positive": 4, "negative": 5}]}, "using": "dot"}
    points = server.post(f"/collections/{both.name}/points/query", body).result["points"]
    assert {p["id"] for p in points} == set(both.ids) - {3, 4, 5}


def test_lookup_from(both, server):
    client, name = both.clients[0], both.name
    vectors = {id: client.retrieve(name, [id], with_vectors=True)[0].vector for id in (3, 4, 5)}
    client.create_collection("others", vectors_config={"v": models.VectorParams(size=8, distance="Cosine")})
    client.upsert("others", [models.PointStruct(id=id + 1000, vector={"v": vectors[id]["cosine"]}) for id in vectors])
    make = lambda ids, cls=models.RecommendInput: models.RecommendQuery(recommend=cls(
        positive=ids[:2], negative=ids[2:], strategy=models.RecommendStrategy.SUM_SCORES))
    lookup = models.LookupLocation(collection="others", vector="v")
    elsewhere = client.query_points(name, make([1003, 1004, 1005]), using="cosine", lookup_from=lookup, limit=500).points
    given = client.query_points(name, make([vectors[i]["cosine"] for i in (3, 4, 5)]), using="cosine", limit=500).points
    assert [(h.id, h.score) for h in elsewhere] == [(h.id, h.score) for h in given]
    assert len(given) == N_POINTS
    here = client.query_points(name, make([3, 4, 5]), using="cosine", limit=500,
                               lookup_from=models.LookupLocation(collection=name, vector="cosine")).points
    assert {h.id for h in given} - {h.id for h in here} == {3, 4, 5}


def post(server, path, body):
    answer = server.post(path, body)
    return answer.status, answer.json.get("result"), answer.json["status"]


def test_older_endpoints(both, server):
    path = f"/collections/{both.name}/points"
    newer = lambda query: post(server, f"{path}/query", {"query": query, "using": "cosine", "limit": 5})[1]["points"]
    pairs = [{"positive": 3, "negative": 4}]
    cases = [("recommend", {"positive": [1, 2], "negative": [3]}, {"recommend": {"positive": [1, 2], "negative": [3]}}),
             ("discover", {"target": 1, "context": pairs}, {"discover": {"target": 1, "context": pairs}}),
             ("discover", {"context": pairs}, {"context": pairs})]
    for verb, body, query in cases:
        body = body | {"using": "cosine", "limit": 5}
        assert post(server, f"{path}/{verb}", body)[1] == newer(query)
        assert post(server, f"{path}/{verb}/batch", {"searches": [body, body]})[1] == [newer(query)] * 2
    assert post(server, f"{path}/recommend", {"negative": [1], "limit": 1})[0] == 400
    assert "target and/or context_pairs" in post(server, f"{path}/discover", {"limit": 1})[2]["error"]


def test_errors(both, server):
    path = f"/collections/{both.name}/points/query"
    ask = lambda query, **more: post(server, path, {"query": query, "using": "cosine", "limit": 3} | more)
    status, _, text = ask({"recommend": {"negative": [1]}})
    assert (status, text["error"]) == (400, "Wrong input: Positive vectors should not be empty with `average` strategy")
    status, _, text = ask({"recommend": {"positive": [99999]}})
    assert (status, text["error"]) == (404, "Not found: No point with id 99999 found")
    status, _, text = ask({"discover": {"target": [1, 2]}})
    assert status == 400 and "Vector dimension error: expected dim: 8, got 2" in text["error"]
    status, _, text = ask({"context": [{"positive": 1, "negative": {"indices": [1], "values": [1]}}]})
    assert status == 400
    status, _, text = ask([1] * 8, params={"idf": {"corpus": {"must": []}}})
    assert status == 400 and "`idf`" in text["error"]
    status, _, text = ask([1] * 8, filter={"must": [{"slice": {"total": 4, "index": 4}}]})
    assert status == 422


def sip_hash(data):
    """SipHash-2-4 with a zero key, from the paper."""
    mask = 2**64 - 1
    rotl = lambda x, b: ((x << b) | (x >> (64 - b))) & mask
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & mask
            v[2] = (v[2] + v[3]) & mask
            v[1], v[3] = rotl(v[1], 13) ^ v[0], rotl(v[3], 16) ^ v[2]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[1]) & mask
            v[0] = (v[0] + v[3]) & mask
            v[1], v[3] = rotl(v[1], 17) ^ v[2], rotl(v[3], 21) ^ v[0]
            v[2] = rotl(v[2], 32)

    words = [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]
    for word in [*words, (len(data) & 255) << 56]:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_slices_are_those_that_clients_compute(both, server):
    for index in range(5):
        body = {"filter": {"must": [{"slice": {"total": 5, "index": index}}]}, "limit": 1000}
        found = [p["id"] for p in post(server, f"/collections/{both.name}/points/scroll", body)[1]["points"]]
        assert found == [id for id in both.ids if sip_hash(id.to_bytes(8, "little")) % 5 == index]


# Random operations

STEPS = int(os.environ.get("QUIVER_ORACLE_STEPS", "250"))  # 100,000 in a long run


class Walk(Both):
    """Changes and queries in random order, the same in the server and in memory."""

    def everywhere(self, method, **kwargs):
        for client in self.clients:
            getattr(client, method)(self.name, wait=True, **copy.deepcopy(kwargs))

    def some_ids(self):
        return self.random.sample(self.ids, min(len(self.ids), self.random.randint(1, 6)))

    def upsert(self):
        ids = self.random.sample(range(2 * N_POINTS), self.random.randint(1, 8))
        points = [models.PointStruct(id=id, payload={"n": self.random.randrange(7)},
                                     vector={field: self.vector(field) for field in [*DIMS, *SPARSE]}) for id in ids]
        self.everywhere("upsert", points=points)
        self.ids = sorted({*self.ids, *ids})

    def delete(self):
        ids = self.some_ids()
        if len(self.ids) > 100:
            self.everywhere("delete", points_selector=ids)
            self.ids = [id for id in self.ids if id not in ids]

    def set_payload(self):
        self.everywhere("set_payload", payload={"n": self.random.randrange(7)}, points=self.some_ids())

    def update_vectors(self):
        fields = self.random.sample([*DIMS, *SPARSE], 2)
        self.everywhere("update_vectors", points=[
            models.PointVectors(id=id, vector={field: self.vector(field) for field in fields})
            for id in self.some_ids()])

    def any_filter(self):
        values = self.random.sample(range(7), 4)
        return self.random.choice([None, models.Filter(
            must=[models.FieldCondition(key="n", match=models.MatchAny(any=values))])])

    def any_query(self, with_ties=True):
        # In memory, IDF goes on counting points that were deleted.
        field = self.random.choice([*DIMS, "words"] if with_ties else [*DIMS])
        kinds = [kind for kind in KINDS if (kind != "feedback" or field not in NO_FEEDBACK)
                 and (with_ties or not has_ties(kind, field))]
        kind = self.random.choice(["nearest", *kinds])
        return field, self.vector(field) if kind == "nearest" else self.query(kind, field)

    def search(self):
        field, query = self.any_query()
        self.compare(self.random.randint(1, 40), query=query, using=field, query_filter=self.any_filter())

    def search_over_prefetches(self):
        with self.by_vectors_only():
            self.compare_over_prefetches()

    def compare_over_prefetches(self):
        """Each prefetch as in memory; the answer as these lists want it. (Ranks of nearly equal scores may differ.)"""
        prefetch, lists = [], []
        for _ in range(self.random.randint(1, 3)):
            field, query = self.any_query(with_ties=False)
            filter, limit = self.any_filter(), self.random.randint(1, 60)
            prefetch.append(models.Prefetch(query=query, using=field, filter=filter, limit=limit))
            lists.append(self.compare(limit, query=query, using=field, query_filter=filter))
        limit = self.random.randint(1, 20)
        if self.random.random() < 0.5:
            query = models.FusionQuery(fusion=models.Fusion.RRF)
            fused = self.clients[0].query_points(self.name, query=query, prefetch=prefetch, limit=limit).points
            assert_same_scores(fused, reciprocal_ranks(lists), limit)
            return
        field, query = self.any_query()
        union = models.Filter(must=[models.HasIdCondition(has_id=[hit.id for hits in lists for hit in hits])])
        wanted = self.compare(limit, query=query, using=field, query_filter=union)
        found = self.clients[0].query_points(self.name, query=query, using=field, prefetch=prefetch, limit=limit).points
        assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in wanted]


def reciprocal_ranks(lists):
    scores = {}
    for hits in lists:
        for rank, hit in enumerate(hits):
            scores[hit.id] = scores.get(hit.id, 0) + 1 / (rank + 2)
    return scores


def assert_same_scores(hits, scores, limit):
    best = sorted(scores.values(), reverse=True)[:limit]
    assert len(hits) == len(best)
    for hit, at_rank in zip(hits, best):
        assert math.isclose(hit.score, at_rank, rel_tol=1e-5)
        assert math.isclose(hit.score, scores[hit.id], rel_tol=1e-5)


def test_random_operations(server):
    """A failure names its seed and step: QUIVER_ORACLE_SEEDS repeats it."""
    for seed in map(int, os.environ.get("QUIVER_ORACLE_SEEDS", "1").split(",")):
        walk = Walk(server, f"walk-{seed}", seed)
        steps = [walk.upsert, walk.delete, walk.set_payload, walk.update_vectors]
        steps += [walk.search] * 6 + [walk.search_over_prefetches] * 3
        for k in range(STEPS):
            step = walk.random.choice(steps)
            try:
                step()
            except Exception as e:
                raise AssertionError(f"seed {seed}, step {k}: {step.__name__}") from e
