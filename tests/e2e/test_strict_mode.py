"""Strict mode through the stock client: limits are enforced, survive a restart, and say what would help."""
import grpc
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import UnexpectedResponse
from quiver_server import ANSWER_TIMEOUT_S

VECTORS = models.VectorParams(size=2, distance=models.Distance.DOT)
BERLIN = models.Filter(must=[models.FieldCondition(key="city", match=models.MatchValue(value="Berlin"))])


def point(number):
    return models.PointStruct(id=number, vector=[number, 1], payload={"city": "Berlin"})


def create(server, name, **limits):
    client = server.client()
    client.create_collection(name, vectors_config=VECTORS, strict_mode_config=models.StrictModeConfig(enabled=True, **limits))
    return client


def set_strict_mode(client, name, **limits):
    client.update_collection(name, strict_mode_config=models.StrictModeConfig(**limits))


def refusal(status, call):
    with pytest.raises(UnexpectedResponse) as caught:
        call()
    assert caught.value.status_code == status
    return caught.value.content.decode()


def test_a_limit_is_enforced_changed_and_lifted(server, name):
    client = create(server, name, max_query_limit=3)
    client.upsert(name, [point(i) for i in range(5)])
    assert len(client.query_points(name, query=[1, 1], limit=3).points) == 3
    text = refusal(400, lambda: client.query_points(name, query=[1, 1], limit=4))
    assert r'Bad request: Limit exceeded 4 > 3 for \"limit\". Help: Reduce the \"limit\" parameter to or below 3.' in text
    refusal(400, lambda: client.scroll(name, limit=4))
    set_strict_mode(client, name, max_query_limit=4)
    assert len(client.query_points(name, query=[1, 1], limit=4).points) == 4
    set_strict_mode(client, name, enabled=False)
    assert len(client.query_points(name, query=[1, 1], limit=5).points) == 5
    kept = client.get_collection(name).config.strict_mode_config
    assert kept.enabled is False and kept.max_query_limit == 4


def test_limits_survive_a_restart(new_server, name):
    server = new_server().start()
    create(server, name, max_query_limit=3, unindexed_filtering_retrieve=False)
    for stop in (server.stop, server.kill9):
        stop()
        client = server.start().client()
        assert "Limit exceeded 4 > 3" in refusal(400, lambda: client.query_points(name, query=[1, 1], limit=4))
        assert "Index required but not found" in refusal(400, lambda: client.count(name, count_filter=BERLIN))


def test_aliases_share_their_collections_limits(server, name):
    client = create(server, name, read_rate_limit=2)
    alias = name + "-alias"
    client.update_collection_aliases([models.CreateAliasOperation(
        create_alias=models.CreateAlias(collection_name=name, alias_name=alias))])
    client.scroll(name)
    client.scroll(alias)
    with pytest.raises(ResourceExhaustedResponse):
        client.scroll(alias)


def test_filters_need_indexes(server, name):
    client = create(server, name, unindexed_filtering_retrieve=False, unindexed_filtering_update=False)
    client.upsert(name, [point(1), point(2)])
    reads = [lambda: client.query_points(name, query=[1, 1], query_filter=BERLIN),
             lambda: client.query_points(name, prefetch=models.Prefetch(query=[1, 1], filter=BERLIN), query=[1, 1]),
             lambda: client.query_batch_points(name, [models.QueryRequest(query=[1, 1], filter=BERLIN)]),
             lambda: client.scroll(name, scroll_filter=BERLIN),
             lambda: client.count(name, count_filter=BERLIN)]
    changes = [lambda: client.set_payload(name, {"a": 1}, points=BERLIN),
               lambda: client.delete(name, points_selector=BERLIN)]
    for call in reads + changes:
        assert r'Index required but not found for \"city\" of one of the following types: [keyword]' in refusal(400, call)
    assert client.count(name).count == 2, "a refused change changes nothing"
    client.create_payload_index(name, "city", models.PayloadSchemaType.KEYWORD)
    for call in reads + changes:
        call()
    assert client.count(name).count == 0


def test_rates_tell_the_client_when_to_come_back(server, name):
    client = create(server, name, read_rate_limit=60, write_rate_limit=3)
    client.upsert(name, [point(i) for i in range(3)])
    with pytest.raises(ResourceExhaustedResponse) as early:
        client.upsert(name, [point(4)])
    assert 1 <= early.value.retry_after_s <= 20
    assert "larger than rate limiter capacity" in refusal(429, lambda: client.upsert(name, [point(i) for i in range(4)]))
    for _ in range(200):
        answer = server.post(f"/collections/{name}/points/count", {})
        if answer.status == 429:
            break
    assert answer.error.startswith("Rate limiting exceeded: Read rate limit exceeded: Operation requires 1 tokens")
    assert 1 <= int(answer.headers["retry-after"]) <= 2


def test_a_batch_is_refused_whole(server, name):
    client = create(server, name, upsert_max_batchsize=2)
    operations = [models.UpsertOperation(upsert=models.PointsList(points=[point(1)])),
                  models.UpsertOperation(upsert=models.PointsList(points=[point(i) for i in range(3)]))]
    assert r'Limit exceeded 3 > 2 for \"upsert limit\"' in refusal(400, lambda: client.batch_update_points(name, operations))
    assert client.count(name).count == 0


def test_sizes_of_collections(server, name):
    client = create(server, name, max_points_count=3)
    client.upsert(name, [point(1), point(2)])
    client.upsert(name, [point(3), point(4)])
    assert "Max points count limit of 3 reached!" in refusal(400, lambda: client.upsert(name, [point(5)]))
    client.delete(name, points_selector=[3, 4])
    client.upsert(name, [point(5)])
    set_strict_mode(client, name, max_points_count=1000, max_collection_vector_size_bytes=3 * 2 * 4)
    assert "Max vector storage size limit of " in refusal(400, lambda: client.upsert(name, [point(6)]))
    set_strict_mode(client, name, max_collection_vector_size_bytes=1000, max_collection_payload_size_bytes=20)
    assert "Max payload storage size limit of " in refusal(400, lambda: client.set_payload(name, {"a": 1}, points=[1]))
    client.clear_payload(name, points_selector=[1])


def test_settings_of_a_wrong_type_are_refused(server, name):
    client = server.client()
    client.create_collection(name, vectors_config=VECTORS)
    for config in ({"multivector_config": {"v": 3}}, {"multivector_config": {"v": {"max_vectors": "many"}}},
                   {"sparse_config": {"v": {"max_length": -1}}}, {"enabled": "yes"}, {"max_query_limit": 0}):
        answer = server.patch(f"/collections/{name}", {"strict_mode_config": config})
        assert answer.status in (400, 422) and "strict_mode_config" in answer.error, answer.text
    assert client.get_collection(name).config.strict_mode_config is None


def test_defaults_of_new_collections(new_server, name):
    server = new_server(args=["--set", 'storage.strict_mode={"enabled": true, "max_query_limit": 3}']).start()
    client = server.client()
    client.create_collection(name, vectors_config=VECTORS)
    refusal(400, lambda: client.scroll(name, limit=4))
    own = name + "-own"
    client.create_collection(own, vectors_config=VECTORS, strict_mode_config=models.StrictModeConfig(max_query_limit=5))
    client.scroll(own, limit=5)
    refusal(400, lambda: client.scroll(own, limit=6))


def test_a_server_alone_has_no_cluster(server, name):
    client = create(server, name)
    client.upsert(name, [point(1)])
    shards = server.get(f"/collections/{name}/cluster").result
    assert shards["shard_count"] == 1 and shards["local_shards"] == [{"shard_id": 0, "points_count": 1, "state": "Active"}]
    assert server.get(f"/collections/{name}/shards").result == {"shard_keys": []}
    for answer in (server.post("/cluster/recover", {}), server.delete("/cluster/peer/1"), server.get("/cluster/metadata/keys"),
                   server.post(f"/collections/{name}/cluster", {})):
        assert answer.status == 405 and "standalone mode" in answer.error
    assert server.get("/collections/missing/cluster").status == 404
    assert server.put("/collections/missing/shards", {"shard_key": "a"}).status == 404


def test_answers_are_counted_by_collection(server, name):
    client = create(server, name)
    for _ in range(3):
        client.scroll(name)
    server.get(f"/collections/{name}-missing")
    text = server.get("/metrics?per_collection=true").text
    line = f'rest_responses_total{{method="POST",endpoint="/collections/{{collection_name}}/points/scroll",status="200",collection="{name}"}} 3'
    assert line in text.splitlines() and "-missing" not in text and "app_info" in text
    assert text.count("# TYPE rest_responses_total") == 1
    assert "collection=" not in "".join(x for x in server.get("/metrics").text.splitlines() if "rest_responses" in x)
    by_collection = server.get("/telemetry?per_collection=true").result["requests"]["rest"]["per_collection_responses"]
    assert by_collection[name]["POST /collections/{collection_name}/points/scroll"]["200"]["count"] == 3
    client.delete_collection(name)
    assert name not in server.get("/telemetry?per_collection=true").result["requests"]["rest"]["per_collection_responses"]
    assert "per_collection_responses" not in server.get("/telemetry").result["requests"]["rest"]


def test_contradicting_settings_are_warned_of(server, name):
    server.put(f"/collections/{name}", {"vectors": {"v": {"size": 2, "distance": "Dot", "hnsw_config": {"inline_storage": True}}}})
    warnings = server.get(f"/collections/{name}").result["warnings"]
    assert len(warnings) == 1 and "inline_storage" in warnings[0]["message"] and "'v'" in warnings[0]["message"]


def test_quotas_hold_for_all_collections_and_survive(new_server, name):
    server = new_server().start()
    client = server.client()
    client.create_collection(name, vectors_config=VECTORS)
    client.upsert(name, [point(1)])
    status = server.get("/quotas").result
    assert status["config"] == {"enabled": False} and 0 <= status["usage"]["disk_usage_percent"] <= 100
    if status["usage"]["disk_usage_percent"] < 1:
        pytest.skip("the disk is empty")
    full = {"enabled": True, "max_disk_usage_percent": 1, "release_margin_percent": 0}
    assert server.put("/quotas", full).result is True
    for restart in (False, True):
        if restart:
            server.kill9()
            server.start()
        answer = server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": 2, "vector": [1, 1]}]})
        assert answer.status == 507 and answer.error.startswith("Insufficient storage: Disk usage is at "), answer.text
        assert server.get("/telemetry").result["quota"] == {"config": full, "exceeded": {"resident_memory": None, "disk_usage": True}}
    server.client().delete(name, points_selector=[1])
    assert server.put("/quotas", {"max_disk_usage_percent": 101}).status == 422
    assert server.put("/quotas", {"enabled": False}).result is True
    client.upsert(name, [point(2)])
    assert client.count(name).count == 1


def test_shard_keys_are_refused_rather_than_ignored(server, name):
    client = create(server, name)
    client.upsert(name, [point(1)])
    for call in (lambda: client.query_points(name, query=[1, 1], shard_key_selector="a"),
                 lambda: client.scroll(name, shard_key_selector="a"), lambda: client.count(name, shard_key_selector="a"),
                 lambda: client.retrieve(name, [1], shard_key_selector="a"), lambda: client.upsert(name, [point(2)], shard_key_selector="a"),
                 lambda: client.delete(name, points_selector=[1], shard_key_selector="a"),
                 lambda: client.query_batch_points(name, [models.QueryRequest(query=[1, 1], shard_key="a")]),
                 lambda: client.batch_update_points(name, [models.UpsertOperation(upsert=models.PointsList(points=[point(2)], shard_key="a"))])):
        assert r'Shard key \"a\" not found' in refusal(400, call)
    assert client.count(name).count == 1


def test_memory_of_a_collection(server, name):
    server.put(f"/collections/{name}", {"vectors": {"v": {"size": 4, "distance": "Dot"}}, "sparse_vectors": {"s": {}}})
    points = [{"id": i, "vector": {"v": [1, 2, 3, 4], "s": {"indices": [1, 2], "values": [1, 1]}}, "payload": {"a": "b"}} for i in range(10)]
    assert server.put(f"/collections/{name}/points?wait=true", {"points": points}).status == 200
    report = server.get(f"/collections/{name}/memory").result
    size = {part: use["disk_bytes"] + use["ram_bytes"] for part, use in [
        ("total", report["total"]), ("payload", report["payload"]), ("v", report["vectors"][0]["storage"]), ("s", report["sparse_vectors"][0]["storage"])]}
    assert size["v"] >= 10 * 4 * 4 and size["s"] >= 10 * 2 * 8 and size["payload"] >= 10 * len('{"a":"b"}')
    assert size["total"] >= size["v"] + size["s"] + size["payload"]


def test_groups_facets_and_matrices(server, name):
    client = create(server, name, max_query_limit=15, unindexed_filtering_retrieve=False)
    client.upsert(name, [point(i) for i in range(1, 6)])
    grouped = lambda: client.query_points_groups(name, query=[1, 1], group_by="city", limit=5, group_size=3)  # noqa: E731
    assert r'Index required but not found for \"city\". Help: Create an index supporting `match`' in refusal(400, grouped)
    client.create_payload_index(name, "city", models.PayloadSchemaType.GEO)
    assert r'Index of type \"Geo\" found for \"city\"' in refusal(400, grouped)
    client.create_payload_index(name, "city", models.PayloadSchemaType.KEYWORD)
    assert len(grouped().groups) == 1
    calls = [lambda: client.query_points_groups(name, query=[1, 1], group_by="city", limit=4, group_size=4),
             lambda: client.search_matrix_pairs(name, sample=4, limit=4), lambda: client.facet(name, "city", limit=16)]
    for call in calls:
        assert r'16 > 15 for \"limit\"' in refusal(400, call)
    client.search_matrix_pairs(name, sample=5, limit=3)
    assert client.facet(name, "city", limit=15).hits[0].count == 5


def test_examples_take_tokens(server, name):
    client = create(server, name, read_rate_limit=4)
    client.upsert(name, [point(i) for i in range(1, 6)])
    query = models.RecommendQuery(recommend=models.RecommendInput(positive=[1, 2, 3, 4, 5], strategy=models.RecommendStrategy.BEST_SCORE))
    assert "larger than rate limiter capacity" in refusal(429, lambda: client.query_points(name, query=query))
    set_strict_mode(client, name, read_rate_limit=11)
    client.query_points(name, query=query)


def test_grpc_has_the_same_limits(tmp_path_factory, name):
    from quiver_server import Server
    server = Server(tmp_path_factory.mktemp("grpc") / "data", grpc=True).start()
    try:
        create(server, name, max_query_limit=3, write_rate_limit=2, max_timeout=2)
        client = QdrantClient(host="127.0.0.1", port=server.port, grpc_port=server.grpc_port, https=False, prefer_grpc=True,
                              check_compatibility=False, timeout=int(ANSWER_TIMEOUT_S))
        with pytest.raises(grpc.RpcError) as refused:
            client.query_points(name, query=[1, 1], limit=4)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert 'Limit exceeded 4 > 3 for "limit". Help: ' in refused.value.details()
        assert int(ANSWER_TIMEOUT_S) > 2 and client.query_points(name, query=[1, 1], limit=3).points == [], "a deadline is no timeout"
        with pytest.raises(grpc.RpcError) as named:
            client.query_points(name, query=[1, 1], limit=3, timeout=3)
        assert 'Limit exceeded 3 > 2 for "timeout"' in named.value.details()
        client.upsert(name, [point(1), point(2)])
        with pytest.raises(ResourceExhaustedResponse) as early:
            client.upsert(name, [point(3)])
        assert 20 <= early.value.retry_after_s <= 30
    finally:
        server.stop()
