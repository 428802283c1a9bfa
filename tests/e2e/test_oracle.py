"""The unmodified qdrant-client against the server, and the same calls in its own in-memory mode as oracle.

Scores must agree within 1e-4 relative or 1e-5 absolute; order may differ only among scores within that distance.
Every query is asked of the oracle without limit and offset, so that ties at the cut do not matter.
"""
import copy
import json
import math
import os
import random

import pytest
from qdrant_client import QdrantClient, models

from quiver_server import SMALL_SEGMENTS, Server, clients_use_grpc
from random_data import DENSE_DIM, INDEXES, ORDER_INDEXES, TEXT_DIM, TOKEN_DIM, RandomData

# Cases where local mode differs from the API that it imitates. Random data avoids them; FILTER_CASES and the tests
# named here state the right answers.
LOCAL_MODE_DEFECTS = {
    "bool is int": "Python's True == 1: match 1 finds true, match true finds 1, and ranges take booleans as numbers",
    "1 is 1.0": "match with the integer 1 finds the payload 1.0",
    "except null": "match except accepts null values",
    "values_count of missing": "a missing key never matches values_count, not even {lt: 1}",
    "nested on object": "a nested filter accepts a single object where an array is wanted",
    "field is_empty, is_null": "is_empty and is_null are ignored when given as members of a field condition",
    "text": "match text is always a substring test, phrases are refused, and text on numbers raises",
    "inclusive threshold": "score_threshold lets scores that are equal to it pass",
    "filter over prefetch": "a root filter is applied after the prefetches, not inside, and not at all with fusion",
    "missing multivector": "a search fails when some point was first inserted without its multivector",
    "single prefetch": "a prefetch given as one object is flattened with its inner prefetches",
    "nested payload key": "delete_payload takes `a.b` as the name of a top-level key",
    "insert_only after delete": "insert_only ignores ids that were deleted; update_only revives them",
    "update_vectors filter": "update_vectors with update_filter stops at the first point that does not match",
    "missing id": "payload and vector operations on ids that do not exist raise KeyError",
}



@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("oracle") / "data", env=SMALL_SEGMENTS).start()
    yield server
    server.stop()


SEEDS = [int(s) for s in os.environ.get("QUIVER_ORACLE_SEEDS", "1").split(",")]
N_POINTS = 240
N_FILTERS = 60
REL, ABS = 1e-4, 1e-5


def close(a, b):
    return math.isclose(a, b, rel_tol=REL, abs_tol=ABS)


def plain(value):
    """Models, numpy and tuples as plain JSON values."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def same_json(a, b):
    """Equality that compares types: 1 is neither 1.0 nor true."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def assert_same_vector(ours, theirs, where):
    ours, theirs = plain(ours) or None, plain(theirs) or None
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key in ours:
            assert_same_vector(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for k, (a, b) in enumerate(zip(ours, theirs)):
            assert_same_vector(a, b, f"{where}[{k}]")
    elif isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        # Local mode scales a vector to unit length again with each change of its point, and rounds each time.
        assert math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-6), f"{where}: {ours} {theirs}"
    else:
        assert ours == theirs, where


def assert_same_point(ours, theirs):
    assert ours.id == theirs.id
    payloads = [ours.payload, theirs.payload]
    if clients_use_grpc():  # where an empty payload and none look alike
        payloads = [payload or {} for payload in payloads]
    assert same_json(*payloads), f"payload of {ours.id}: {ours.payload} != {theirs.payload}"
    assert_same_vector(ours.vector, theirs.vector, f"vector of {ours.id}")


def assert_same_points(ours, theirs):
    assert [p.id for p in ours] == [p.id for p in theirs]
    for a, b in zip(ours, theirs):
        assert_same_point(a, b)


def assert_same_hits(ours, whole, limit, offset=0):
    """`ours` must be the requested part of `whole`, the oracle's answer without limit and offset."""
    wanted = whole[offset:offset + limit]
    by_id = {hit.id: hit for hit in whole}
    assert len(by_id) == len(whole)
    assert len(ours) == len(wanted), f"{len(ours)} hits, wanted {len(wanted)}"
    assert len({hit.id for hit in ours}) == len(ours), "an id occurs twice"
    for hit, at_rank in zip(ours, wanted):
        assert hit.id in by_id, f"{hit.id} must not be found"
        assert close(hit.score, at_rank.score), f"{hit.id}: score {hit.score}, at this rank {at_rank.score}"
        assert close(hit.score, by_id[hit.id].score), f"{hit.id}: score {hit.score}, wanted {by_id[hit.id].score}"
        assert_same_point(hit, by_id[hit.id])


class Pair:
    """One collection, twice: in the server and in local mode."""

    def __init__(self, server, name, data, vectors, sparse=None, shards=1):
        self.ours, self.theirs = server.client(), QdrantClient(":memory:")
        self.name, self.data = name, data
        self.both("create_collection", vectors_config=vectors, sparse_vectors_config=sparse,
                  shard_number=shards)

    def both(self, method, *args, **kwargs):
        answers = []
        for client in (self.ours, self.theirs):
            answers.append(getattr(client, method)(self.name, *copy.deepcopy(args), **copy.deepcopy(kwargs)))
        return answers

    def index(self, fields):
        for field, schema in fields.items():
            self.ours.create_payload_index(self.name, field, field_schema=schema, wait=True)

    def query(self, limit=10, offset=0, **kwargs):
        ours = self.ours.query_points(self.name, limit=limit, offset=offset, **copy.deepcopy(kwargs)).points
        whole = self.theirs.query_points(self.name, limit=100_000, **copy.deepcopy(kwargs)).points
        assert_same_hits(ours, whole, limit, offset)
        return ours

    def scroll_all(self, **kwargs):
        """Every point by pages of an odd size, compared page by page."""
        offset, seen = None, []
        while True:
            (ours, next_ours), (theirs, next_theirs) = self.both("scroll", limit=53, offset=offset, **kwargs)
            assert_same_points(ours, theirs)
            assert next_ours == next_theirs
            seen += ours
            if next_ours is None:
                return seen
            offset = next_ours

    def check_everything(self, fields):
        points = self.scroll_all(with_payload=True, with_vectors=True)
        ids = [p.id for p in points] or [1]
        for _ in range(8):
            filter = self.data.filter(ids, fields)
            assert self.both_count(filter) == [filter_count(points, filter, self)] * 2
        return points

    def both_count(self, filter):
        return [answer.count for answer in self.both("count", count_filter=filter, exact=True)]


def filter_count(points, filter, pair):
    """Number of points in a filtered scroll of the server; count and scroll must agree."""
    found, _ = pair.ours.scroll(pair.name, scroll_filter=filter, limit=len(points) + 1, with_payload=False)
    return len(found)


def named_pair(server, name, seed, indexed, token_distance=models.Distance.COSINE):
    data = RandomData(seed)
    multi = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    vectors = {
        "image": models.VectorParams(size=DENSE_DIM, distance=models.Distance.COSINE),
        "text": models.VectorParams(size=TEXT_DIM, distance=models.Distance.EUCLID),
        "tokens": models.VectorParams(size=TOKEN_DIM, distance=token_distance, multivector_config=multi),
    }
    pair = Pair(server, name, data, vectors, {"words": models.SparseVectorParams()},
                shards=3 if indexed == "before" else 1)
    if indexed == "before":
        pair.index(INDEXES | ORDER_INDEXES)
    pair.ids = data.ids(N_POINTS)
    points = [models.PointStruct(id=id, vector=data.named_vectors(whole=k % 3 > 0), payload=data.payload())
              for k, id in enumerate(pair.ids)]
    for k in range(0, len(points), 50):
        pair.both("upsert", points=points[k:k + 50], wait=True)
    if indexed == "after":
        pair.index(INDEXES | ORDER_INDEXES)
    return pair


FIELDS = ["image", "text", "tokens", "words"]


@pytest.fixture(scope="module", params=[(s, i) for s in SEEDS for i in ("no", "before", "after")],
                ids=lambda p: f"seed{p[0]}-index_{p[1]}")
def named(server, request):
    """A collection with every kind of field; tests that use it only read."""
    seed, indexed = request.param
    return named_pair(server, f"named-{seed}-{indexed}", seed, indexed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distance", list(models.Distance))
def test_unnamed_dense(server, name, distance, seed):
    data = RandomData(seed)
    pair = Pair(server, name, data, models.VectorParams(size=DENSE_DIM, distance=distance))
    ids = data.ids(N_POINTS)
    batch = models.Batch(ids=ids, vectors=[data.floats(DENSE_DIM) for _ in ids], payloads=[data.payload() for _ in ids])
    pair.both("upsert", points=batch, wait=True)
    for k in range(15):
        filter = data.filter(ids, [""]) if k % 2 else None
        query = data.floats(DENSE_DIM)
        limit, offset = data.random.randint(1, 40), data.random.choice([0, 0, 3, 500])
        pair.query(query=query, query_filter=filter, limit=limit, offset=offset, with_vectors=k % 3 == 0)
        whole = pair.theirs.query_points(name, query=query, query_filter=filter, limit=1000).points
        if len(whole) > 4:  # a threshold between two scores, so strictness does not matter
            cut = data.random.randrange(1, len(whole) - 1)
            threshold = (whole[cut - 1].score + whole[cut].score) / 2
            assert len(pair.query(query=query, query_filter=filter, score_threshold=threshold, limit=1000)) == cut
    for id in data.random.sample(ids, 5):
        assert id not in [hit.id for hit in pair.query(query=id, limit=7)]
    pair.check_everything([""])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distance", list(models.Distance))
def test_multivector(server, name, distance, seed):
    pair = named_pair(server, name, seed, "no", token_distance=distance)
    for k in range(10):
        filter = pair.data.filter(pair.ids, FIELDS) if k % 2 else None
        pair.query(query=pair.data.matrix(TOKEN_DIM), using="tokens", query_filter=filter, limit=15,
                   with_vectors=["tokens"])


def test_filters(named):
    """Random filter trees through count, scroll and queries on all kinds of fields."""
    data = named.data
    for k in range(N_FILTERS):
        filter = data.filter(named.ids, FIELDS)
        ours, theirs = named.both_count(filter)
        assert ours == theirs, filter.model_dump_json(exclude_none=True)
        found = named.scroll_all(scroll_filter=filter, with_payload=["n", "city"])
        assert len(found) == ours
        field, query = [("image", data.floats(DENSE_DIM)), ("text", data.floats(TEXT_DIM)),
                        ("words", data.sparse()), ("tokens", data.matrix(TOKEN_DIM))][k % 4]
        named.query(query=query, using=field, query_filter=filter, limit=data.random.randint(1, 30))


def test_each_condition_alone(named):
    for _ in range(150):
        condition = named.data.field_condition()
        for filter in (models.Filter(must=[condition]), models.Filter(must_not=[condition])):
            ours, theirs = named.both_count(filter)
            assert ours == theirs, filter.model_dump_json(exclude_none=True)


def test_queries_by_id(named):
    """The vector of a stored point as query; the point itself is left out."""
    points = named.theirs.retrieve(named.name, named.ids, with_vectors=True)
    for field in FIELDS:
        having = [p.id for p in points if field in p.vector]
        for id in named.data.random.sample(having, 3):
            hits = named.query(query=id, using=field, limit=12)
            assert id not in [hit.id for hit in hits]


def test_selectors(named):
    query = named.data.floats(DENSE_DIM)
    for with_payload in (True, False, ["city"], ["obj.x", "n"], models.PayloadSelectorInclude(include=["obj.y", "ok"]),
                         models.PayloadSelectorExclude(exclude=["obj.y.z", "title", "arr"])):
        for with_vectors in (True, False, ["image"], ["words", "tokens"]):
            select = {"with_payload": with_payload, "with_vectors": with_vectors}
            named.query(query=query, using="image", limit=9, **select)
            ours, theirs = named.both("retrieve", named.ids[:20], **select)
            assert_same_points(ours, theirs)


def test_retrieve_skips_missing(named):
    ids = [named.ids[0], 77777777777, named.ids[1], "00000000-0000-0000-0000-00000000abcd"]
    ours, theirs = named.both("retrieve", ids, with_vectors=True)
    assert_same_points(ours, theirs)


def test_no_query_lists_by_id(named):
    for offset in (0, 5, 1000):
        ours, theirs = named.both("query_points", limit=20, offset=offset)
        assert_same_points(ours.points, theirs.points)
        assert all(hit.score == 1.0 for hit in ours.points)


@pytest.mark.parametrize("fusion", ["rrf", "dbsf", "rrf_k", "rrf_weights"])
def test_fusion(named, fusion):
    query = {"rrf": models.FusionQuery(fusion=models.Fusion.RRF), "dbsf": models.FusionQuery(fusion=models.Fusion.DBSF),
             "rrf_k": models.RrfQuery(rrf=models.Rrf(k=60)),
             "rrf_weights": models.RrfQuery(rrf=models.Rrf(weights=[3.0, 1.0, 0.5]))}[fusion]
    data = named.data
    for k in range(8):
        filter = data.filter(named.ids, FIELDS) if k % 2 else None
        prefetch = [models.Prefetch(query=data.floats(DENSE_DIM), using="image", limit=40, filter=filter),
                    models.Prefetch(query=data.sparse(), using="words", limit=data.random.randint(1, 60)),
                    models.Prefetch(query=data.matrix(TOKEN_DIM), using="tokens", filter=filter)]
        named.query(query=query, prefetch=prefetch, limit=data.random.randint(1, 30),
                    offset=data.random.choice([0, 4]), with_vectors=k % 3 == 0)


def test_rescoring(named):
    """The union of the prefetches, scored by the outer vector."""
    data = named.data
    for k in range(8):
        inner = [models.Prefetch(query=data.sparse(), using="words", limit=30),
                 models.Prefetch(query=data.floats(TEXT_DIM), using="text", limit=25,
                                 score_threshold=data.random.choice([None, 3.0]))]
        named.query(query=data.floats(DENSE_DIM), using="image", prefetch=inner[:1 + k % 2], limit=12)
        fused = models.Prefetch(prefetch=inner, query=models.FusionQuery(fusion=models.Fusion.RRF), limit=100)
        named.query(query=data.matrix(TOKEN_DIM), using="tokens", prefetch=[fused], limit=12, offset=k)
        steps = models.Prefetch(prefetch=[inner[0]], query=data.floats(DENSE_DIM), using="image", limit=15)
        named.query(query=data.matrix(TOKEN_DIM), using="tokens", prefetch=[steps], limit=10)


def test_maximal_marginal_relevance(named):
    """MMR makes the same choices, step by step, among the same candidates."""
    data = named.data
    for k in range(12):
        field, vector = [("image", data.floats(DENSE_DIM)), ("text", data.floats(TEXT_DIM)),
                         ("words", data.sparse()), ("tokens", data.matrix(TOKEN_DIM))][k % 4]
        mmr = models.Mmr(diversity=data.random.choice([None, 0.0, 0.3, 0.9]), candidates_limit=30)
        ours, theirs = named.both("query_points", query=models.NearestQuery(nearest=vector, mmr=mmr), using=field,
                                  query_filter=data.filter(named.ids, FIELDS) if k % 3 else None, limit=9)
        assert_same_points(ours.points, theirs.points)
        for a, b in zip(ours.points, theirs.points):
            assert close(a.score, b.score)


def test_filter_over_prefetch(named):
    """A filter at the root holds inside every prefetch too."""
    data = named.data
    for _ in range(6):
        filter = data.filter(named.ids, FIELDS, depth=0)
        plain_prefetch = [(data.floats(DENSE_DIM), "image"), (data.sparse(), "words")]
        fetch = lambda filter: [models.Prefetch(query=q, using=u, limit=20, filter=filter) for q, u in plain_prefetch]
        for query, using in ((models.FusionQuery(fusion=models.Fusion.RRF), None), (data.floats(TEXT_DIM), "text")):
            ours = named.ours.query_points(named.name, query=query, using=using, prefetch=fetch(None),
                                           query_filter=filter, limit=10).points
            whole = named.theirs.query_points(named.name, query=query, using=using, prefetch=fetch(filter),
                                              query_filter=filter, limit=1000).points
            assert_same_hits(ours, whole, 10)


def test_batch_is_the_same_as_one_by_one(named):
    data = named.data
    requests = [models.QueryRequest(query=data.floats(DENSE_DIM), using="image", limit=5, with_payload=True),
                models.QueryRequest(query=data.sparse(), using="words", limit=8, with_payload=["n"],
                                    filter=data.filter(named.ids, FIELDS)),
                models.QueryRequest(limit=3, with_vector=True),
                models.QueryRequest(query=models.FusionQuery(fusion=models.Fusion.RRF), limit=6, prefetch=[
                    models.Prefetch(query=data.floats(TEXT_DIM), using="text")])]
    ours, theirs = named.both("query_batch_points", requests=requests)
    for request, a, b in zip(requests, ours, theirs, strict=True):
        assert [hit.id for hit in a.points] == [hit.id for hit in b.points]
        assert_same_hits(a.points, b.points, request.limit)


@pytest.mark.parametrize("key", list(ORDER_INDEXES))
def test_order_by(named, key):
    if "-no" in named.name:
        named.index({key: ORDER_INDEXES[key]})  # order_by needs an index
    data = named.data
    for k in range(6):
        filter = data.filter(named.ids, FIELDS, depth=0) if k % 2 else None
        start = {"rank": 60, "weight": 20.0, "when": "2020-01-04T00:00:00Z"}[key] if k % 3 == 0 else None
        order = models.OrderBy(key=key, start_from=start,
                               direction=data.random.choice([None, models.Direction.ASC, models.Direction.DESC]))
        (ours, next_page), (theirs, _) = named.both("scroll", scroll_filter=filter, order_by=order, limit=25)
        assert next_page is None
        assert_same_points(ours, theirs)
        assert [p.order_value for p in ours] == [p.order_value for p in theirs]
        ours, theirs = named.both("query_points", query=models.OrderByQuery(order_by=order), limit=9,
                                  query_filter=filter)
        assert_same_points(ours.points, theirs.points)


class Changes:
    """Random changes, applied to both sides. Uses existing ids where local mode requires them."""

    def __init__(self, pair):
        self.pair, self.data, self.random = pair, pair.data, pair.data.random
        self.live, self.gone = set(pair.ids), set()

    def some(self, n=15):
        return self.random.sample(sorted(self.live, key=str), min(n, len(self.live)))

    def points(self, ids):
        return [models.PointStruct(id=id, vector=self.data.named_vectors(whole=id not in self.live | self.gone or
                                                                         self.random.random() < 0.7),
                                   payload=self.data.payload() if self.random.random() < 0.9 else None) for id in ids]

    def selector(self):
        """Ids or a narrow filter."""
        if self.random.random() < 0.5:
            return self.some()
        return models.Filter(must=[self.data.field_condition(), self.data.field_condition()])

    def refresh(self):
        live = {p.id for p in self.pair.ours.scroll(self.pair.name, limit=10_000, with_payload=False)[0]}
        self.gone |= self.live - live
        self.live = live

    def upsert(self):
        fresh = [id for id in self.data.ids(20) if id not in self.live | self.gone]
        revived = self.random.sample(sorted(self.gone, key=str), min(3, len(self.gone)))
        self.pair.both("upsert", points=self.points(self.some(10) + fresh + revived), wait=True)
        self.live |= set(fresh) | set(revived)

    def upsert_filtered(self):
        filter = models.Filter(must=[self.data.field_condition()])
        self.pair.both("upsert", points=self.points(self.some(20)), update_filter=filter, wait=True)

    def upsert_mode(self):
        fresh = [id for id in self.data.ids(10) if id not in self.live | self.gone]
        mode = self.random.choice([models.UpdateMode.INSERT_ONLY, models.UpdateMode.UPDATE_ONLY])
        self.pair.both("upsert", points=self.points(self.some(5) + fresh), update_mode=mode, wait=True)

    def delete(self):
        self.pair.both("delete", points_selector=self.selector(), wait=True)

    def set_payload(self):
        self.pair.both("set_payload", payload={"city": "Bonn", "fresh": [1, 2.5, {"k": None}]},
                       points=self.selector(), wait=True)

    def set_payload_under_key(self):
        key = self.random.choice(["obj", "obj.y", "new.deep"])
        self.pair.both("set_payload", payload={"x": self.random.randint(0, 9), "more": "m"}, key=key,
                       points=self.some(), wait=True)

    def overwrite_payload(self):
        self.pair.both("overwrite_payload", payload=self.data.payload(), points=self.some(3), wait=True)

    def delete_payload(self):
        keys = self.random.sample(["city", "tags", "n", "obj", "fresh", "absent"], 2)
        self.pair.both("delete_payload", keys=keys, points=self.selector(), wait=True)

    def clear_payload(self):
        self.pair.both("clear_payload", points_selector=self.some(4), wait=True)

    def update_vectors(self):
        fields = {"image": lambda: self.data.floats(DENSE_DIM), "text": lambda: self.data.floats(TEXT_DIM),
                  "words": self.data.sparse, "tokens": lambda: self.data.matrix(TOKEN_DIM)}
        draw = lambda: {f: fields[f]() for f in self.random.sample(FIELDS, self.random.randint(1, 3))}
        points = [models.PointVectors(id=id, vector=draw()) for id in self.some()]
        self.pair.both("update_vectors", points=points, wait=True)

    def delete_vectors(self):
        self.pair.both("delete_vectors", vectors=self.random.sample(FIELDS, 2), points=self.selector(), wait=True)

    def batch(self):
        one = self.some(3)
        points = self.points(self.some(4))
        # A change after its point was deleted is 404 here; local mode ignores it.
        gone = [id for id in self.some(5) if id not in one][:2]
        operations = [
            models.UpsertOperation(upsert=models.PointsList(points=points)),
            models.SetPayloadOperation(set_payload=models.SetPayload(payload={"n": 5, "b": True}, points=one)),
            models.OverwritePayloadOperation(overwrite_payload=models.SetPayload(payload={"o": 1.0}, points=one[:1])),
            models.DeletePayloadOperation(delete_payload=models.DeletePayload(keys=["b"], points=one[:2])),
            models.ClearPayloadOperation(clear_payload=models.PointIdsList(points=one[2:])),
            models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(
                points=[models.PointVectors(id=one[0], vector={"image": self.data.floats(DENSE_DIM)})])),
            models.DeleteVectorsOperation(delete_vectors=models.DeleteVectors(vector=["text"], points=one)),
            models.DeleteOperation(delete=models.PointIdsList(points=gone)),
        ]
        self.random.shuffle(operations)
        self.pair.both("batch_update_points", update_operations=operations, wait=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("indexed", ["no", "before"])
def test_changes(server, name, seed, indexed):
    """Random changes one after the other; after each few, everything is compared."""
    pair = named_pair(server, name, 100 + seed, indexed)
    changes = Changes(pair)
    kinds = [changes.upsert, changes.upsert_filtered, changes.upsert_mode, changes.delete, changes.set_payload,
             changes.set_payload_under_key, changes.overwrite_payload, changes.delete_payload, changes.clear_payload,
             changes.update_vectors, changes.delete_vectors, changes.batch]
    for round in range(4):
        random.Random(seed + round).shuffle(kinds)
        for change in kinds:
            try:
                change()
                changes.refresh()
            except Exception as e:
                raise AssertionError(f"round {round}, {change.__name__}") from e
            if changes.random.random() < 0.4:
                pair.check_everything(FIELDS)
        points = pair.check_everything(FIELDS)
        pair.query(query=pair.data.floats(DENSE_DIM), using="image", limit=1000, with_vectors=True)
        pair.query(query=pair.data.sparse(), using="words", limit=1000)
        pair.query(query=pair.data.matrix(TOKEN_DIM), using="tokens", limit=1000)
        pair.query(query=pair.data.floats(TEXT_DIM), using="text", limit=1000,
                   query_filter=pair.data.filter(pair.ids, FIELDS))
    assert pair.ours.get_collection(name).points_count == len(points)


def test_upload_helpers(server, name):
    """upload_points and upload_collection, which send batches without waiting."""
    data = RandomData(5)
    pair = Pair(server, name, data, models.VectorParams(size=DENSE_DIM, distance=models.Distance.DOT))
    points = [models.PointStruct(id=k, vector=data.floats(DENSE_DIM), payload=data.payload()) for k in range(300)]
    pair.both("upload_points", points=points, batch_size=64, wait=True)
    vectors = [data.floats(DENSE_DIM) for _ in range(100)]
    pair.both("upload_collection", vectors=vectors, payload=[{"k": k} for k in range(100)], ids=range(300, 400),
              wait=True)
    pair.check_everything([""])
    pair.query(query=data.floats(DENSE_DIM), limit=400)


# One row per case: payloads (the k-th is point k), condition, matching ids, and a defect of local mode or a remark.
FILTER_CASES = [
    ([{"v": True}, {"v": 1}, {"v": 1.0}, {"v": "1"}], {"key": "v", "match": {"value": 1}}, [1], "bool is int, 1 is 1.0"),
    ([{"v": True}, {"v": 1}, {"v": False}, {"v": 0}], {"key": "v", "match": {"value": True}}, [0], "bool is int"),
    ([{"v": True}, {"v": 1}, {"v": 1.5}, {"v": "1"}], {"key": "v", "range": {"gte": 0}}, [1, 2], "bool is int"),
    ([{"v": None}, {"v": "a"}, {"v": "b"}, {}], {"key": "v", "match": {"except": ["a"]}}, [2], "except null"),
    ([{"v": [None]}, {"v": [1, None]}, {"v": None}, {"v": []}, {}, {"v": 0}],
     {"is_null": {"key": "v"}}, [2], "is_null around a key"),
    ([{"v": [None]}, {"v": [1, None]}, {"v": None}, {"v": []}, {}, {"v": 0}],
     {"key": "v", "is_null": True}, [0, 1, 2], "is_null looks into arrays"),
    ([{"v": None}, {"v": []}, {}, {"v": 0}, {"v": ""}, {"v": {}}], {"is_empty": {"key": "v"}}, [0, 1, 2], "is_empty"),
    ([{"v": None}, {"v": []}, {}, {"v": 0}], {"key": "v", "is_empty": True}, [0, 1, 2], "field is_empty, is_null"),
    ([{"v": None}, {"v": []}, {}, {"v": 0}], {"key": "v", "is_null": True}, [0], "field is_empty, is_null"),
    ([{"v": []}, {"v": None}, {"v": 5}, {"v": [1, 2]}, {"v": [1, 2, 3]}],
     {"key": "v", "values_count": {"gte": 1, "lt": 3}}, [2, 3], "values_count"),
    ([{"v": {"a": 1}}, {"v": [{"a": 1}]}, {"v": [{"a": 2}, {"a": 1}]}, {}],
     {"nested": {"key": "v", "filter": {"must": [{"key": "a", "match": {"value": 1}}]}}}, [1, 2], "nested on object"),
    ([{"v": [{"a": 1, "b": 2}]}, {"v": [{"a": 1, "b": 3}, {"a": 4, "b": 2}]}],
     {"nested": {"key": "v", "filter": {"must": [{"key": "a", "match": {"value": 1}},
                                                {"key": "b", "match": {"value": 2}}]}}}, [0], "one element, all of it"),
    ([{"v": "the quick fox"}, {"v": "quick"}, {"v": "fox quick"}],
     {"key": "v", "match": {"text": "quick fox"}}, [0], "text without index: substring"),
    ([{"v": 2**63}, {"v": 2**63 - 1}, {"v": -2**63}], {"key": "v", "match": {"value": 2**63 - 1}}, [1], "whole i64"),
    ([{"v": 9007199254740993}, {"v": 9007199254740992}], {"key": "v", "range": {"gt": 9007199254740992}}, [0],
     "integers compare exactly"),
    ([{"v": 2}, {"v": 2.0}, {"v": 1.9999999}], {"key": "v", "range": {"gte": 2.0}}, [0, 1], "ints and floats in a range"),
    ([{"a": {"b": 1}}, {"a.b": 1}, {"a": [{"b": 1}]}], {"key": "a.b", "match": {"value": 1}}, [0], "paths"),
    ([{"a": {"b": 1}}, {"a.b": 1}, {"a": [{"b": 1}]}], {"key": "\"a.b\"", "match": {"value": 1}}, [1], "quoted keys"),
    ([{"a": {"b": 1}}, {"a.b": 1}, {"a": [{"b": 1}]}], {"key": "a[].b", "match": {"value": 1}}, [2], "array elements"),
    ([{"v": "2024-02-29T12:00:00+02:00"}, {"v": "2024-02-29"}, {"v": "2024-02-29 10:00:01"}, {"v": "2024-02-30"}],
     {"key": "v", "range": {"gte": "2024-02-29T10:00:00Z"}}, [0, 2], "datetimes with offsets"),
    ([{"v": "x"}, {"v": ["x", "y"]}, {"v": []}, {}], {"key": "v", "match": {"any": []}}, [], "any of nothing"),
    ([{"v": {"lon": 0.0, "lat": 0.0}}, {"v": [{"lon": 50.0, "lat": 0.0}, {"lon": 0.001, "lat": 0}]},
      {"v": {"lon": 1, "lat": 0}}, {"v": {"lon": "0", "lat": 0}}],
     {"key": "v", "geo_radius": {"center": {"lon": 0, "lat": 0}, "radius": 1000.0}}, [0, 1], "integers in geo points"),
]


@pytest.mark.parametrize("case", range(len(FILTER_CASES)), ids=lambda k: FILTER_CASES[k][3].replace(" ", "-"))
def test_filters_by_hand(server, name, case):
    payloads, condition, wanted, _ = FILTER_CASES[case]
    assert server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result is True
    points = [{"id": k, "vector": [1.0], "payload": payload} for k, payload in enumerate(payloads)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    everything = set(range(len(payloads)))
    for clause, ids in (("must", set(wanted)), ("must_not", everything - set(wanted))):
        for shape in (condition, [condition]):
            body = {"filter": {clause: shape}, "limit": 100}
            found = server.post(f"/collections/{name}/points/scroll", body).result["points"]
            assert {p["id"] for p in found} == ids, f"{clause} {condition}"
            assert server.post(f"/collections/{name}/points/count", body).result["count"] == len(ids)


@pytest.mark.parametrize("match,wanted", [
    ({"text": "quick fox"}, [0, 2, 3]), ({"text": "Quick"}, [0, 1, 2, 3]), ({"text": "qui"}, []),
    ({"text_any": "fox lazy"}, [0, 2, 3, 4]), ({"phrase": "quick fox"}, [0]), ({"phrase": "fox quick"}, [2]),
    ({"phrase": "missing words"}, []),
])
def test_text_index(server, name, match, wanted):
    """The `word` tokenizer, lower case, and positions for phrases."""
    server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result
    schema = {"type": "text", "tokenizer": "word", "lowercase": True, "phrase_matching": True}
    server.put(f"/collections/{name}/index?wait=true", {"field_name": "t", "field_schema": schema}).result
    texts = ["The quick fox", "QUICK!", ["nothing", "a fox, quick"], "fox (that is) quick", "lazy dog", 5, None]
    points = [{"id": k, "vector": [1.0], "payload": {"t": text}} for k, text in enumerate(texts)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    body = {"filter": {"must": [{"key": "t", "match": match}]}, "limit": 100}
    found = server.post(f"/collections/{name}/points/scroll", body).result["points"]
    assert [p["id"] for p in found] == wanted


def test_score_threshold_is_strict(server, name):
    """A score equal to the threshold does not pass, in either direction."""
    for distance, at, better in (("Dot", 2.0, {3}), ("Euclid", 2.0, {0, 1}), ("Manhattan", 2.0, {0, 1})):
        collection = f"{name}-{distance}"
        server.put(f"/collections/{collection}", {"vectors": {"size": 1, "distance": distance}}).result
        points = [{"id": k, "vector": [float(k)]} for k in range(4)]
        server.put(f"/collections/{collection}/points?wait=true", {"points": points}).result
        query = [1.0] if distance == "Dot" else [0.0]
        body = {"query": query, "score_threshold": at}
        found = server.post(f"/collections/{collection}/points/query", body).result["points"]
        assert {p["id"] for p in found} == better, distance


def test_points_without_a_vector(server, name):
    """A point is not found by a field that it lacks, and has_vector does not match it."""
    multi = {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}
    server.put(f"/collections/{name}", {"vectors": {"d": {"size": 2, "distance": "Dot"}, "m": multi},
                                        "sparse_vectors": {"s": {}}}).result
    points = [{"id": 1, "vector": {"d": [1, 0]}}, {"id": 2, "vector": {"m": [[1, 0], [0, 1]]}},
              {"id": 3, "vector": {"s": {"indices": [5, 2], "values": [1, 2]}}}, {"id": 4, "vector": {}}]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    queries = {"d": [1, 1], "m": [[1, 1]], "s": {"indices": [2, 5], "values": [1, 1]}}
    for (field, query), id in zip(queries.items(), (1, 2, 3)):
        hits = server.post(f"/collections/{name}/points/query", {"query": query, "using": field}).result["points"]
        assert [hit["id"] for hit in hits] == [id]
        body = {"filter": {"must": {"has_vector": field}}}
        assert server.post(f"/collections/{name}/points/count", body).result == {"count": 1}
    records = server.post(f"/collections/{name}/points", {"ids": [3, 4], "with_vector": True}).result
    assert records[0]["vector"] == {"s": {"indices": [2, 5], "values": [2.0, 1.0]}}
    assert records[1]["vector"] == {}


def test_delete_nested_payload_key(server, name):
    server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result
    payload = {"a": {"b": 1, "c": 2}, "l": [{"x": 1, "y": 2}, {"x": 3}], "a.b": 7}
    server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": 1, "vector": [1], "payload": payload}]}).result
    server.post(f"/collections/{name}/points/payload/delete?wait=true", {"keys": ["a.b", "l[].x"], "points": [1]}).result
    left = server.get(f"/collections/{name}/points/1").result["payload"]
    assert left == {"a": {"c": 2}, "l": [{"y": 2}, {}], "a.b": 7}


def test_update_modes_after_delete(server, name):
    server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result
    path = f"/collections/{name}/points?wait=true"
    upsert = lambda value, **kw: server.put(path, {"points": [{"id": 1, "vector": [1], "payload": {"v": value}}]} | kw).result
    value = lambda: [p["payload"]["v"] for p in server.post(f"/collections/{name}/points", {"ids": [1]}).result]
    upsert(1, update_mode="update_only")
    assert value() == []
    upsert(2, update_mode="insert_only")
    assert value() == [2]
    upsert(3, update_mode="insert_only")
    assert value() == [2]
    server.post(f"/collections/{name}/points/delete?wait=true", {"points": [1]}).result
    upsert(4, update_mode="update_only")
    assert value() == []
    upsert(5, update_mode="insert_only")
    assert value() == [5]


def test_update_vectors_with_filter(server, name):
    server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result
    points = [{"id": k, "vector": [1], "payload": {"k": k}} for k in range(3)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    only = {"must": [{"key": "k", "range": {"gte": 1}}]}
    body = {"points": [{"id": k, "vector": [9.0]} for k in range(3)], "update_filter": only}
    server.put(f"/collections/{name}/points/vectors?wait=true", body).result
    records = server.post(f"/collections/{name}/points", {"ids": [0, 1, 2], "with_vector": True}).result
    assert [r["vector"] for r in records] == [[1.0], [9.0], [9.0]]
