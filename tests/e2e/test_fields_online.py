"""Vector fields that come and go while a collection is in use, over the network; points that expire."""
import time

import pytest
from patience import comes_true
from qdrant_client import models
from quiver_server import SMALL_SEGMENTS

DIM = 4
N = 100


def create(server, name, **more):
    body = {"vectors": {"a": {"size": DIM, "distance": "Dot"}}, **more}
    assert server.put(f"/collections/{name}", body).result is True


def vector(id, dim):
    return [float(id)] * dim


def put(server, name, field, ids, dim):
    points = [{"id": id, "vector": {field: vector(id, dim)}} for id in ids]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result


def set_vectors(server, name, field, ids, dim):
    points = [{"id": id, "vector": {field: vector(id, dim)}} for id in ids]
    server.put(f"/collections/{name}/points/vectors?wait=true", {"points": points}).result


def found(server, name, field, dim):
    """The points with this vector: by search, by filter and by reading them, which must agree."""
    body = {"query": vector(1, dim), "using": field, "limit": 1000, "params": {"exact": True}}
    hits = [hit["id"] for hit in server.post(f"/collections/{name}/points/query", body).result["points"]]
    filter = {"must": [{"has_vector": field}]}
    count = server.post(f"/collections/{name}/points/count", {"filter": filter, "exact": True}).result["count"]
    page = server.post(f"/collections/{name}/points/scroll", {"limit": 1000, "with_vector": True}).result["points"]
    read = {p["id"]: p["vector"][field] for p in page if field in p["vector"]}
    assert read == {id: vector(id, dim) for id in hits}
    assert count == len(hits)
    return sorted(hits)


def params(server, name):
    return server.get(f"/collections/{name}").result["config"]["params"]


def test_a_field_is_created_filled_and_deleted(server, name):
    create(server, name)
    put(server, name, "a", range(1, N + 1), DIM)
    path = f"/collections/{name}/vectors"
    body = {"dense": {"size": 3, "distance": "Euclid", "datatype": "float16"}}
    answer = server.put(f"{path}/b?wait=true", body).result
    assert answer["status"] == "completed"
    assert params(server, name)["vectors"]["b"] == body["dense"]
    assert found(server, name, "b", 3) == []
    set_vectors(server, name, "b", range(10, 20), 3)
    assert found(server, name, "b", 3) == list(range(10, 20))
    assert server.put(f"{path}/words", {"sparse": {"modifier": "idf", "datatype": "float16"}}).status == 200
    assert params(server, name)["sparse_vectors"]["words"] == {"modifier": "idf", "index": {"datatype": "float16"}}
    server.delete(f"{path}/b").result
    assert "b" not in params(server, name)["vectors"]
    gone = server.post(f"/collections/{name}/points/query", {"query": [1, 1, 1], "using": "b"})
    assert (gone.status, gone.error) == (400, "Wrong input: Not existing vector name error: b")
    assert server.delete(f"{path}/b").status == 200  # as in the other server
    assert found(server, name, "a", DIM) == list(range(1, N + 1))


def test_what_must_be_refused(server, name):
    create(server, name)
    path = f"/collections/{name}/vectors"
    before = server.get(f"/collections/{name}").result["config"]
    for field, body, status, text in [
            ("b", {"dense": {"size": 0, "distance": "Dot"}}, 422, "size"),
            ("b", {"dense": {"size": 65537, "distance": "Dot"}}, 422, "size"),
            ("b", {"dense": {"size": 4}}, 400, "distance"),
            ("b", {"dense": {"size": 4, "distance": "Far"}}, 400, "Far"),
            ("b", {}, 400, "`dense`, `sparse`"),
            ("b", {"dense": {"size": 4, "distance": "Dot"}, "sparse": {}}, 400, "`dense`, `sparse`"),
            ("b", {"sparse": {"modifier": "tf"}}, 400, "tf"),
            ("a", {"dense": {"size": 5, "distance": "Dot"}}, 400, "different configuration"),
            ("a", {"sparse": {}}, 400, "a dense vector"),
            ("x" * 201, {"sparse": {}}, 422, "200 bytes"),
            ("x%3Ay", {"sparse": {}}, 422, "cannot contain")]:
        answer = server.put(f"{path}/{field}", body)
        assert (answer.status, text in answer.error) == (status, True), answer.text
    assert server.put(f"/collections/no-such/vectors/b", {"sparse": {}}).status == 404
    assert server.delete(f"/collections/no-such/vectors/b").status == 404
    assert server.get(f"/collections/{name}").result["config"] == before
    assert server.put(f"{path}/a", {"dense": {"size": DIM, "distance": "Dot"}}).status == 200  # it is there


def test_a_collection_with_an_unnamed_vector_gets_named_ones(server, name):
    assert server.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}}).result is True
    server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": 1, "vector": [1, 2]}]}).result
    server.put(f"/collections/{name}/vectors/b", {"dense": {"size": 3, "distance": "Dot"}}).result
    assert set(params(server, name)["vectors"]) == {"", "b"}
    set_vectors(server, name, "b", [1], 3)
    hit = server.post(f"/collections/{name}/points/query", {"query": [1, 1]}).result["points"][0]
    assert (hit["id"], hit["score"]) == (1, 3)
    assert found(server, name, "b", 3) == [1]


def test_the_stock_client(server, name):
    client = server.client()
    client.create_collection(name, vectors_config={"a": models.VectorParams(size=DIM, distance="Dot")})
    if not hasattr(client, "create_vector_name"):
        pytest.skip("this client is older than named vectors that come and go")
    client.create_vector_name(name, "multi", models.DenseVectorNameConfig(dense=models.DenseVectorConfig(
        size=3, distance="Cosine", multivector_config=models.MultiVectorConfig(comparator="max_sim"))))
    client.upsert(name, [models.PointStruct(id=1, vector={"multi": [[1, 0, 0], [0, 1, 0]]})], wait=True)
    assert client.query_points(name, [[1, 0, 0]], using="multi").points[0].score == 1
    assert "multi" in client.get_collection(name).config.params.vectors
    client.delete_vector_name(name, "multi")
    assert client.retrieve(name, [1], with_vectors=True)[0].vector == {}


def test_kill9_after_each_acknowledged_change(new_server):
    """A change that was answered is there after a kill; a field that was dropped never comes back."""
    server = new_server(env=SMALL_SEGMENTS).start()
    name = "points"
    create(server, name, optimizers_config={"indexing_threshold": 1})
    put(server, name, "a", range(1, N + 1), DIM)

    def restart():
        server.kill9()
        server.start()

    path = f"/collections/{name}/vectors/b"
    for dim in (3, 3, 6):
        server.put(path, {"dense": {"size": dim, "distance": "Dot"}}).result
        restart()
        assert found(server, name, "b", dim) == []
        set_vectors(server, name, "b", range(1, N + 1, 2), dim)
        restart()
        assert found(server, name, "b", dim) == list(range(1, N + 1, 2))
        server.delete(path).result
        restart()
        assert "b" not in params(server, name)["vectors"]
        assert found(server, name, "a", DIM) == list(range(1, N + 1))


def ttl_path(name):
    return f"/v1/collections/{name}/ttl"


def test_points_expire(server, name):
    create(server, name)
    refused = server.put(ttl_path(name), {"key": "at", "seconds": 1})
    assert (refused.status, "payload index" in refused.error) == (400, True)
    server.put(f"/collections/{name}/index?wait=true", {"field_name": "at", "field_schema": "datetime"}).result
    assert server.put(ttl_path(name), {"key": "at", "seconds": 2}).result is True
    assert server.get(ttl_path(name)).result == {"key": "at", "seconds": 2}
    now = time.time()

    def at(second):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))

    points = [{"id": 1, "vector": {}, "payload": {"at": at(now - 100)}},
              {"id": 2, "vector": {}, "payload": {"at": at(now + 1)}},
              {"id": 3, "vector": {}, "payload": {"at": at(now + 10000)}}, {"id": 4, "vector": {}}]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result

    def seen():
        return [p["id"] for p in server.post(f"/collections/{name}/points/scroll", {}).result["points"]]

    assert 1 not in seen()
    assert comes_true(lambda: seen() == [3, 4]), seen()
    assert time.time() >= int(now + 1) + 2
    refused = server.delete(f"/collections/{name}/index/at")
    assert (refused.status, "expire" in refused.error) == (400, True)
    for body, status in [({"key": "at", "seconds": -1}, 400), ({"key": "at", "seconds": 10**12}, 422),
                         ({"seconds": 1}, 400), ({"key": "at", "second": 1}, 400)]:
        assert server.put(ttl_path(name), body).status == status, body
    assert server.delete(ttl_path(name)).result is True
    assert server.get(ttl_path(name)).result is None
