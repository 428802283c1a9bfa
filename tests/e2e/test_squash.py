"""Fields with SQUASH's index (`osq`): chosen by a build parameter, searched with filters, kept over restarts."""
import time

import numpy as np
import pytest

from patience import comes_true, patience
from quiver_server import SMALL_SEGMENTS

DIM, N = 16, 2000
AT_ONCE = {"hnsw_config": {"full_scan_threshold": 1}}  # segments of 1 KB have indexes


def indexes(server, name, field="dense"):
    return [i for i in server.get(f"/v1/collections/{name}/indexes").result["indexes"] if i["field"] == field and i["sealed"]]


def wait_for(server, name, wanted, field="dense"):
    """Until every sealed segment of the field has the index `wanted`, and there is one."""
    def found():
        return {i["index"] for i in indexes(server, name, field)}

    assert comes_true(lambda: found() == {wanted}, 60), found()


def patch(server, name, build):
    answer = server.patch(f"/v1/collections/{name}/indexes", {"build": build})
    return answer.status, answer.json["status"]


def attributes(rng):
    return {a: float(value) for a, value in zip("abcd", rng.random(4))}


def put(server, name, ids, seed):
    rng = np.random.default_rng(seed)
    points = [{"id": i, "vector": {"dense": rng.standard_normal(DIM).tolist()}, "payload": attributes(rng)} for i in ids]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result
    return points


def ranges(rng, selectivity):
    """As in the paper: a range of each of four uniform attributes, `selectivity` jointly."""
    width = selectivity ** 0.25
    starts = rng.random(4) * (1 - width)
    return {"must": [{"key": a, "range": {"gte": s, "lt": s + width}} for a, s in zip("abcd", starts)]}


def ask(server, name, query, filter, **params):
    body = {"query": query, "using": "dense", "limit": 10, "filter": filter, "params": params}
    return [p["id"] for p in server.post(f"/collections/{name}/points/query", body).result["points"]]


def recall_and_sizes(server, name, rng, selectivity, **params):
    """Recall, and whether each answer has as many hits as an exact one."""
    found, wanted, sizes = 0, 0, True
    for _ in range(20):
        query, filter = rng.standard_normal(DIM).tolist(), ranges(rng, selectivity)
        exact = ask(server, name, query, filter, exact=True)
        got = ask(server, name, query, filter, **params)
        sizes &= len(got) == len(exact)
        found += len(set(got) & set(exact))
        wanted += len(exact)
    return found / max(wanted, 1), sizes


@pytest.mark.parametrize("distance", ["Dot", "Cosine", "Euclid"])
def test_a_field_with_filters_updates_and_a_restart(new_server, distance):
    server = new_server(env=SMALL_SEGMENTS).start()
    rng = np.random.default_rng(7)
    server.put("/collections/c", {"vectors": {"dense": {"size": DIM, "distance": distance} | AT_ONCE}}).result
    for attribute in "abcd":
        server.put("/collections/c/index?wait=true", {"field_name": attribute, "field_schema": "float"}).result
    assert patch(server, "c", {"dense": {"type": "osq", "partitions": 3, "bits": 5}})[0] == 200
    for first in range(0, N, 250):
        put(server, "c", range(first, first + 250), seed=first)
    name = "osq-bits=5-partitions=3"
    wait_for(server, "c", name)
    for selectivity in [1, 0.3, 0.08, 0.001]:
        recall, sizes = recall_and_sizes(server, "c", rng, selectivity, osq={"distance_factor": 3})
        assert sizes and recall >= 0.9, (selectivity, recall)
    assert recall_and_sizes(server, "c", rng, 0.08, osq={"precision": "exact"}) == (1, True)

    server.post("/collections/c/points/delete?wait=true", {"points": list(range(0, N, 2))}).result
    put(server, "c", range(1, N, 10), seed=99)  # other vectors for some of the rest
    recall, sizes = recall_and_sizes(server, "c", rng, 0.3, osq={"distance_factor": 3})
    assert sizes and recall >= 0.9
    wait_for(server, "c", name)
    server.kill9()
    server.start()
    assert server.get("/v1/collections/c/indexes").result["build"] == {"dense": {"type": "osq", "partitions": 3, "bits": 5}}
    wait_for(server, "c", name)
    recall, sizes = recall_and_sizes(server, "c", rng, 0.3, osq={"distance_factor": 3})
    assert sizes and recall >= 0.9
    assert server.post("/collections/c/points/count", {"exact": True}).result["count"] == N // 2


def test_the_type_changes_while_the_collection_is_in_use(new_server):
    server = new_server().start()
    rng = np.random.default_rng(8)
    server.put("/collections/c", {"vectors": {"dense": {"size": DIM, "distance": "Dot"} | AT_ONCE}}).result
    put(server, "c", range(N), seed=1)
    wait_for(server, "c", "ivf")
    assert patch(server, "c", {"dense": {"type": "osq"}})[0] == 200
    query = rng.standard_normal(DIM).tolist()
    exact = ask(server, "c", query, {}, exact=True)
    deadline = time.monotonic() + patience(60)
    while True:  # with the old index, without one, or with the new one
        assert len(ask(server, "c", query, {}, osq={"rerank_factor": 20}, dense={"rerank_factor": 20})) == 10
        if {i["index"] for i in indexes(server, "c")} == {"osq"}:
            break
        assert time.monotonic() < deadline, indexes(server, "c")
    assert ask(server, "c", query, {}, osq={"precision": "exact"}) == exact
    facts = indexes(server, "c")[0]
    assert facts["facts"]["code_bytes"] == N * DIM * 4 / 8
    assert sum(p["rows"] for p in facts["partitions"]) == N
    assert patch(server, "c", {"dense": {"type": None}})[0] == 200
    wait_for(server, "c", "ivf")
    assert server.get("/v1/collections/c/indexes").result["build"] == {}


def test_what_is_refused(server, name):
    vectors = {"dense": {"size": DIM, "distance": "Dot"}, "far": {"size": 2, "distance": "Manhattan"},
               "tokens": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}}
    server.put(f"/collections/{name}", {"vectors": vectors}).result
    for build, text in [({"dense": {"type": "osk"}}, 'type is "osk", must be one of "ivf", "osq"'),
                        ({"dense": {"type": 3}}, 'type is 3, must be one of "ivf", "osq"'),
                        ({"dense": {"type": "flat"}}, 'type is "flat", must be one of "ivf", "osq"'),
                        ({"tokens": {"type": "osq"}}, 'type is "osq", must be one of "multi"'),
                        ({"far": {"type": "osq"}}, "vector `far` is searched exactly"),
                        ({"dense": {"type": "osq", "n_lists": 3}}, "unknown parameter `n_lists`: known are bits,"),
                        ({"dense": {"type": "osq", "bits": 9}}, "parameter `bits` is 9: wanted 0.25 to 8"),
                        ({"dense": {"type": "osq", "partitions": 0.5}}, "parameter `partitions`")]:
        status, told = patch(server, name, build)
        assert status == 400 and text in told["error"], told
    assert server.get(f"/v1/collections/{name}/indexes").result["build"] == {}
    assert patch(server, name, {"dense": {"type": "osq"}})[0] == 200
    status, told = patch(server, name, {"dense": {"n_lists": 3}})
    assert status == 400 and "unknown parameter `n_lists`" in told["error"]
    for osq, text in [({"precision": "best"}, 'precision is "best", must be hamming, bounds or exact'),
                      ({"distance_factor": 0.5}, "parameter `distance_factor`"), ({"nprobe": 3}, "unknown parameter `nprobe`")]:
        body = {"query": [0.0] * DIM, "using": "dense", "params": {"osq": osq}}
        answer = server.post(f"/collections/{name}/points/query", body)
        assert answer.status == 400 and text in answer.error, answer.text
