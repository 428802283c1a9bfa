"""Late interaction on the wire: explain, ragged uploads, many tokens, candidates re-scored by MaxSim."""
import json
import struct
import subprocess
import uuid

import numpy as np
import pytest

from patience import comes_true
from quiver_server import binary

DIM = 4
TYPE = {"Content-Type": "application/vnd.quiver.ragged"}
MULTI = {"size": DIM, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}
DTYPES = {"<f4": 0, "<f2": 1, "u1": 2}


def create(server, name, **vectors):
    body = {"vectors": {"tokens": MULTI, "dense": {"size": DIM, "distance": "Dot"}} | vectors,
            "sparse_vectors": {"words": {}}}
    assert server.put(f"/collections/{name}", body).result is True


def ragged(ids, documents, payloads=None, dtype="<f4"):
    """A ragged body, see docs/late-interaction.md."""
    matrix = np.concatenate(documents).astype(dtype)
    offsets = np.cumsum([0] + [len(d) for d in documents], dtype="<u8")
    uuids = isinstance(ids[0], uuid.UUID)
    flags = (1 if uuids else 0) | (2 if payloads else 0)
    body = struct.pack("<8s4I2Q", b"QVRAGGED", 1, DTYPES[dtype], matrix.shape[1], flags, len(ids), len(matrix))
    body += b"".join(i.bytes for i in ids) if uuids else np.array(ids, "<u8").tobytes()
    body += offsets.tobytes() + matrix.tobytes()
    if payloads:
        texts = [json.dumps(p).encode() for p in payloads]
        body += bytes(-len(body) % 8) + b"".join(struct.pack("<I", len(t)) + t for t in texts)
    return body


def upload(server, name, body, path="points/ragged", query="using=tokens&wait=true", headers=TYPE):
    return server.put(f"/v1/collections/{name}/{path}?{query}", body, headers=headers)


def points_of(server, name, ids):
    return server.post(f"/collections/{name}/points", {"ids": ids, "with_vector": True}).result


def documents_of(rng, n):
    return [rng.integers(-20, 20, (int(rng.integers(1, 9)), DIM)).astype(np.float32) / 4 for _ in range(n)]


def max_sim(query, document):
    return float((np.asarray(query) @ document.T).max(axis=1).sum())


def test_ragged_upsert(server, name):
    create(server, name)
    documents = documents_of(np.random.default_rng(1), 5)
    payloads = [{"n": i, "text": "ä" * i} for i in range(5)]
    result = upload(server, name, ragged([5, 4, 3, 2, 1], documents, payloads)).result
    assert result["status"] == "completed"
    found = points_of(server, name, [5, 4, 3, 2, 1])
    assert [p["payload"] for p in found] == payloads
    for point, document in zip(found, documents):
        assert point["vector"] == {"tokens": document.tolist()}
    ids = [uuid.UUID(int=i << 100 | i) for i in range(3)]
    assert upload(server, name, ragged(ids, documents[:3], dtype="<f2"), query="using=tokens").result["status"] == "acknowledged"
    is_there = comes_true(lambda: server.post(f"/collections/{name}/points/count", {}).result == {"count": 8})
    assert is_there, "what is only acknowledged is there some time later"


def test_ragged_vectors_leave_the_rest(server, name):
    create(server, name)
    points = [{"id": i, "vector": {"dense": [i, 0, 0, 1], "tokens": [[1, 2, 3, 4]]}, "payload": {"n": i}} for i in (1, 2)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points})
    document = np.array([[9, 8, 7, 6], [255, 0, 1, 2]])
    assert upload(server, name, ragged([2], [document], dtype="u1"), "points/vectors/ragged").result
    found = points_of(server, name, [1, 2])
    assert found[0]["vector"]["tokens"] == [[1, 2, 3, 4]]
    assert found[1] == {"id": 2, "payload": {"n": 2}, "vector": {"dense": [2, 0, 0, 1], "tokens": document.tolist()}}
    answer = upload(server, name, ragged([1, 77], [document, document]), "points/vectors/ragged")
    assert answer.status == 404 and "77" in answer.error
    assert points_of(server, name, [1]) == found[:1], "nothing of it is applied"


def test_ragged_points_of_several_fields(server, name):
    """One upsert with the tokens of two fields as matrices and the rest of the points as JSON."""
    create(server, name, images=MULTI)
    rng = np.random.default_rng(4)
    tokens, images = documents_of(rng, 3), documents_of(rng, 3)
    images[1] = np.zeros((0, DIM), np.float32)  # lacks this vector
    points = [{"id": 1, "vector": {"dense": [1, 2, 3, 4]}, "payload": {"n": 1}},
              {"id": str(uuid.UUID(int=5)), "vector": {}}, {"id": 3, "vector": {"words": {"indices": [7], "values": [0.5]}}}]
    body = b""
    for documents in [tokens, images]:
        matrix, offsets = np.concatenate(documents), np.cumsum([0] + [len(d) for d in documents], dtype="<u8")
        body += struct.pack("<8s4I2Q", b"QVRAGGED", 1, 0, DIM, 4, 3, len(matrix)) + offsets.tobytes() + matrix.tobytes()
        body += bytes(-len(body) % 8)
    body += json.dumps({"points": points}).encode()
    assert upload(server, name, body, query="using=tokens&using=images&wait=true").result["status"] == "completed"
    found = points_of(server, name, [p["id"] for p in points])
    for i, point in enumerate(points):
        vector = point["vector"] | {"tokens": tokens[i].tolist()} | ({"images": images[i].tolist()} if i != 1 else {})
        assert found[i] == {"id": point["id"], "payload": point.get("payload", {}), "vector": vector}
    answer = upload(server, name, body, query="using=tokens&using=images", path="points/vectors/ragged")
    assert answer.status == 400 and "flags are 4" in answer.error
    answer = upload(server, name, body, query="using=tokens&using=dense")
    assert answer.status == 400 and "`dense` is a dense vector" in answer.error


def test_ragged_refusals(server, name):
    create(server, name)
    document = np.ones((2, DIM))
    body = ragged([1], [document])
    refused = [
        (415, "Bad request: content-type `application/json` is not supported, must be `application/vnd.quiver.ragged`",
         dict(body=body, headers={"Content-Type": "application/json"})),
        (400, "Wrong input: Not existing vector name error: no", dict(body=body, query="using=no")),
        (400, "Wrong input: vector `dense` is a dense vector, but a ragged body holds multi-vectors",
         dict(body=body, query="using=dense")),
        (400, "Wrong input: Vector dimension error: expected dim: 4, got 3", dict(body=ragged([1], [document[:, 1:]]))),
        (400, "Wrong input: ragged body: 1 bytes follow the last part, which ends at byte 96", dict(body=body + b"\0")),
        (400, "Wrong input: ragged body: it does not begin with `QVRAGGED`", dict(body=b"x" * 100)),
        (400, "Wrong input: ragged body: flags are 2, may be 1 (ids are UUIDs): an update of vectors takes no payloads",
         dict(body=ragged([1], [document], [{}]), path="points/vectors/ragged")),
        (400, "Deserialize error in query parameters: wait: provided string was not `true` or `false`: `x`",
         dict(body=body, query="using=tokens&wait=x")),
    ]
    for status, text, request in refused:
        answer = upload(server, name, **request)
        assert (answer.status, answer.error) == (status, text)
    document[1, 2] = np.nan
    answer = upload(server, name, ragged([1, 2], [np.ones((3, DIM)), document]))
    assert answer.error == "Wrong input: ragged body: point 1, token 1, position 2: the value is nan, must be finite"
    assert upload(server, "missing", body).status == 404
    assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 0}


def test_damaged_ragged_bodies(server, name):
    """Any damaged body is a client error or a valid update, and the server keeps working."""
    create(server, name)
    body = ragged([1, 2, 3], documents_of(np.random.default_rng(2), 3), [{"a": 1}, {}, {"b": "c"}])
    for n in range(0, len(body), 7):
        assert upload(server, name, body[:n]).status == 400
    rng = np.random.default_rng(3)
    for _ in range(300):
        damaged = bytearray(body)
        for _ in range(rng.integers(1, 4)):
            damaged[rng.integers(0, len(damaged) if rng.random() < 0.5 else 64)] ^= int(rng.integers(1, 256))
        assert upload(server, name, bytes(damaged), query="using=tokens").status in (200, 400)
    assert upload(server, name, body).result["status"] == "completed"


def test_many_tokens_in_one_point(server, name):
    """The only limit is the request size; its error names the setting."""
    create(server, name)
    tokens = np.random.default_rng(4).integers(0, 9, (70_000, DIM)).astype(np.float32)
    assert upload(server, name, ragged([1], [tokens])).result["status"] == "completed"
    by_json = server.put(f"/collections/{name}/points?wait=true",
                         {"points": [{"id": 2, "vector": {"tokens": tokens.astype(int).tolist()}}]})
    assert by_json.result["status"] == "completed"
    query = [[1, 0, 0, 0], [0, -1, 0, 2]]
    hits = server.post(f"/collections/{name}/points/query", {"query": query, "using": "tokens"}).result["points"]
    assert [(h["id"], h["score"]) for h in hits] == [(1, max_sim(query, tokens)), (2, max_sim(query, tokens))]
    answer = upload(server, name, bytes(33 << 20))
    assert answer.status == 413
    assert str(32 << 20) in answer.error and "service.max_request_size_mb" in answer.error


def test_explain(server, name):
    create(server, name)
    documents = documents_of(np.random.default_rng(5), 20)
    upload(server, name, ragged(list(range(20)), documents))
    query = documents_of(np.random.default_rng(6), 1)[0]
    path = f"/v1/collections/{name}/points/explain"
    hits = server.post(f"/collections/{name}/points/query",
                       {"query": query.tolist(), "using": "tokens", "limit": 20}).result["points"]
    ids = [h["id"] for h in hits]
    explained = server.post(path, {"query": query.tolist(), "using": "tokens", "ids": ids + [99]}).result
    assert [(e["id"], e["score"]) for e in explained] == [(h["id"], h["score"]) for h in hits]
    for e in explained:
        similarity = query @ documents[e["id"]].T  # exact: quarters of small integers
        best = similarity.argmax(axis=1)
        assert e["tokens"] == [{"query": t, "document": int(d), "score": float(similarity[t, d])} for t, d in enumerate(best)]
    by_id = server.post(path, {"query": 7, "using": "tokens", "ids": [3]}).result
    by_value = server.post(path, {"query": documents[7].tolist(), "using": "tokens", "ids": [3]}).result
    assert by_id == by_value


@pytest.mark.parametrize("body,status,text", [
    ({"query": [[1, 2, 3, 4]], "using": "dense", "ids": [1]}, 400,
     "Wrong input: vector `dense` is a dense vector, but only a multi-vector can be explained token by token"),
    ({"query": [[1, 2, 3]], "using": "tokens", "ids": [1]}, 400,
     "Wrong input: Vector dimension error: expected dim: 4, got 3"),
    ({"query": [[1, 2, 3, 4]], "using": "tokens", "ids": []}, 422,
     "Validation error in JSON body: [ids: number of ids 0 invalid, must be from 1 to 1000]"),
    ({"query": [[1, 2, 3, 4]], "using": "tokens", "ids": list(range(1001))}, 422,
     "Validation error in JSON body: [ids: number of ids 1001 invalid, must be from 1 to 1000]"),
    ({"query": 5, "using": "tokens", "ids": [1]}, 404, "Not found: No point with id 5 found"),
    ({"using": "tokens", "ids": [1]}, 400, "Format error in JSON body: missing field `query`"),
    ({"query": [[1, 2, 3, 4]], "using": "tokens", "ids": 1}, 400,
     "Format error in JSON body: ids: invalid type: integer `1`, expected an array"),
])
def test_explain_refusals(server, name, body, status, text):
    create(server, name)
    answer = server.post(f"/v1/collections/{name}/points/explain", body)
    assert (answer.status, answer.error) == (status, text)


def hybrid(name, query, limit):
    return {"prefetch": [{"query": [1, 2, 3, 4], "using": "dense", "limit": 15},
                         {"query": {"indices": [1, 2], "values": [1, 1]}, "using": "words", "limit": 15}],
            "query": query, "using": "tokens", "limit": limit, "with_payload": True}


def test_candidates_of_dense_and_sparse_in_the_order_of_max_sim(server, name):
    """Each candidate appears once with its exact score, however many prefetches found it."""
    create(server, name)
    rng = np.random.default_rng(8)
    documents = documents_of(rng, 60)
    dense = rng.integers(-9, 9, (60, DIM)).astype(float)
    words = [{"indices": [i % 3, 7], "values": [float(1 + i % 11), 1.0]} for i in range(60)]
    points = [{"id": i, "payload": {"n": i}, "vector": {"dense": dense[i].tolist(), "words": words[i], "tokens": documents[i].tolist()}}
              for i in range(60)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points})
    query = documents_of(rng, 1)[0]
    by_leaf = [{h["id"] for h in server.post(f"/collections/{name}/points/query", p).result["points"]}
               for p in hybrid(name, None, 1)["prefetch"]]
    union = by_leaf[0] | by_leaf[1]
    assert by_leaf[0] & by_leaf[1] and len(by_leaf[0] ^ by_leaf[1]) > 0
    hits = server.post(f"/collections/{name}/points/query", hybrid(name, query.tolist(), 100)).result["points"]
    wanted = sorted(((max_sim(query, documents[i]), i) for i in union), key=lambda x: (-x[0], x[1]))
    assert [(h["score"], h["id"]) for h in hits] == wanted
    assert all(h["payload"] == {"n": h["id"]} for h in hits)


def segment_indexes(server, name, field):
    indexes = server.get(f"/v1/collections/{name}/indexes").result["indexes"]
    return [index for index in indexes if index["field"] == field and index["sealed"]]


def test_what_an_index_found_out_is_shown(new_server):
    """The server and `quiver inspect` both show the probe's table."""
    server = new_server().start()
    tokens = MULTI | {"size": 16, "hnsw_config": {"full_scan_threshold": 10}}
    server.put("/collections/books", {"vectors": {"tokens": tokens}})
    rng = np.random.default_rng(3)
    documents = [rng.standard_normal((8, 16)).astype(np.float32) for _ in range(1500)]
    upload(server, "books", ragged(list(range(1500)), documents))
    wait_for_index(server, "books", "tokens", "multi")
    index, = segment_indexes(server, "books", "tokens")
    assert index["index"] == "multi" and index["vectors_count"] == 1500 and index["bytes"] > 1500 * 8 * 16
    assert index["facts"]["tokens_per_row"] == 8 and index["facts"]["token_bits"] == 8
    stages = {row["stage"] for row in index["probe"]}
    assert stages - {"features"} == {"mean", "fde", "signs"}, "features are tried where they may win"
    assert index["facts"]["stage"] in stages - {"signs"}
    assert all(0 <= row["recall"] <= 1 for row in index["probe"])
    assert index["facts"]["probe_documents"] == 1500 and index["facts"]["probe_queries_are"] == "parts of documents"
    assert ("features" in stages) != (index["facts"].get("probe_left_out") == "features")
    assert server.get("/v1/collections/none/indexes").status == 404
    upload(server, "books", ragged(list(range(1500, 3000)), documents))
    are_one = comes_true(lambda: [i["vectors_count"] for i in segment_indexes(server, "books", "tokens")] == [3000], 60)
    assert are_one, "without writes segments become one"
    wait_for_index(server, "books", "tokens", "multi")
    index, = segment_indexes(server, "books", "tokens")
    server.stop()
    inspect = [binary(), "inspect", "--data-dir", server.data_dir]
    text = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout
    assert "collection books: 3000 points" in text and "tokens: multi, 3000 vectors" in text
    assert f"stage {index['facts']['stage']}" in text and "probe:\n" in text
    line, = subprocess.run([*inspect, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert index in json.loads(line)["vectors"]["indexes"]
    wrong = subprocess.run([*inspect, "--collection", "other"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "other" in wrong.stderr


def wait_for_index(server, name, field, wanted):
    def found():
        return [i["index"] for i in segment_indexes(server, name, field)]

    assert comes_true(lambda: found() == [wanted], 60), found()


def test_indexes_are_built_as_asked_for(new_server):
    """Build parameters by name for every kind of field: kept over a restart, reset by null, refused with a reason."""
    server = new_server().start()
    at_once = {"hnsw_config": {"full_scan_threshold": 10}}
    server.put("/collections/papers", {"vectors": {"tokens": MULTI | at_once, "dense": {"size": 8, "distance": "Dot"} | at_once,
                                                   "far": {"size": 2, "distance": "Manhattan"}}, "sparse_vectors": {"words": {}}})

    def patch(build):
        answer = server.patch("/v1/collections/papers/indexes", {"build": build})
        return answer.status, answer.json["status"]

    assert patch({"tokens": {"stage": "fde", "planes": 3, "repetitions": 4}, "dense": {"n_lists": 7},
                  "words": {"n_postings": 50}})[0] == 200
    rng = np.random.default_rng(3)
    points = [{"id": i, "vector": {"tokens": rng.standard_normal((5, DIM)).tolist(), "dense": rng.standard_normal(8).tolist()}}
              for i in range(1500)]
    server.put("/collections/papers/points?wait=true", {"points": points})
    wait_for_index(server, "papers", "tokens", "multi-planes=3-repetitions=4-stage=fde")
    wait_for_index(server, "papers", "dense", "ivf-n_lists=7")
    given = {"tokens": {"planes": 3, "repetitions": 4, "stage": "fde"}, "dense": {"n_lists": 7}, "words": {"n_postings": 50}}
    assert server.get("/v1/collections/papers/indexes").result["build"] == given
    for build, text in [({"tokens": {"stage": "best"}}, 'stage is "best", must be auto, mean, fde or features'),
                        ({"tokens": {"planes": 11}}, "parameter `planes` is 11: wanted 0 to 10"),
                        ({"dense": {"pace": 1}}, "unknown parameter `pace`: known are n_lists,"),
                        ({"colours": {}}, "Not existing vector name error: colours"),
                        ({"far": {"n_lists": 1}}, "vector `far` is searched exactly"),
                        ({"dense": {"n_lists": 9}, "tokens": {"planes": "x"}}, "parameter `planes`")]:
        status, told = patch(build)
        assert status == 400 and text in told["error"]
    server.kill9()
    server.start()
    assert server.get("/v1/collections/papers/indexes").result["build"] == given, "nothing of what was refused is kept"
    wait_for_index(server, "papers", "dense", "ivf-n_lists=7")
    assert patch({"tokens": {"stage": "mean", "planes": None, "repetitions": None}, "dense": {"n_lists": None},
                  "words": {"n_postings": None}})[0] == 200
    wait_for_index(server, "papers", "tokens", "multi-stage=mean")
    wait_for_index(server, "papers", "dense", "ivf")
    server.patch("/collections/papers", {"hnsw_config": {"m": 8}})
    assert server.get("/v1/collections/papers/indexes").result["build"] == {"tokens": {"stage": "mean"}}


@pytest.mark.parametrize("distance", ["Dot", "Cosine"])
def test_tokens_of_a_query_have_weights(server, name, distance):
    create(server, name, tokens=MULTI | {"distance": distance})
    rng = np.random.default_rng(4)
    documents = documents_of(rng, 40)
    upload(server, name, ragged(list(range(40)), documents))
    unit = (lambda m: m / np.linalg.norm(m, axis=1, keepdims=True).clip(1e-30)) if distance == "Cosine" else np.asarray
    query = rng.standard_normal((3, DIM)).astype(np.float32)
    weights = np.array([2, 0, 0.5])
    wanted = [float(((unit(query) @ unit(d).T).max(axis=1) * weights).sum()) for d in documents]
    params = {"multi": {"token_weights": weights.tolist(), "effort": 256}}
    body = {"query": query.tolist(), "using": "tokens", "limit": 40, "params": params}
    found = server.post(f"/collections/{name}/points/query", body).result["points"]
    assert [p["score"] for p in found] == pytest.approx(sorted(wanted, reverse=True), rel=1e-5, abs=1e-5)
    assert [wanted[p["id"]] for p in found] == pytest.approx([p["score"] for p in found], rel=1e-5, abs=1e-5)
    explained = server.post(f"/v1/collections/{name}/points/explain",
                            {"query": query.tolist(), "using": "tokens", "ids": [found[0]["id"]], "params": params}).result
    assert explained[0]["score"] == found[0]["score"]
    for weights, text in [([1, 2], "2 token_weights for 3 query tokens"), ([1, -1, 1], "a token weight is -1"),
                          (["a", 1, 1], "params.multi.token_weights[0]")]:
        answer = server.post(f"/collections/{name}/points/query", body | {"params": {"multi": {"token_weights": weights}}})
        assert answer.status in (400, 422) and text in answer.error


def test_weights_are_for_products(server, name):
    create(server, name, tokens=MULTI | {"distance": "Euclid"})
    body = {"query": [[1, 2, 3, 4]], "using": "tokens", "params": {"multi": {"token_weights": [1]}}}
    answer = server.post(f"/collections/{name}/points/query", body)
    assert answer.status == 400 and "Dot and Cosine" in answer.error
