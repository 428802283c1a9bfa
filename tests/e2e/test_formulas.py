"""Formula queries over REST and gRPC, against the stock client's in-memory mode and numbers worked out by hand."""
import math

import grpc
import numpy as np
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from quiver_server import ANSWER_TIMEOUT_S, SMALL_SEGMENTS, Server

N, DIM, SEED = 120, 6, 5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("formulas") / "data", env=SMALL_SEGMENTS, grpc=True).start()
    yield server
    server.stop()


def clients_of(server):
    over_grpc = QdrantClient(host="127.0.0.1", port=server.port, grpc_port=server.grpc_port, https=False,
                             prefer_grpc=True, check_compatibility=False, timeout=int(ANSWER_TIMEOUT_S))
    return [server.client(), over_grpc]


@pytest.fixture(scope="module")
def clients(server):
    return clients_of(server)


def payload_of(i, random):
    payload = {"price": round(float(random.uniform(0.5, 9)), 3), "stock": i % 7, "tag": f"t{i % 5}",
               "at": f"2024-03-{i % 28 + 1:02}T12:00:00Z", "on": i % 2 == 0, "list": [i % 3],
               "place": {"lon": float(random.uniform(-5, 5)), "lat": float(random.uniform(40, 50))}}
    if i % 3 == 0:
        del payload["price"]
    return payload


def points():
    random = np.random.default_rng(SEED)
    for i in range(N):
        vectors = {"dense": random.standard_normal(DIM).astype("f4").tolist(),
                   "far": random.standard_normal(DIM).astype("f4").tolist(),
                   "words": models.SparseVector(indices=sorted(random.choice(30, 5, replace=False).tolist()),
                                                values=random.uniform(0.1, 1, 5).astype("f4").tolist()),
                   "tokens": random.standard_normal((3, 4)).astype("f4").tolist()}
        yield models.PointStruct(id=i, vector=vectors, payload=payload_of(i, random))


def fill(client, name, shards=None):
    multi = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    client.create_collection(
        name, shard_number=shards,
        vectors_config={"dense": models.VectorParams(size=DIM, distance="Cosine"),
                        "far": models.VectorParams(size=DIM, distance="Euclid"),
                        "tokens": models.VectorParams(size=4, distance="Dot", multivector_config=multi)},
        sparse_vectors_config={"words": models.SparseVectorParams()})
    client.upsert(name, list(points()), wait=True)


@pytest.fixture(scope="module")
def in_memory():
    client = QdrantClient(":memory:")
    fill(client, "c")
    return client


@pytest.fixture(scope="module")
def filled(clients):
    fill(clients[0], "c", shards=3)
    clients[0].create_payload_index("c", "tag", field_schema="keyword", wait=True)
    return "c"


def vector(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4").tolist()


DENSE = models.Prefetch(query=vector(1, DIM), using="dense", limit=30)
FAR = models.Prefetch(query=vector(2, DIM), using="far", limit=20)
WORDS = models.Prefetch(query=models.SparseVector(indices=[1, 5, 9, 20], values=[1, 2, 0.5, 1]), using="words", limit=25)
TOKENS = models.Prefetch(query=vector(3, 2, 4), using="tokens", limit=15)
# In-memory mode does not cut a fused prefetch at its limit, and gives it the scores of its parts.
FUSED = models.Prefetch(prefetch=[DENSE, WORDS], query=models.FusionQuery(fusion=models.Fusion.DBSF), limit=N)
PREFETCHES = {"dense": DENSE, "far": FAR, "sparse": WORDS, "multi": TOKENS, "fusion": FUSED, "two": [DENSE, FAR],
              "four": [DENSE, FAR, WORDS, TOKENS]}
TAG = models.FieldCondition(key="tag", match=models.MatchAny(any=["t1", "t2"]))
DEFAULTS = {"price": 2.5, "$score[1]": -3, "nowhere": {"lon": 1, "lat": 45}, "never": "2024-03-05"}
FORMULAS = {
    "constant": 1.5,
    "score": "$score",
    "second score": models.SumExpression(sum=["$score[0]", models.MultExpression(mult=[0.5, "$score[1]"])]),
    "no such score": models.SumExpression(sum=["$score[9]", 1]),
    "payload": "price",
    "list": "list",
    "element": "list[0]",
    "condition": TAG,
    "filter": models.Filter(must_not=[TAG], should=[models.HasIdCondition(has_id=[1, 2, 3, 5, 8])]),
    "boost": models.SumExpression(sum=["$score", models.MultExpression(mult=[0.5, TAG]),
                                       models.MultExpression(mult=[0.25, models.HasVectorCondition(has_vector="far")])]),
    "distance": models.GeoDistance(geo_distance=models.GeoDistanceParams(origin=models.GeoPoint(lon=2, lat=45), to="place")),
    "default place": models.GeoDistance(
        geo_distance=models.GeoDistanceParams(origin=models.GeoPoint(lon=2, lat=45), to="nowhere")),
    "time": models.DatetimeKeyExpression(datetime_key="at"),
    "default time": models.DatetimeKeyExpression(datetime_key="never"),
    "neg": models.NegExpression(neg="$score"),
    "abs": models.AbsExpression(abs=models.NegExpression(neg="price")),
    "div": models.DivExpression(div=models.DivParams(left="price", right=models.SumExpression(sum=["stock", 1]))),
    "div by zero": models.DivExpression(div=models.DivParams(left="price", right="stock", by_zero_default=10)),
    "sqrt": models.SqrtExpression(sqrt="price"),
    "pow": models.PowExpression(pow=models.PowParams(base="price", exponent=1.5)),
    "exp": models.ExpExpression(exp=models.NegExpression(neg="price")),
    "log10": models.Log10Expression(log10="price"),
    "ln": models.LnExpression(ln=models.SumExpression(sum=["stock", 1])),
    "lin_decay": models.LinDecayExpression(lin_decay=models.DecayParamsExpression(x="price", target=4, scale=3, midpoint=0.25)),
    "exp_decay": models.ExpDecayExpression(exp_decay=models.DecayParamsExpression(x="stock")),
    "gauss_decay": models.GaussDecayExpression(gauss_decay=models.DecayParamsExpression(
        x=models.DatetimeKeyExpression(datetime_key="at"),
        target=models.DatetimeExpression(datetime="2024-03-10T00:00:00Z"), scale=86400 * 5)),
    "near and fresh": models.SumExpression(sum=[
        "$score", models.MultExpression(mult=[2, models.ExpDecayExpression(exp_decay=models.DecayParamsExpression(
            x=models.GeoDistance(geo_distance=models.GeoDistanceParams(origin=models.GeoPoint(lon=0, lat=45), to="place")),
            scale=100_000))])]),
}


def formula(expression, defaults=None):
    return models.FormulaQuery(formula=expression, defaults=DEFAULTS if defaults is None else defaults)


def ask(clients, name="c", **kwargs):
    """The answer over REST, which is that over gRPC."""
    rest, over_grpc = [client.query_points(name, **kwargs).points for client in clients]
    assert [(hit.id, np.float32(hit.score), hit.payload or None) for hit in rest] \
        == [(hit.id, np.float32(hit.score), hit.payload or None) for hit in over_grpc]
    return rest


def in_order(hits):
    assert all((a.score, -a.id) >= (b.score, -b.id) for a, b in zip(hits, hits[1:]))
    return hits


@pytest.mark.parametrize("expression", FORMULAS)
def test_scores_as_in_memory_mode(clients, filled, in_memory, expression):
    names = list(PREFETCHES)
    if expression not in ["score", "second score", "boost"]:
        first = list(FORMULAS).index(expression)
        names = [names[(first + i) % len(names)] for i in range(2)]  # not all, to save time
    for name in names:
        if name == "fusion" and expression == "second score":
            continue  # see above
        prefetch = PREFETCHES[name]
        query = formula(FORMULAS[expression])
        theirs = {hit.id: hit.score for hit in
                  in_memory.query_points("c", prefetch=prefetch, query=query, limit=N).points}
        ours = in_order(ask(clients, prefetch=prefetch, query=query, limit=N))
        assert {hit.id for hit in ours} == set(theirs)
        for hit in ours:
            assert math.isclose(hit.score, theirs[hit.id], rel_tol=1e-4, abs_tol=1e-5)


def test_limit_offset_threshold_filter_and_payload(clients, filled):
    base = {"prefetch": [DENSE, FAR], "query": formula(FORMULAS["boost"])}
    every = ask(clients, limit=N, **base)
    assert [hit.id for hit in ask(clients, limit=4, offset=3, **base)] == [hit.id for hit in every[3:7]]
    at = every[5].score
    above = ask(clients, limit=N, score_threshold=at, **base)
    assert [hit.id for hit in above] == [hit.id for hit in every if hit.score >= at], "the threshold itself is a hit"
    only = models.Filter(must=[TAG])
    filtered = ask(clients, limit=N, query_filter=only, with_payload=["tag"], **base)
    assert filtered and {hit.payload["tag"] for hit in filtered} == {"t1", "t2"}
    inner = DENSE.model_copy(update={"filter": only})
    within = ask(clients, limit=N, prefetch=inner, query=base["query"], with_payload=True)
    assert len(within) == 30 and {hit.payload["tag"] for hit in within} == {"t1", "t2"}


def test_equal_scores_are_ordered_by_id(clients, filled):
    hits = ask(clients, prefetch=DENSE, query=formula(7), limit=5)
    found = sorted(hit.id for hit in clients[0].query_points("c", query=DENSE.query, using="dense", limit=30).points)
    assert [hit.id for hit in hits] == found[:5]


def test_as_a_prefetch(clients, filled):
    inner = models.Prefetch(prefetch=DENSE, query=formula(FORMULAS["boost"]), limit=10)
    scores = {hit.id: hit.score for hit in ask(clients, prefetch=DENSE, query=inner.query, limit=10)}
    twice = ask(clients, prefetch=inner, query=formula(models.MultExpression(mult=[2, "$score"])), limit=N)
    assert {hit.id: hit.score for hit in twice} == pytest.approx({id: 2 * score for id, score in scores.items()})
    fused = ask(clients, prefetch=[inner, FAR], query=models.FusionQuery(fusion=models.Fusion.RRF), limit=N)
    assert set(scores) <= {hit.id for hit in fused}
    again = ask(clients, prefetch=inner, query=vector(2, DIM), using="far", limit=N)
    assert {hit.id for hit in again} == set(scores)


def test_batches_and_groups(clients, filled):
    query = formula(FORMULAS["boost"])
    expected = ask(clients, prefetch=[DENSE, FAR], query=query, limit=8)
    for client in clients:
        first, second = client.query_batch_points("c", requests=[
            models.QueryRequest(prefetch=[DENSE, FAR], query=query, limit=8),
            models.QueryRequest(query=DENSE.query, using="dense", limit=2)])
        assert [hit.id for hit in first.points] == [hit.id for hit in expected] and len(second.points) == 2
        twice = [one.model_copy(update={"limit": 2 * one.limit}) for one in [DENSE, FAR]]  # groups of two
        every = client.query_points("c", prefetch=twice, query=query, limit=N, with_payload=True).points
        groups = client.query_points_groups("c", group_by="tag", prefetch=[DENSE, FAR], query=query, limit=5,
                                            group_size=2).groups
        for group in groups:
            best = [hit.id for hit in every if hit.payload["tag"] == group.id][:2]
            assert [hit.id for hit in group.hits] == best
        assert len(groups) == 5 and groups[0].hits[0].id == every[0].id


def test_shards_make_no_difference_and_a_restart_neither(tmp_path):
    server = Server(tmp_path / "data", env=SMALL_SEGMENTS, grpc=True).start()
    clients = clients_of(server)
    for shards in (1, 4):
        fill(clients[0], f"s{shards}", shards=shards)

    def answers(name):
        return [[(hit.id, hit.score) for hit in ask(clients, name, prefetch=PREFETCHES["four"], query=formula(expression),
                                                    limit=N)]
                for expression in list(FORMULAS.values())[2::3]]

    one, four = answers("s1"), answers("s4")
    assert one == four
    server.stop()
    server.start()
    clients[:] = clients_of(server)
    assert answers("s4") == four
    server.stop()


NOT_FINITE = "produced a non-finite number"
WRONG_VALUE = "in the payload and/or in the formula defaults"
NO_VARIABLE = "Wrong input: Validation failed: failed to parse variable ID"


@pytest.mark.parametrize("expression,defaults,text", [
    (models.DivExpression(div=models.DivParams(left=1, right=0)), {}, f"The expression 1/0 = inf {NOT_FINITE}"),
    (models.SqrtExpression(sqrt=-3), {}, f"The expression √-3 = NaN {NOT_FINITE}"),
    (models.PowExpression(pow=models.PowParams(base=-1, exponent=0.5)), {}, f"The expression -1^0.5 = NaN {NOT_FINITE}"),
    (models.LnExpression(ln=0), {}, f"The expression ln(0) = -inf {NOT_FINITE}"),
    (models.Log10Expression(log10=-1), {}, f"The expression log10(-1) = NaN {NOT_FINITE}"),
    (models.ExpExpression(exp=1000), {}, f"The expression exp(1000) = inf {NOT_FINITE}"),
    (models.MultExpression(mult=[1e30, 1e30]), {}, f"as f32 = inf {NOT_FINITE}"),
    ("nosuch", {}, f"Wrong input: Expected number value for nosuch {WRONG_VALUE}. Error: No value found in a payload nor "
                   "defaults"),
    ("nosuch", {"nosuch": "x"}, f"Expected number value for nosuch {WRONG_VALUE}. Error: Value is not a number"),
    ("tag", {"tag": 1}, f"Expected number value for tag {WRONG_VALUE}. Error: Value is not a number"),
    (models.DatetimeKeyExpression(datetime_key="tag"), {}, f"Expected datetime value for tag {WRONG_VALUE}"),
    (models.GeoDistance(geo_distance=models.GeoDistanceParams(origin=models.GeoPoint(lon=0, lat=0), to="tag")), {},
     f"Expected geo point value for tag {WRONG_VALUE}"),
    ("$scores", {}, f"{NO_VARIABLE} $scores: Invalid reserved word: $scores"),
    ("$score[a]", {}, f"{NO_VARIABLE} $score[a]: Invalid reserved variable: $score[a]"),
    ("a[", {}, f"{NO_VARIABLE} a[: Invalid payload variable: a["),
    (models.DatetimeExpression(datetime="soon"), {}, "failed to parse date-time soon"),
    (models.ExpDecayExpression(exp_decay=models.DecayParamsExpression(x=1, midpoint=1)), {},
     "Decay midpoint should be in the range (0.0, 1.0), got 1."),
    (models.LinDecayExpression(lin_decay=models.DecayParamsExpression(x=1, midpoint=-1)), {},
     "Linear decay midpoint should be in the range [0.0, 1.0], got -1."),
    (models.LinDecayExpression(lin_decay=models.DecayParamsExpression(x=1, scale=0)), {},
     "Decay scale should be non-zero positive, got 0."),
    (1, {"$other": 1}, "Invalid reserved word: $other"),
    (1, {"$score": "x"}, "Score default must be a number"),
])
def test_errors(clients, filled, expression, defaults, text):
    rest, over_grpc = clients
    query = models.FormulaQuery(formula=expression, defaults=defaults)
    with pytest.raises(UnexpectedResponse) as refused:
        rest.query_points("c", prefetch=DENSE, query=query)
    answer = refused.value.structured()["status"]["error"]
    assert refused.value.status_code in (400, 422) and text in answer, answer
    with pytest.raises(grpc.RpcError) as failed:
        over_grpc.query_points("c", prefetch=DENSE, query=query)
    assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert text in failed.value.details()


def test_a_formula_needs_prefetches(clients, filled):
    wanted = "Wrong input: Validation failed: cannot apply Formula without prefetches"
    with pytest.raises(UnexpectedResponse, match="400") as refused:
        clients[0].query_points("c", query=formula("$score"))
    assert refused.value.structured()["status"]["error"] == wanted
    with pytest.raises(grpc.RpcError) as failed:
        clients[1].query_points("c", query=formula("$score"))
    assert failed.value.details() == wanted


def test_bodies_that_are_no_formulas(server, filled):
    def error(text):
        return server.post("/collections/c/points/query", {"prefetch": {"limit": 3}, "query": {"formula": text}})

    for text in [True, [1], {"max": [1]}, {"sum": 1}, {"div": {"left": 1}}, {"neg": {"neg": None}}]:
        answer = error(text)
        assert answer.status == 400 and "query.formula" in answer.error, answer.text
    for depth, text in [(121, "nests deeper than 120 expressions"), (300, "too deep")]:
        deep = 1
        for _ in range(depth):
            deep = {"neg": deep}
        assert text in error(deep).error
    assert server.get("/healthz").status == 200


def test_strict_mode_wants_indexes(clients):
    for client in clients[:1]:
        fill(client, "strict")
        client.update_collection("strict", strict_mode_config=models.StrictModeConfig(
            enabled=True, unindexed_filtering_retrieve=False))
    help_text = "use a different formula expression"
    for expression, key, kind in [("price", "price", "float"), (TAG, "tag", "keyword"),
                                  (FORMULAS["time"], "at", "datetime"), (FORMULAS["distance"], "place", "geo")]:
        with pytest.raises(UnexpectedResponse) as refused:
            clients[0].query_points("strict", prefetch=DENSE, query=formula(expression))
        error = refused.value.structured()["status"]["error"]
        assert f'"{key}"' in error and kind in error and help_text in error
        with pytest.raises(grpc.RpcError) as failed:
            clients[1].query_points("strict", prefetch=DENSE, query=formula(expression))
        assert help_text in failed.value.details()
        clients[0].create_payload_index("strict", key, field_schema=kind, wait=True)
        assert len(ask(clients, "strict", prefetch=DENSE, query=formula(expression), limit=5)) == 5
