"""Segment files that are truncated under a running server: it survives, no answer is wrong, and all rows come back."""
import os
import random
import time

import pytest
from patience import comes_true, patience

DIM, POINTS, SEED = 48, 3000, 7
ENV = {"QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05"}


def vector(rng):
    return [rng.gauss(0, 1) for _ in range(DIM)]


def fill(server):
    rng = random.Random(SEED)
    server.put("/collections/c", {
        "vectors": {"size": DIM, "distance": "Dot"}, "sparse_vectors": {"words": {}},
        "optimizers_config": {"indexing_threshold": 1}}).result
    for key, kind in (("color", "keyword"), ("n", "integer")):
        server.put("/collections/c/index?wait=true", {"field_name": key, "field_schema": kind}).result
    for first in range(0, POINTS, 500):
        points = [{"id": i,
                   "vector": {"": vector(rng), "words": {"indices": sorted(rng.sample(range(500), 20)),
                                                         "values": [rng.random() + 0.1 for _ in range(20)]}},
                   "payload": {"color": f"c{i % 5}", "n": i, "text": f"point {i}"}}
                  for i in range(first, first + 500)]
        server.put("/collections/c/points?wait=true", {"points": points}).result


def wait_for_rest(server):
    assert comes_true(lambda: server.get("/collections/c").result["status"] == "green", 60), server.log_tail()


def files(server):
    """Files of the segments. A running server may remove some meanwhile."""
    found = []
    for directory, _, names in os.walk(server.data_dir / "collections/00000001/shard-0/segments"):
        found += [os.path.join(directory, name) for name in names]
    return sorted(found)


def questions():
    rng = random.Random(SEED + 1)
    red = {"must": [{"key": "color", "match": {"value": "c3"}}]}
    above = {"must": [{"key": "n", "range": {"gte": POINTS - 100}}]}
    exact = {"exact": True}
    for query, using in ((vector(rng), None), ({"indices": [3, 77, 130], "values": [1.0, 2.0, 0.5]}, "words")):
        for filter in (None, red, above):
            yield "query", {"query": query, "using": using, "filter": filter, "params": exact, "limit": 10,
                            "with_payload": True}
            yield "query-indexed", {"query": query, "using": using, "filter": filter, "limit": 10}
    yield "scroll", {"limit": POINTS, "with_payload": True}
    yield "count", {"exact": True, "filter": red}


def ask(server, kind, body):
    """The answer without the fields that may differ; None if it was refused."""
    path = "query" if kind.startswith("query") else kind
    answer = server.post(f"/collections/c/points/{path}", {k: v for k, v in body.items() if v is not None})
    if answer.status != 200:
        assert answer.status == 503, f"{answer.status} {answer.text[:300]}"
        assert "could not be read any more" in answer.error
        return None
    if kind != "query-indexed":
        return answer.result
    # A segment without its index is searched exactly: the hits may differ, their number may not.
    return len(answer.result["points"])


@pytest.mark.parametrize("share", [0, 0.6])
def test_a_file_that_is_cut_short_damages_its_segment_only(new_server, share):
    server = new_server(env=ENV).start()
    fill(server)
    wait_for_rest(server)
    other = "/collections/other"
    server.put(other, {"vectors": {"size": 1, "distance": "Dot"}}).result
    asked = list(questions())
    right = [ask(server, kind, body) for kind, body in asked]
    assert None not in right
    names = sorted({os.path.basename(file) for file in files(server)})
    assert "rows.qvs" in names and len(names) > 4
    for name in names:
        for file in files(server):
            if os.path.basename(file) != name:
                continue
            try:
                os.truncate(file, int(os.path.getsize(file) * share))
            except FileNotFoundError:
                continue
        deadline = time.monotonic() + patience(60)
        while True:
            answers = [ask(server, kind, body) for kind, body in asked]
            assert all(got is None or got == wanted for got, wanted in zip(answers, right)), name
            assert server.get(other).status == 200
            if None not in answers:
                break
            assert time.monotonic() < deadline, server.log_tail()
            time.sleep(0.05)
        assert server.alive()
        wait_for_rest(server)
    # Updates still work, and after a restart everything is correct.
    server.post("/collections/c/points/delete?wait=true", {"points": [5]}).result
    server.stop()
    server.start()
    assert server.post("/collections/c/points/count", {"exact": True}).result["count"] == POINTS - 1
    server.stop()
