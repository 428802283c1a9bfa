"""gRPC by the stock client: the answers, errors and limits of REST, and what only gRPC has."""
import gzip
import itertools
import threading

import grpc
import numpy as np
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client import grpc as messages
from qdrant_client.http.exceptions import UnexpectedResponse
from quiver_server import ANSWER_TIMEOUT_S, Server

N, DIM, SEED = 60, 8, 11
REST_CODES = {400: grpc.StatusCode.INVALID_ARGUMENT, 422: grpc.StatusCode.INVALID_ARGUMENT,
              404: grpc.StatusCode.NOT_FOUND, 409: grpc.StatusCode.ALREADY_EXISTS}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("grpc") / "data", grpc=True).start()
    yield server
    server.stop()


def connect(server, **kwargs):
    return QdrantClient(host="127.0.0.1", port=server.port, grpc_port=server.grpc_port, https=False, prefer_grpc=True,
                        check_compatibility=False, timeout=int(ANSWER_TIMEOUT_S), **kwargs)


@pytest.fixture(scope="module")
def both(server):
    """A client that speaks REST and one that speaks gRPC."""
    return server.client(), connect(server)


def payload_of(i, random):
    return {"n": i, "big": 2**53 + i, "ratio": i / 7, "city": ["Köln", "東京", ""][i % 3], "on": i % 2 == 0, "none": None,
            "tags": [f"t{i % 4}", f"t{i % 5}"], "at": f"2024-01-{i % 28 + 1:02}T00:00:00Z",
            "place": {"lon": float(random.uniform(-5, 5)), "lat": float(random.uniform(40, 50))},
            "items": [{"a": i % 3, "b": i % 2}, {"a": i % 5}], "empty": {}, "list": [], "whole": 1.0}


def points(seed=SEED):
    random = np.random.default_rng(seed)
    for i in range(N):
        vectors = {"dense": random.standard_normal(DIM).astype("f4").tolist(),
                   "words": models.SparseVector(indices=sorted(random.choice(50, 5, replace=False).tolist()),
                                                values=random.uniform(0.1, 1, 5).astype("f4").tolist()),
                   "tokens": random.standard_normal((3, 4)).astype("f4").tolist()}
        if i % 10 == 0:
            del vectors["tokens"]
        id_ = i if i % 2 else f"00000000-0000-0000-0000-{i:012}"
        yield models.PointStruct(id=id_, vector=vectors, payload=payload_of(i, random))


def create(client, name):
    client.create_collection(
        name,
        vectors_config={"dense": models.VectorParams(size=DIM, distance=models.Distance.COSINE),
                        "tokens": models.VectorParams(size=4, distance=models.Distance.DOT,
                                                      multivector_config=models.MultiVectorConfig(
                                                          comparator=models.MultiVectorComparator.MAX_SIM))},
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)})


@pytest.fixture(scope="module")
def filled(both):
    """A collection that gRPC created and filled."""
    _, client = both
    create(client, "filled")
    client.upsert("filled", list(points()), wait=True)
    for field, kind in {"n": "integer", "ratio": "float", "city": "keyword", "at": "datetime"}.items():
        client.create_payload_index("filled", field, field_schema=kind, wait=True)
    return "filled"


# What the client makes of members that a message lacks. No message can say that there is no map, and the client's
# converter takes an absent index of a sparse field for an empty one.
ABSENT = {"payload": {}, "metadata": {}, "index": {"datatype": None, "full_scan_threshold": None, "on_disk": None}}


def same(value):
    """The value with floats as 32 bits: REST prints the shortest text that reads back as the same float."""
    if isinstance(value, float):
        return ("f4", np.float32(value).tobytes())
    if isinstance(value, dict):
        return {key: same(ABSENT.get(key) if item is None else item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [same(item) for item in value]
    return value


def plain(answer):
    if isinstance(answer, (list, tuple)):
        return [plain(item) for item in answer]
    return same(answer.model_dump()) if hasattr(answer, "model_dump") else same(answer)


def vector(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4").tolist()


def match(key, value):
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


SPARSE = models.SparseVector(indices=[3, 1, 40, 7], values=[0.5, 0.25, 1.0, 2.0])
PAIR = models.ContextPair(positive=1, negative=3)
FILTERS = [
    models.Filter(must=[match("city", "東京")]),
    models.Filter(must_not=[match("on", True)], should=[match("n", 5), match("n", 7)]),
    models.Filter(must=[models.FieldCondition(key="n", range=models.Range(gt=3, lte=20.5))]),
    models.Filter(must=[models.FieldCondition(key="at", range=models.DatetimeRange(gte="2024-01-05T00:00:00Z"))]),
    models.Filter(must=[models.FieldCondition(key="tags", match=models.MatchAny(any=["t1", "t3"]))]),
    models.Filter(must=[models.FieldCondition(key="n", match=models.MatchExcept(**{"except": [1, 2, 3]}))]),
    models.Filter(must=[models.FieldCondition(key="tags", values_count=models.ValuesCount(gte=2))]),
    models.Filter(must=[models.FieldCondition(key="city", match=models.MatchText(text="Kö"))]),
    models.Filter(must=[models.FieldCondition(key="place", geo_radius=models.GeoRadius(
        center=models.GeoPoint(lon=0, lat=45), radius=300000))]),
    models.Filter(must=[models.FieldCondition(key="place", geo_bounding_box=models.GeoBoundingBox(
        top_left=models.GeoPoint(lon=-3, lat=48), bottom_right=models.GeoPoint(lon=3, lat=42)))]),
    models.Filter(must=[models.FieldCondition(key="place", geo_polygon=models.GeoPolygon(
        exterior=models.GeoLineString(points=[models.GeoPoint(lon=x, lat=y)
                                              for x, y in [(-4, 41), (4, 41), (0, 49), (-4, 41)]])))]),
    models.Filter(must=[models.NestedCondition(nested=models.Nested(
        key="items", filter=models.Filter(must=[match("a", 1), match("b", 1)])))]),
    models.Filter(must=[models.HasIdCondition(has_id=[1, 3, "00000000-0000-0000-0000-000000000004"])]),
    models.Filter(must=[models.HasVectorCondition(has_vector="tokens")]),
    models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="list"))]),
    models.Filter(must=[models.IsNullCondition(is_null=models.PayloadField(key="none"))]),
    models.Filter(min_should=models.MinShould(conditions=[match("n", 1), match("on", False), match("city", "")],
                                              min_count=2)),
    models.Filter(must=[models.Filter(should=[match("n", 9), match("n", 11)])]),
]
ALL = dict(with_payload=True, with_vectors=True)
QUERIES = [
    dict(query=vector(1, DIM), using="dense", limit=7, **ALL),
    dict(query=vector(2, DIM), using="dense", limit=5, offset=3, score_threshold=0.1, with_payload=["city", "items"]),
    dict(query=vector(3, 2, 4), using="tokens", with_vectors=["tokens"]),
    dict(query=SPARSE, using="words", with_payload=models.PayloadSelectorExclude(exclude=["tags", "place"])),
    dict(query=1, using="dense", limit=4),
    dict(query="00000000-0000-0000-0000-000000000004", using="words"),
    dict(query=models.OrderByQuery(order_by=models.OrderBy(key="ratio", direction=models.Direction.DESC)), **ALL),
    dict(query=models.OrderByQuery(order_by=models.OrderBy(key="n", start_from=12)), limit=3),
    dict(query=models.OrderByQuery(order_by=models.OrderBy(key="at", start_from="2024-01-20T00:00:00Z"))),
    dict(query=models.NearestQuery(nearest=vector(4, DIM), mmr=models.Mmr(diversity=0.4, candidates_limit=20)),
         using="dense", limit=6),
    dict(prefetch=[models.Prefetch(query=vector(5, DIM), using="dense", limit=20, filter=FILTERS[2]),
                   models.Prefetch(query=SPARSE, using="words", limit=20, score_threshold=0.2)],
         query=models.FusionQuery(fusion=models.Fusion.RRF), **ALL),
    dict(prefetch=[models.Prefetch(query=vector(6, DIM), using="dense"), models.Prefetch(query=SPARSE, using="words")],
         query=models.RrfQuery(rrf=models.Rrf(k=5, weights=[2.0, 0.5]))),
    dict(prefetch=[models.Prefetch(query=vector(7, DIM), using="dense"), models.Prefetch(query=SPARSE, using="words")],
         query=models.FusionQuery(fusion=models.Fusion.DBSF)),
    dict(prefetch=models.Prefetch(prefetch=[models.Prefetch(query=SPARSE, using="words", limit=30)],
                                  query=vector(8, DIM), using="dense", limit=12),
         query=vector(9, 3, 4), using="tokens"),
    dict(query=models.RecommendQuery(recommend=models.RecommendInput(
        positive=[1, vector(10, DIM)], negative=[5], strategy=models.RecommendStrategy.BEST_SCORE)), using="dense"),
    dict(query=models.RecommendQuery(recommend=models.RecommendInput(positive=[1, 7])), using="dense"),
    dict(query=models.DiscoverQuery(discover=models.DiscoverInput(target=9, context=[PAIR])), using="dense"),
    dict(query=models.ContextQuery(context=[PAIR, models.ContextPair(positive=5, negative=9)]), using="dense"),
    dict(query=vector(12, DIM), using="dense", search_params=models.SearchParams(exact=True, hnsw_ef=64), limit=3),
    dict(query=vector(13, DIM), using="dense", search_params=models.SearchParams(
        quantization=models.QuantizationSearchParams(ignore=True, rescore=True, oversampling=2.0))),
    dict(),
]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_queries_give_the_same(both, filled, number):
    rest, rpc = (plain(client.query_points(filled, **QUERIES[number])) for client in both)
    assert rest["points"] and rest == rpc


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_give_the_same(both, filled, number):
    chosen = FILTERS[number]
    for call in [lambda c: c.count(filled, count_filter=chosen), lambda c: c.scroll(filled, chosen, limit=100, **ALL),
                 lambda c: c.query_points(filled, vector(20, DIM), using="dense", query_filter=chosen, limit=50)]:
        rest, rpc = (plain(call(client)) for client in both)
        assert rest == rpc
    assert 0 < both[0].count(filled, count_filter=chosen).count <= N


def test_other_reads_give_the_same(both, filled):
    batch = [models.QueryRequest(query=vector(30 + i, DIM), using="dense", limit=i + 1, with_payload=True) for i in range(4)]
    calls = [lambda c: c.query_batch_points(filled, batch), lambda c: c.count(filled),
             lambda c: c.retrieve(filled, [3, 1, 777, "00000000-0000-0000-0000-000000000010"], **ALL),
             lambda c: c.retrieve(filled, [3], with_payload=False), lambda c: c.scroll(filled, limit=7, **ALL),
             lambda c: c.scroll(filled, limit=7, offset=9), lambda c: c.scroll(filled, order_by="n", limit=5),
             lambda c: c.get_collection(filled), lambda c: sorted(x.name for x in c.get_collections().collections),
             lambda c: c.collection_exists(filled), lambda c: c.collection_exists("none")]
    for call in calls:
        rest, rpc = (plain(call(client)) for client in both)
        assert rest == rpc


GROUPS = dict(group_by="city", using="dense", limit=3, group_size=2)


def test_groups_facets_and_matrices_give_the_same(both, filled):
    recommend = models.RecommendQuery(recommend=models.RecommendInput(positive=[1]))
    calls = [lambda c: c.query_points_groups(filled, query=vector(40, DIM), **GROUPS, **ALL),
             lambda c: c.query_points_groups(filled, query=vector(41, DIM), group_by="n", using="dense"),
             lambda c: c.query_points_groups(filled, query=recommend, **GROUPS),
             lambda c: c.query_points_groups(filled, query=vector(42, DIM), group_by="n", using="dense",
                                             with_lookup=models.WithLookup(collection=filled, with_payload=["city"])),
             lambda c: c.facet(filled, "city"), lambda c: c.facet(filled, "n", limit=4, facet_filter=FILTERS[2]),
             lambda c: c.search_matrix_pairs(filled, sample=N, limit=2, using="dense"),
             lambda c: c.search_matrix_offsets(filled, sample=N, limit=2, using="dense")]
    for call in calls:
        rest, rpc = (plain(call(client)) for client in both)
        assert any(rest.values()) and rest == rpc


def test_sample_draws_points(both, filled):
    drawn = both[1].query_points(filled, query=models.SampleQuery(sample=models.Sample.RANDOM), limit=5).points
    assert len({point.id for point in drawn}) == 5


def test_changes_leave_the_same_as_by_rest(both, server):
    """The same changes by REST to one collection and by gRPC to another."""
    names = ["by_rest", "by_grpc"]
    for client, name in zip(both, names):
        create(client, name)
        client.upsert(name, list(points()), wait=True)
        client.set_payload(name, {"new": {"a": [1, 2.5, None, "x"]}}, points=[1, 3], wait=True)
        client.set_payload(name, {"deep": 1}, points=models.Filter(must=[match("n", 5)]), key="empty", wait=True)
        client.overwrite_payload(name, {"only": "this"}, points=[7], wait=True)
        client.delete_payload(name, ["tags", "items[].a"], points=[9, 11], wait=True)
        client.clear_payload(name, points_selector=[13], wait=True)
        client.update_vectors(name, [models.PointVectors(id=15, vector={"dense": vector(50, DIM)})], wait=True)
        client.delete_vectors(name, ["tokens"], points=[17], wait=True)
        client.delete(name, points_selector=models.Filter(must=[match("city", "東京")]), wait=True)
        client.batch_update_points(name, [
            models.UpsertOperation(upsert=models.PointsList(points=[models.PointStruct(id=900, vector={}, payload={"z": 1})])),
            models.SetPayloadOperation(set_payload=models.SetPayload(payload={"y": True}, points=[900])),
            models.DeleteOperation(delete=models.PointIdsList(points=[21]))], wait=True)
        client.upsert(name, [models.PointStruct(id=19, vector={"dense": vector(51, DIM)})],
                      update_filter=models.Filter(must=[match("n", 4711)]), wait=True)
    rest, rpc = (plain(client.scroll(name, limit=1000, **ALL)[0]) for client, name in zip(both, names))
    assert len(rest) > 20 and rest == rpc


def test_collections_are_configured_as_by_rest(both):
    config = dict(
        vectors_config=models.VectorParams(size=4, distance=models.Distance.EUCLID, datatype=models.Datatype.FLOAT16,
                                           hnsw_config=models.HnswConfigDiff(m=20)),
        sparse_vectors_config={"s": models.SparseVectorParams(index=models.SparseIndexParams(full_scan_threshold=7))},
        hnsw_config=models.HnswConfigDiff(ef_construct=77), shard_number=2, on_disk_payload=True,
        optimizers_config=models.OptimizersConfigDiff(indexing_threshold=5000, max_optimization_threads=1),
        quantization_config=models.ScalarQuantization(scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=0.9, always_ram=True)),
        strict_mode_config=models.StrictModeConfig(enabled=False, max_query_limit=1000),
        metadata={"owner": "me", "nested": {"x": [1, 2.5]}})
    patch = dict(hnsw_config=models.HnswConfigDiff(m=24), optimizers_config=models.OptimizersConfigDiff(indexing_threshold=1),
                 vectors_config={"": models.VectorParamsDiff(on_disk=True)}, metadata={"more": 1},
                 quantization_config=models.Disabled.DISABLED)
    index = models.TextIndexParams(type="text", tokenizer=models.TokenizerType.WORD, min_token_len=2, lowercase=True)
    seen = []
    for client, name in zip(both, ["made_by_rest", "made_by_grpc"]):
        client.create_collection(name, **config)
        created = plain(both[0].get_collection(name).config)
        client.create_payload_index(name, "text", index, wait=True)
        client.create_payload_index(name, "key", models.KeywordIndexParams(type="keyword", is_tenant=True), wait=True)
        client.create_payload_index(name, "gone", "bool", wait=True)
        client.delete_payload_index(name, "gone", wait=True)
        client.update_collection(name, **patch)
        info = both[0].get_collection(name)
        seen.append((created, plain(info.config), plain(info.payload_schema)))
        assert plain(info.config) == plain(both[1].get_collection(name).config)
        assert plain(info.payload_schema) == plain(both[1].get_collection(name).payload_schema)
    assert seen[0] == seen[1]


def test_vector_fields_come_and_go(both):
    _, client = both
    create(client, "changing")
    more = models.DenseVectorNameConfig(dense=models.DenseVectorConfig(size=3, distance=models.Distance.DOT))
    client.create_vector_name("changing", "more", more)
    assert both[0].get_collection("changing").config.params.vectors["more"].size == 3
    client.upsert("changing", [models.PointStruct(id=1, vector={"more": [1, 2, 3]})], wait=True)
    assert client.query_points("changing", [0, 0, 1], using="more").points[0].score == 3
    client.delete_vector_name("changing", "more")
    assert "more" not in both[0].get_collection("changing").config.params.vectors


def test_aliases(both):
    _, client = both
    create(client, "aliased")
    create_alias = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name="aliased", alias_name="a1"))
    assert client.update_collection_aliases([create_alias])
    rename = models.RenameAliasOperation(rename_alias=models.RenameAlias(old_alias_name="a1", new_alias_name="a2"))
    assert client.update_collection_aliases([rename])
    assert [a.alias_name for a in client.get_collection_aliases("aliased").aliases] == ["a2"]
    assert plain(client.get_aliases()) == plain(both[0].get_aliases())
    assert client.count("a2").count == 0
    client.update_collection_aliases([models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name="a2"))])
    assert client.get_aliases().aliases == []
    assert client.delete_collection("aliased") and not client.delete_collection("aliased")


def test_snapshots(both, filled):
    _, client = both
    made = client.create_snapshot(filled, wait=True)
    assert [snapshot.name for snapshot in client.list_snapshots(filled)] == [made.name]
    assert [snapshot.size for snapshot in both[0].list_snapshots(filled)] == [made.size]
    client.delete_snapshot(filled, made.name, wait=True)
    assert client.list_snapshots(filled) == []
    with pytest.raises(grpc.RpcError) as missing:
        client.delete_snapshot(filled, made.name, wait=True)
    assert missing.value.code() == grpc.StatusCode.NOT_FOUND


ERRORS = [
    lambda c: c.get_collection("none"),
    lambda c: c.create_collection("filled", models.VectorParams(size=4, distance=models.Distance.DOT)),
    lambda c: c.create_collection("a/b", models.VectorParams(size=4, distance=models.Distance.DOT)) if rpc_of(c) else None,
    lambda c: c.create_collection("zero", models.VectorParams(size=0, distance=models.Distance.DOT)),
    lambda c: c.query_points("filled", vector(1, DIM), using="other"),
    lambda c: c.query_points("filled", vector(1, DIM - 1), using="dense"),
    lambda c: c.query_points("filled", 12345, using="dense"),
    lambda c: c.query_points("filled", vector(1, DIM), using="dense", limit=0),
    lambda c: c.query_points("filled", models.FusionQuery(fusion=models.Fusion.RRF), using="dense",
                             prefetch=[models.Prefetch(query=vector(1, DIM), using="dense")]),
    lambda c: c.query_points("filled", prefetch=[models.Prefetch(query=vector(1, DIM), using="dense")]),
    lambda c: c.query_points("filled", score_threshold=0.5),
    lambda c: c.query_points("filled", models.SparseVector(indices=[1, 1], values=[1, 2]), using="words"),
    lambda c: c.query_points("filled", models.SparseVector(indices=[1, 2], values=[1]), using="words"),
    lambda c: c.query_points("filled", vector(1, DIM), using="dense", search_params=models.SearchParams(hnsw_ef=0)),
    lambda c: c.query_points("filled", models.OrderByQuery(order_by="unknown")),
    lambda c: c.upsert("filled", [models.PointStruct(id=1, vector={"dense": []})]),
    lambda c: c.upsert("filled", [models.PointStruct(id=1, vector={"none": [1.0]})]),
    lambda c: c.upsert("filled", [models.PointStruct(id="no id", vector={})]),
    lambda c: c.scroll("filled", limit=0),
    lambda c: c.set_payload("filled", {"a": 1}, points=[1], key="a[["),
    lambda c: c.set_payload("filled", {"a": 1}, points=[4711], wait=True),
    lambda c: c.count("filled", count_filter=models.Filter(must=[match("a[[", 1)])),
    lambda c: c.create_payload_index("filled", "a[[", "keyword"),
    lambda c: c.facet("filled", "unknown"),
    lambda c: c.query_points_groups("filled", query=vector(1, DIM), using="dense", group_by="a[["),
    lambda c: c.query_points_groups("filled", query=vector(1, DIM), using="dense", group_by="city", limit=0),
    lambda c: c.search_matrix_pairs("filled", sample=1, using="dense"),
    lambda c: c.query_points("filled", models.RecommendQuery(recommend=models.RecommendInput()), using="dense"),
]


def rpc_of(client):
    return client._client._prefer_grpc


def failure(client, call):
    with pytest.raises((grpc.RpcError, UnexpectedResponse)) as raised:
        call(client)
    error = raised.value
    if isinstance(error, grpc.RpcError):
        return error.code(), error.details()
    text = error.structured()["status"]["error"].replace("in JSON body", "in body")
    # REST names inner parts of a request that messages do not have.
    for inner in ["internal.", "search_group_request.", "search_request.", "group_request."]:
        text = text.replace(inner, "")
    return REST_CODES[error.status_code], text


@pytest.mark.parametrize("number", [i for i in range(len(ERRORS)) if i != 2])
def test_errors_have_the_same_text(both, filled, number):
    rest, rpc = (failure(client, ERRORS[number]) for client in both)
    assert rest == rpc


def test_a_bad_name_is_refused(both):
    code, text = failure(both[1], ERRORS[2])
    assert code == grpc.StatusCode.INVALID_ARGUMENT and "collection_name" in text and '"/"' in text


def channel(server):
    return grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")


def test_health(server):
    with channel(server) as open_channel:
        check = open_channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"") == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as unknown:
            check(b"\x0a\x04none")
        assert unknown.value.code() == grpc.StatusCode.NOT_FOUND
        version = messages.QdrantStub(open_channel).HealthCheck(messages.HealthCheckRequest())
        assert (version.title, version.version) == (server.get("/").json["title"], server.get("/").json["version"])


def test_what_is_not_built_says_so(server, filled):
    with channel(server) as open_channel:
        keys = messages.CollectionsStub(open_channel).ListShardKeys(messages.ListShardKeysRequest(collection_name=filled))
        assert not keys.shard_keys
        with pytest.raises(grpc.RpcError) as unknown:
            open_channel.unary_unary("/qdrant.Points/Nonsense")(b"")
        assert unknown.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_bytes_that_are_no_message_are_refused(server):
    with channel(server) as open_channel:
        for bad in [b"\xff\xff\xff", b"\x0a\x02\xc3\x28", b"\x1f\x8bnot gzip"]:
            with pytest.raises(grpc.RpcError) as refused:
                open_channel.unary_unary("/qdrant.Points/Upsert")(bad)
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_the_forms_of_old_clients(both, server):
    """Flat vectors, deprecated operations, and the older search."""
    both[1].create_collection("old", models.VectorParams(size=3, distance=models.Distance.DOT),
                              sparse_vectors_config={"s": models.SparseVectorParams()})
    with channel(server) as open_channel:
        stub = messages.PointsStub(open_channel)
        flat = messages.Vectors(vectors=messages.NamedVectors(vectors={
            "": messages.Vector(data=[1, 2, 3]),
            "s": messages.Vector(data=[0.5, 1], indices=messages.SparseIndices(data=[9, 2]))}))
        point = messages.PointStruct(id=messages.PointId(num=1), vectors=flat)
        other = messages.PointStruct(id=messages.PointId(num=2), vectors=messages.Vectors(vector=messages.Vector(data=[3, 2, 1])))
        done = stub.Upsert(messages.UpsertPoints(collection_name="old", points=[point, other], wait=True))
        assert done.result.status == messages.UpdateStatus.Completed and done.time > 0
        search = messages.SearchPoints(collection_name="old", vector=[0, 0, 1], limit=2)
        assert [hit.id.num for hit in stub.Search(search).result] == [1, 2]
        sparse = messages.SearchPoints(collection_name="old", vector=[1.0], limit=1, vector_name="s",
                                       sparse_indices=messages.SparseIndices(data=[9]))
        batch = stub.SearchBatch(messages.SearchBatchPoints(collection_name="old", search_points=[search, sparse]))
        assert [[hit.score for hit in one.result] for one in batch.result] == [[3, 1], [0.5]]
        recommend = messages.RecommendPoints(collection_name="old", positive=[messages.PointId(num=1)], limit=5)
        assert [hit.id.num for hit in stub.Recommend(recommend).result] == [2]
        with pytest.raises(grpc.RpcError) as refused:
            stub.Search(messages.SearchPoints(collection_name="old", vector=[0, 0, 1]))
        assert "limit: value 0 invalid" in refused.value.details()
        remove = messages.PointsUpdateOperation(delete_deprecated=messages.PointsSelector(
            points=messages.PointsIdsList(ids=[messages.PointId(num=1)])))
        stub.UpdateBatch(messages.UpdateBatchPoints(collection_name="old", operations=[remove], wait=True))
        assert stub.Count(messages.CountPoints(collection_name="old")).result.count == 1


def test_numbers_beyond_uint8_are_clamped(both):
    """Also fractions go, as in Qdrant. Queries keep theirs."""
    field = {"size": 4, "distance": models.Distance.DOT, "datatype": models.Datatype.UINT8}
    for name, client in zip(("bytes_rest", "bytes_grpc"), both, strict=True):
        client.create_collection(name, vectors_config={
            "one": models.VectorParams(**field),
            "many": models.VectorParams(**field, multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM))})
        client.upsert(name, [models.PointStruct(id=1, vector={"one": [256.19, 1.81, -3.5, 255.9], "many": [[300, 0.9, -0.1, 7]]})])
        assert client.retrieve(name, [1], with_vectors=True)[0].vector == {"one": [255, 1, 0, 255], "many": [[255, 0, 0, 7]]}
        client.update_vectors(name, [models.PointVectors(id=1, vector={"one": [-1, 2.99, 3, 1e30]})])
        assert client.retrieve(name, [1], with_vectors=["one"])[0].vector == {"one": [0, 2, 3, 255]}
        assert client.query_points(name, query=[-1, 0.5, 0.25, 0], using="one").points[0].score == 1.75


def test_numbers_that_json_lacks_are_refused(server, filled):
    with channel(server) as open_channel:
        stub = messages.PointsStub(open_channel)
        nan = messages.PointStruct(id=messages.PointId(num=1), payload={"x": messages.Value(double_value=float("nan"))})
        infinite = messages.PointStruct(id=messages.PointId(num=1), vectors=messages.Vectors(
            vectors=messages.NamedVectors(vectors={"dense": messages.Vector(dense=messages.DenseVector(data=[float("inf")] * DIM))})))
        for point in [nan, infinite]:
            with pytest.raises(grpc.RpcError) as refused:
                stub.Upsert(messages.UpsertPoints(collection_name=filled, points=[point]))
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_deadlines_and_cancelled_calls(server, filled):
    with channel(server) as open_channel:
        stub = messages.PointsStub(open_channel)
        query = messages.QueryPoints(collection_name=filled, using="dense", query=messages.Query(
            nearest=messages.VectorInput(dense=messages.DenseVector(data=vector(1, DIM)))))
        many = messages.QueryBatchPoints(collection_name=filled, query_points=[query] * 2000)  # takes far more than 1 ms
        with pytest.raises(grpc.RpcError) as late:
            stub.QueryBatch(many, timeout=1e-3)
        assert late.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        with pytest.raises(grpc.RpcError) as zero:
            stub.Count(messages.CountPoints(collection_name=filled, timeout=0))
        assert "timeout: value 0 invalid" in zero.value.details()
        for _ in range(50):
            stub.Query.future(query).cancel()
        assert len(stub.Query(query).result) == 10


def test_many_calls_at_once(both, filled):
    wanted = plain(both[1].query_points(filled, **QUERIES[0]))
    wrong = []

    def ask():
        for _ in range(30):
            if plain(both[1].query_points(filled, **QUERIES[0])) != wanted:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_gzip(server, filled, both):
    client = connect(server, grpc_compression=grpc.Compression.Gzip)
    answer = client.scroll(filled, limit=100, **ALL)
    assert plain(answer) == plain(both[1].scroll(filled, limit=100, **ALL))
    assert plain(client.query_points(filled, **QUERIES[0])) == plain(both[1].query_points(filled, **QUERIES[0]))
    big = messages.UpsertPoints(collection_name="filled", points=[messages.PointStruct(
        id=messages.PointId(num=1), payload={"x": messages.Value(string_value="a" * (40 << 20))})]).SerializeToString()
    assert len(gzip.compress(big)) < 1 << 20
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", compression=grpc.Compression.Gzip) as open_channel:
        with pytest.raises(grpc.RpcError) as refused:
            open_channel.unary_unary("/qdrant.Points/Upsert")(big)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_messages_have_a_limit(server):
    with channel(server) as open_channel:
        with pytest.raises(grpc.RpcError) as refused:
            open_channel.unary_unary("/qdrant.Points/Upsert")(b"\0" * ((32 << 20) + 1))
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_answers_are_counted(server, filled, both):
    labels = dict(endpoint="/qdrant.Points/Count", status="0")
    before = server.metric("grpc_responses_total", **labels)
    both[1].count(filled)
    assert server.metric("grpc_responses_total", **labels) == before + 1
    assert server.metric("grpc_responses_duration_seconds_count", endpoint="/qdrant.Points/Count") >= before + 1


def test_keys(new_server):
    server = new_server(grpc=True, env={"QUIVER__SERVICE__API_KEY": "all", "QUIVER__SERVICE__READ_ONLY_API_KEY": "read"})
    server.start()
    with channel(server) as open_channel:
        listing = messages.CollectionsStub(open_channel).List
        deletion = messages.CollectionsStub(open_channel).Delete
        request, change = messages.ListCollectionsRequest(), messages.DeleteCollection(collection_name="c")
        for metadata in [(), (("api-key", "wrong"),), (("authorization", "Bearer wrong"),)]:
            with pytest.raises(grpc.RpcError) as unknown:
                listing(request, metadata=metadata)
            assert unknown.value.code() == grpc.StatusCode.UNAUTHENTICATED
        for metadata in itertools.product(["api-key"], ["all", "read"]):
            listing(request, metadata=[metadata])
        listing(request, metadata=[("authorization", "Bearer all")])
        with pytest.raises(grpc.RpcError) as denied:
            deletion(change, metadata=[("api-key", "read")])
        assert denied.value.code() == grpc.StatusCode.PERMISSION_DENIED
        assert not deletion(change, metadata=[("api-key", "all")]).result
        messages.QdrantStub(open_channel).HealthCheck(messages.HealthCheckRequest())
    server.stop()


def test_points_survive_a_restart(new_server):
    server = new_server(grpc=True)
    client = connect(server.start())
    create(client, "kept")
    client.upsert("kept", list(points()), wait=False)
    server.kill9()
    client = connect(server.start())
    assert client.count("kept").count == N
    server.stop()


def test_a_port_in_use_stops_the_start(server, new_server):
    second = new_server(grpc=True)
    second.env["QUIVER__GRPC__PORT"] = str(server.grpc_port)
    second.start(wait=False)
    assert second.process.wait(ANSWER_TIMEOUT_S) != 0
    assert "cannot listen" in second.log_tail()


def test_reflection_is_asked_for(server, new_server):
    name = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    with channel(server) as open_channel, pytest.raises(grpc.RpcError) as refused:
        list(open_channel.stream_stream(name)(iter([b"\x3a\x00"])))
    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
    exploring = new_server(grpc=True, env={"QUIVER__GRPC__REFLECTION": "true"}).start()
    with channel(exploring) as open_channel:
        services, file, unknown = open_channel.stream_stream(name)(iter([b"\x3a\x00", b"\x22\x0dqdrant.Points", b"\x22\x01x"]))
        assert b"qdrant.Points" in services and b"SearchMatrixPairs" in file and b"there is no `x`" in unknown
    exploring.stop()


def test_telemetry_counts_answers_by_method_and_status(server, both):
    _, client = both
    name = "counted"
    before = server.get("/telemetry").result["requests"]["grpc"]["responses"].get("/qdrant.Points/Count", {})
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    for _ in range(3):
        client.count(name)
    with pytest.raises(grpc.RpcError):
        client.count("missing")
    after = server.get("/telemetry?details_level=3").result["requests"]["grpc"]["responses"]["/qdrant.Points/Count"]
    assert after["0"]["count"] == before.get("0", {"count": 0})["count"] + 3 and after["0"]["min_duration_micros"] > 0
    assert after["5"]["count"] == before.get("5", {"count": 0})["count"] + 1
