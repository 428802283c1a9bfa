"""Groups, facets and distance matrices, by the stock client, against its own in-memory mode where that is right."""
import math
import random

import numpy as np
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from quiver_server import SMALL_SEGMENTS, Server
from test_access import KEYS, POINT, SECRET, VECTORS, token

DIM = 8
CITIES = ["Berlin", "Oslo", "Paris", "Rome", "東京"]
UIDS = [f"a64a8051-3ee7-4881-8bc6-691d25c70d{i:02}" for i in range(6)]
INDEXES = {"city": "keyword", "tags": "keyword", "n": "integer", "uid": "uuid", "ok": "bool"}
N_POINTS = 240


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("groups") / "data", env=SMALL_SEGMENTS).start()
    yield server
    server.stop()


class World:
    """The same points in the server and in local mode; some are deleted and some replaced."""

    def __init__(self, server):
        self.server = server
        self.remote = server.client()
        self.local = QdrantClient(":memory:")
        draw = random.Random(5)
        numbers = np.random.default_rng(5)
        for client in (self.remote, self.local):
            client.create_collection(
                "shop", {"image": models.VectorParams(size=DIM, distance="Cosine"),
                         "far": models.VectorParams(size=DIM, distance="Euclid")},
                sparse_vectors_config={"words": models.SparseVectorParams()})
        for key, kind in INDEXES.items():
            self.remote.create_payload_index("shop", key, kind)
        points = [self.point(i, draw, numbers) for i in range(N_POINTS)]
        changed = [self.point(i, draw, numbers) for i in range(0, N_POINTS, 5)]
        for client in (self.remote, self.local):
            client.upsert("shop", points)
            client.delete("shop", list(range(0, N_POINTS, 7)))
            client.upsert("shop", changed)

    @staticmethod
    def point(i, draw, numbers):
        indices = sorted(draw.sample(range(20), draw.randint(1, 6)))
        vector = {"image": numbers.standard_normal(DIM).tolist(), "far": numbers.standard_normal(DIM).tolist(),
                  "words": models.SparseVector(indices=indices, values=numbers.random(len(indices)).tolist())}
        if draw.random() < 0.1:
            del vector["far"]
        payload = {"doc": draw.randrange(40), "n": draw.randrange(-3, 6), "tags": draw.choices("abcd", k=draw.randint(0, 3)),
                   "city": draw.choice(CITIES), "uid": draw.choice(UIDS), "ok": draw.random() < 0.3}
        for key in list(payload):
            if draw.random() < 0.15:
                del payload[key]
        return models.PointStruct(id=i, vector=vector, payload=payload)

    def both(self, call):
        return call(self.remote), call(self.local)


@pytest.fixture(scope="module")
def world(server):
    return World(server)


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5)


def assert_same_groups(remote, local):
    """Groups that share their best hit may stand in any order."""
    remote, local = remote.groups, local.groups
    assert len(remote) == len(local)
    assert [g.hits[0].id for g in remote] == [g.hits[0].id for g in local]
    expected = {g.id: g for g in local}
    for group in remote:
        assert [h.id for h in group.hits] == [h.id for h in expected[group.id].hits], group.id
        for hit, wanted in zip(group.hits, expected[group.id].hits):
            assert close(hit.score, wanted.score) and hit.payload == wanted.payload


VECTOR = [0.3, -1.0, 0.2, 0.8, -0.1, 0.5, 0.0, -0.4]
CITY = models.Filter(must=[models.FieldCondition(key="city", match=models.MatchAny(any=["Oslo", "Rome"]))])
QUERIES = {
    "dense": {"query": VECTOR, "using": "image"},
    "distance": {"query": VECTOR, "using": "far"},
    "sparse": {"query": models.SparseVector(indices=[1, 4, 7, 11], values=[1, 0.5, 2, 0.3]), "using": "words"},
    "id": {"query": 3, "using": "image"},
    "recommend": {"query": models.RecommendQuery(recommend=models.RecommendInput(positive=[3, 4], negative=[6])), "using": "image"},
    "best score": {"query": models.RecommendQuery(recommend=models.RecommendInput(
        positive=[3, 4], negative=[6], strategy=models.RecommendStrategy.BEST_SCORE)), "using": "image"},
    "threshold": {"query": VECTOR, "using": "image", "score_threshold": 0.2},
    "fused": {"query": models.RrfQuery(rrf=models.Rrf(k=60)), "prefetch": [
        models.Prefetch(query=VECTOR, using="image", limit=1000), models.Prefetch(query=VECTOR, using="far", limit=1000)]},
}


@pytest.mark.parametrize("key", ["doc", "city", "tags", "n", "uid"])
@pytest.mark.parametrize("query", QUERIES)
def test_groups_agree_with_local_mode(world, key, query):
    for limit, group_size, condition in [(3, 2, None), (10, 3, CITY), (50, 5, None)]:
        if condition and query == "fused":
            continue  # local mode ignores the root filter of a fusion
        remote, local = world.both(lambda client: client.query_points_groups(
            "shop", group_by=key, limit=limit, group_size=group_size, query_filter=condition, with_payload=True, **QUERIES[query]))
        if query in ("sparse", "fused") or key == "tags":
            # Scores may tie, or the last group may share its best hit with one that is left out.
            assert len(remote.groups) == len(local.groups)
            assert all(close(g.hits[0].score, w.hits[0].score) for g, w in zip(remote.groups, local.groups))
            expected = {g.id: [h.score for h in g.hits] for g in local.groups}
            for group in remote.groups:
                scores = [h.score for h in group.hits]
                assert group.id not in expected or all(map(close, scores, expected[group.id]))
        else:
            assert_same_groups(remote, local)


def test_the_older_search_for_groups(world):
    body = {"vector": {"name": "image", "vector": VECTOR}, "group_by": "city", "group_size": 2, "limit": 3, "with_payload": ["city"]}
    older = world.server.post("/collections/shop/points/search/groups", body).result["groups"]
    newer = world.remote.query_points_groups("shop", "city", query=VECTOR, using="image", limit=3, group_size=2, with_payload=["city"])
    assert [(g["id"], [h["id"] for h in g["hits"]]) for g in older] == [(g.id, [h.id for h in g.hits]) for g in newer.groups]
    assert all(h["payload"] == {"city": g["id"]} for g in older for h in g["hits"])


def test_the_older_recommendation_of_groups(world):
    body = {"positive": [3, 4], "negative": [6], "using": "image", "group_by": "city", "group_size": 2, "limit": 3}
    older = world.server.post("/collections/shop/points/recommend/groups", body).result["groups"]
    newer = world.remote.query_points_groups("shop", "city", limit=3, group_size=2, **QUERIES["recommend"])
    assert older and [(g["id"], [h["id"] for h in g["hits"]]) for g in older] == [(g.id, [h.id for h in g.hits]) for g in newer.groups]


def test_groups_are_looked_up(world):
    remote = world.remote
    remote.create_collection("docs", models.VectorParams(size=2, distance="Dot"))
    remote.upsert("docs", [models.PointStruct(id=i, vector=[i, 1], payload={"title": f"doc {i}"}) for i in range(0, 40, 2)]
                  + [models.PointStruct(id=UIDS[0], vector=[9, 9], payload={"title": "uuid"})])

    def groups(key, lookup):
        return remote.query_points_groups("shop", key, query=VECTOR, using="image", limit=40, with_lookup=lookup).groups

    for group in groups("doc", "docs"):
        assert (group.lookup is not None) == (group.id % 2 == 0)
        assert group.lookup is None or (group.lookup.id == group.id and group.lookup.payload == {"title": f"doc {group.id}"}
                                        and group.lookup.vector is None)
    looked = [g.lookup for g in groups("doc", models.WithLookup(collection="docs", with_payload=False, with_vectors=True)) if g.lookup]
    assert looked and all(r.payload is None and r.vector == [float(r.id), 1.0] for r in looked)
    by_uuid = {g.id: g.lookup for g in groups("uid", "docs")}
    assert by_uuid[UIDS[0]].payload == {"title": "uuid"} and by_uuid[UIDS[1]] is None
    assert all(g.lookup is None for g in groups("city", "docs")), "no city is an id"
    assert all(g.lookup is None for g in groups("n", "docs") if g.id < 0)
    with pytest.raises(UnexpectedResponse, match="Collection missing not found") as refused:
        groups("doc", "missing")
    assert refused.value.status_code == 404


@pytest.mark.parametrize("key", INDEXES)
def test_facets_agree_with_local_mode(world, key):
    nothing = models.Filter(must=[models.FieldCondition(key="city", match=models.MatchValue(value="none"))])
    for limit, condition in [(100, None), (2, None), (100, CITY), (100, models.Filter(must_not=[CITY])), (100, nothing)]:
        remote, local = world.both(lambda client: client.facet("shop", key, facet_filter=condition, limit=limit))
        assert [(h.value, h.count) for h in remote.hits] == [(h.value, h.count) for h in local.hits]


def test_distance_matrices_agree_with_local_mode(world):
    has_far = models.Filter(must=[CITY, models.HasVectorCondition(has_vector="far")])  # local mode fails at points without
    for field, condition in [("image", None), ("far", has_far), ("words", CITY)]:
        remote, local = world.both(lambda client: client.search_matrix_offsets(
            "shop", query_filter=condition, sample=N_POINTS, limit=4, using=field))
        assert remote.ids == local.ids and remote.offsets_row == local.offsets_row
        assert all(map(close, remote.scores, local.scores))
        pairs = world.remote.search_matrix_pairs("shop", query_filter=condition, sample=N_POINTS, limit=4, using=field).pairs
        assert [(p.a, p.b, p.score) for p in pairs] == [
            (remote.ids[row], remote.ids[column], score)
            for row, column, score in zip(remote.offsets_row, remote.offsets_col, remote.scores)]
    sample = world.remote.search_matrix_offsets("shop", sample=10, limit=3, using="image")
    assert len(sample.ids) == 10 and len(sample.scores) == 30


REFUSED = [
    ("points/query/groups", {"query": VECTOR, "using": "image"}, 400, "missing field `group_by`"),
    ("points/query/groups", {"query": VECTOR, "using": "image", "group_by": "a..b"}, 400, "group_by"),
    ("points/query/groups", {"query": VECTOR, "using": "image", "group_by": "doc", "group_size": 0}, 422, "group_size: value 0 invalid"),
    ("points/query/groups", {"query": VECTOR, "using": "image", "group_by": "doc", "limit": 0}, 422, "limit: value 0 invalid"),
    ("points/query/groups", {"query": VECTOR, "using": "image", "group_by": "doc", "with_lookup": 7}, 400, "with_lookup"),
    ("points/query/groups", {"query": VECTOR, "using": "nowhere", "group_by": "doc"}, 400, "Not existing vector name error: nowhere"),
    ("points/search/groups", {"vector": VECTOR, "group_by": "doc", "limit": 3}, 400, "missing field `group_size`"),
    ("facet", {"limit": 3}, 400, "missing field `key`"),
    ("facet", {"key": "city", "limit": 0}, 422, "limit: value 0 invalid"),
    ("facet", {"key": "doc"}, 400, "No appropriate index for faceting: `doc`"),
    ("points/search/matrix/pairs", {"sample": 1, "using": "image"}, 422, "sample: value 1 invalid"),
    ("points/search/matrix/offsets", {"limit": 0, "using": "image"}, 422, "limit: value 0 invalid"),
    ("points/search/matrix/pairs", {"using": "nowhere"}, 400, "Not existing vector name error: nowhere"),
]


@pytest.mark.parametrize("path,body,status,text", REFUSED)
def test_bad_requests_are_refused(world, path, body, status, text):
    answer = world.server.post(f"/collections/shop/{path}", body)
    assert answer.status == status and text in answer.error, answer.text
    assert world.server.post(f"/collections/missing/{path}", body).status in (404, status)


def test_a_lookup_needs_the_right_to_read(new_server):
    """`b` is the other collection: the caller may read it, or only `a`."""
    server = new_server(env=KEYS).start()
    headers = {"Authorization": f"Bearer {SECRET}"}
    for name in ("a", "b"):
        assert server.put(f"/collections/{name}", VECTORS, headers=headers).status == 200
        assert server.put(f"/collections/{name}/points?wait=true", POINT, headers=headers).status == 200
    grouped = {"query": [1, 2], "group_by": "a", "with_lookup": "b"}
    paths = [("points/query/groups", grouped), ("points/search/matrix/pairs", {}), ("facet", {"key": "a"})]
    for grants, statuses in [(["a", "b"], [200, 200, 400]), (["a"], [403, 200, 400]), (["b"], [403, 403, 403])]:
        claims = {"access": [{"collection": name, "access": "r"} for name in grants]}
        bearer = {"Authorization": f"Bearer {token(claims)}"}
        answers = [server.post(f"/collections/a/{path}", body, headers=bearer) for path, body in paths]
        assert [answer.status for answer in answers] == statuses, [answer.text for answer in answers]


def test_facets_are_the_same_after_a_restart(new_server):
    server = new_server(env=SMALL_SEGMENTS).start()
    world = World(server)
    keys = [*INDEXES]
    before = [world.remote.facet("shop", key, limit=100) for key in keys]
    server.kill9()
    server.start()
    assert [server.client().facet("shop", key, limit=100) for key in keys] == before
