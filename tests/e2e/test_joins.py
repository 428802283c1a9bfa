"""Joins over REST: k-NN graphs, duplicates, clusters and node vectors as jobs, against brute force, over restarts and faults."""
import json
import subprocess
import time

import numpy as np
import pytest
from patience import comes_true, patience
from quiver_server import SMALL_SEGMENTS, Server, binary

N, DIM = 600, 8
JOBS = "/v1/collections/things/jobs"
FIELDS = {"cosine": "Cosine", "dot": "Dot", "euclid": "Euclid", "taxi": "Manhattan"}
DISTANCES = ("euclid", "taxi")


def vectors(seed=3):
    """Twelve tight groups, so that there are duplicates and clusters; the last points lie anywhere."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((12, DIM)) * 3
    rows = centers[np.arange(N) % 12] + .2 * random.standard_normal((N, DIM))
    rows[-60:] = 3 * random.standard_normal((60, DIM))
    return rows.astype("f4")


def scores(rows, metric):
    rows = rows.astype("f8")
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if metric == "euclid":
        return np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(2))
    if metric == "taxi":
        return np.abs(rows[:, None] - rows[None]).sum(2)
    return rows @ rows.T


def fill(server, rows, shards=2):
    fields = {name: {"size": DIM, "distance": distance} for name, distance in FIELDS.items()}
    fields["nodes"] = {"size": 16, "distance": "Cosine"}
    server.put("/collections/things", {"shard_number": shards, "vectors": fields, "sparse_vectors": {
        "words": {}, "weighed": {"modifier": "idf"}}}).result
    points = []
    for i, row in enumerate(rows.tolist()):
        vector = dict.fromkeys(FIELDS, row) | {"words": {"indices": [i % 5, 5 + i % 7], "values": [1.0, 2.0]}}
        if i % 10 == 9:
            del vector["cosine"]  # a field that some points lack
        points.append({"id": i, "vector": vector, "payload": {"odd": i % 2}})
    for first in range(0, len(points), 100):
        server.put("/collections/things/points?wait=true", {"points": points[first:first + 100]}).result
    server.post("/collections/things/points/delete?wait=true", {"points": list(range(0, len(points), 25))}).result


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("joins") / "data", env=SMALL_SEGMENTS).start()
    fill(server, vectors())
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def forget_jobs(request):
    yield
    if "server" in request.fixturenames:
        server = request.getfixturevalue("server")
        for job in server.get(JOBS).result["jobs"]:
            server.request("DELETE", f"{JOBS}/{job['id']}").result


def wait(server, job, *states):
    def reached():
        status = server.get(f"{JOBS}/{job}").result
        return status if status["state"] in (states or ("done", "failed")) else None

    status = comes_true(reached, 30)
    assert status, server.get(f"{JOBS}/{job}").result
    return status


def lines(server, job):
    answer = server.get(f"{JOBS}/{job}/result")
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def run(server, **body):
    job = server.post(JOBS, body).result["id"]
    status = wait(server, job)
    assert status["state"] == "done" and status["progress"] == 1, status
    rows = lines(server, job)
    assert status["points"] == len(rows)
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), key=lambda i: (isinstance(i, str), i))
    return rows


def alive(field, odd=None):
    ids = np.arange(N)
    keep = ids % 25 != 0
    if field == "cosine":
        keep &= ids % 10 != 9
    if odd is not None:
        keep &= ids % 2 == odd
    return ids[keep]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("odd", [None, 1])
def test_knn_is_that_of_brute_force(server, field, odd):
    ids = alive(field, odd)
    truth = scores(vectors()[ids], field)
    sign = 1 if field in DISTANCES else -1
    np.fill_diagonal(truth, sign * np.inf)
    wanted = np.sort(sign * truth, axis=1)[:, :7]
    filter_ = None if odd is None else {"must": [{"key": "odd", "match": {"value": odd}}]}
    rows = run(server, knn={"using": field, "k": 7, "params": {"exact": True}, "filter": filter_})
    assert [row["id"] for row in rows] == ids.tolist()
    place = {int(point): i for i, point in enumerate(ids)}
    for i, row in enumerate(rows):
        found = np.array([sign * entry["score"] for entry in row["neighbours"]])
        np.testing.assert_allclose(found, wanted[i], rtol=1e-4, atol=1e-4)
        for entry in row["neighbours"]:
            assert entry["id"] != row["id"]
            assert abs(entry["score"] - truth[i, place[entry["id"]]]) < 1e-3


def test_knn_with_a_threshold_and_of_sparse_vectors(server):
    for field, least in (("cosine", .9), ("euclid", 1.0)):
        for row in run(server, knn={"using": field, "k": 20, "min_score": least}):
            for entry in row["neighbours"]:
                assert entry["score"] <= least if field == "euclid" else entry["score"] >= least
    rows = run(server, knn={"using": "words", "k": 3})
    assert all(entry["score"] == 5 for row in rows for entry in row["neighbours"])


@pytest.mark.parametrize(("field", "least"), [("cosine", .99), ("dot", 80), ("euclid", .5), ("taxi", 1.1)])
def test_duplicates_are_all_pairs_and_their_groups(server, field, least):
    ids = alive(field)
    truth = scores(vectors()[ids], field)
    similar = truth <= least if field in DISTANCES else truth >= least
    np.fill_diagonal(similar, False)
    margin = np.abs(truth - least) < 1e-4
    pairs = {(int(ids[a]), int(ids[b])) for a, b in zip(*np.nonzero(similar & ~margin))}
    unsure = {(int(ids[a]), int(ids[b])) for a, b in zip(*np.nonzero(margin))}
    assert 50 < len(pairs) < 100_000
    rows = run(server, duplicates={"using": field, "min_score": least})
    found = {(row["id"], entry["id"]) for row in rows for entry in row["neighbours"]}
    assert pairs <= found <= pairs | unsure
    group = {row["id"]: row["id"] for row in rows}
    changed = True
    while changed:  # slow and obvious
        changed = False
        for a, b in found:
            least_id = min(group[a], group[b])
            changed |= group[a] != least_id or group[b] != least_id
            group[a] = group[b] = least_id
    assert {row["id"]: row["kept"] for row in rows} == group
    largest = run(server, duplicates={"using": field, "min_score": least, "keep": "largest_id"})
    members = {}
    for point, first in group.items():
        members.setdefault(first, []).append(point)
    assert all(row["kept"] == max(members[group[row["id"]]]) for row in largest)


def test_clusters_are_the_groups_that_were_made(server):
    rows = run(server, clusters={"using": "euclid", "k": 15, "min_size": 10})
    of = {row["id"]: row["cluster"] for row in rows}
    for group in range(12):
        found = [of[i] for i in range(group, N - 60, 12) if i in of]
        most = max(set(found), key=found.count)
        assert most is not None and found.count(most) >= .9 * len(found), (group, found)
    assert len({cluster for cluster in of.values() if cluster is not None}) >= 12
    noise = [of[i] for i in range(N - 60, N) if i in of]
    assert noise.count(None) > .5 * len(noise)
    assert all(0 <= row["strength"] <= 1 and (row["cluster"] is not None or row["strength"] == 0) for row in rows)


def test_node_vectors_tell_groups_apart_and_depend_on_the_seed(server):
    body = {"using": "euclid", "k": 8, "size": 16, "seed": 5}
    rows = run(server, node_vectors=body)
    assert run(server, node_vectors=body) == rows
    assert run(server, node_vectors=body | {"seed": 6}) != rows
    of = {row["id"]: np.array(row["vector"]) for row in rows}
    unit = {i: v / np.linalg.norm(v) for i, v in of.items()}
    same = [unit[i] @ unit[i + 12] for i in range(1, 400) if i in unit and i + 12 in unit]
    other = [unit[i] @ unit[i + 1] for i in range(1, 400) if i in unit and i + 1 in unit]
    assert np.mean(same) > .7 > .5 > np.mean(other)


def test_node_vectors_of_links_in_payloads(new_server):
    """Papers of a group cite one another: their vectors are alike. What is no id of a point counts for nothing."""
    server = new_server(env=SMALL_SEGMENTS).start()
    server.put("/collections/things", {"vectors": {"size": 2, "distance": "Dot"}}).result
    uuid = "5c56c793-69f3-4fbf-87e6-c4bf54c28c26"
    points = [{"id": i, "vector": [1, i], "payload": {"cites": [(i + 4) % 80, (i + 8) % 80, i, 999, -1, "no id", None]}} for i in range(80)]
    points += [{"id": 100, "vector": [1, 0], "payload": {"cites": uuid}}, {"id": uuid, "vector": [0, 1]},
               {"id": 101, "vector": [0, 1], "payload": {"cites": 999}}, {"id": 102, "vector": [0, 1]}]
    server.put("/collections/things/points?wait=true", {"points": points}).result
    body = {"links": "cites", "size": 32}
    rows = run(server, node_vectors=body)
    assert [row["id"] for row in rows] == [*range(80), 100, uuid], "points without a link have no line"
    assert run(server, node_vectors=body) == rows
    unit = [np.array(row["vector"]) / np.linalg.norm(row["vector"]) for row in rows]
    same = np.mean([unit[i] @ unit[(i + 4) % 80] for i in range(80)])
    other = np.mean([unit[i] @ unit[(i + 1) % 80] for i in range(80)])
    assert same > other + .4, (same, other)
    assert run(server, node_vectors=body | {"links": "cites[]"}) == rows[:80], "elements of arrays alone"
    assert run(server, node_vectors=body | {"filter": {"must": [{"has_id": [100, 0]}]}}) == []
    big = 2**63 + 5
    server.put("/collections/things/points?wait=true", {"points": [
        {"id": big, "vector": [1, 1], "payload": {"near": [{"id": uuid.upper()}, {"id": 7.0}, {"id": "7"}]}},
        {"id": 103, "vector": [1, 1], "payload": {"near": [{"id": big}]}}]}).result
    assert [row["id"] for row in run(server, node_vectors=body | {"links": "near[].id"})] == [103, big, uuid]
    for bad, text in (({"k": 3}, "node_vectors.k: is of the k-NN graph"), ({"params": {}}, "is of the k-NN graph"), ({"links": ""}, "a name"),
                      ({"links": "a..b"}, "a..b")):
        answer = server.post("/v1/collections/things/jobs", {"node_vectors": body | bad})
        assert answer.status in (400, 422) and text in answer.text, answer.text
    server.stop()


def test_outcomes_are_written_where_asked(new_server):
    server = new_server(env=SMALL_SEGMENTS).start()
    rows = vectors()[:200]
    fill(server, rows)
    before = server.post("/collections/things/points/scroll", {"limit": 500, "with_payload": True}).result["points"]
    run(server, knn={"using": "dot", "k": 3})
    run(server, duplicates={"using": "euclid", "min_score": .6})
    after = server.post("/collections/things/points/scroll", {"limit": 500, "with_payload": True}).result["points"]
    assert after == before, "a job that was not asked to has changed points"
    near = {row["id"]: row["neighbours"] for row in run(server, knn={"using": "dot", "k": 3, "into": "near \"by\""})}
    pairs = run(server, duplicates={"using": "euclid", "min_score": .6, "mark": "dup_of"})
    copies = {row["id"]: row["kept"] for row in pairs if row["kept"] != row["id"]}
    topics = {row["id"]: row["cluster"] for row in run(server, clusters={"using": "dot", "into": "topic"})}
    nodes = {row["id"]: row["vector"] for row in run(server, node_vectors={"using": "dot", "size": 16, "into": "nodes"})}
    assert copies
    found = server.post("/collections/things/points/scroll", {"limit": 500, "with_vector": ["nodes"]}).result["points"]
    for point in found:
        payload = point["payload"]
        assert [e["id"] for e in payload["near \"by\""]] == [e["id"] for e in near[point["id"]]]
        assert payload.get("dup_of") == copies.get(point["id"])
        assert payload["topic"] == topics[point["id"]] and payload["odd"] == point["id"] % 2
        wanted = np.array(nodes[point["id"]])
        np.testing.assert_allclose(point["vector"]["nodes"], wanted / np.linalg.norm(wanted), atol=1e-5)
    server.stop()


def slow_job(server):
    """A job that takes minutes."""
    return server.post(JOBS, {"knn": {"using": "slow", "k": 10, "params": {"exact": True}}}).result["id"]


@pytest.fixture()
def large(new_server):
    server = new_server().start()
    server.put("/collections/things", {"vectors": {"slow": {"size": 256, "distance": "Manhattan"}}}).result
    random = np.random.default_rng(1)
    for first in range(0, 20000, 1000):
        points = [{"id": first + i, "vector": {"slow": row}} for i, row in enumerate(random.random((1000, 256)).round(3).tolist())]
        server.put("/collections/things/points?wait=true", {"points": points}).result
    return server


def test_jobs_are_cancelled_kept_over_restarts_and_go_with_their_collection(large):
    server = large
    first, second = slow_job(server), slow_job(server)
    status = wait(server, first, "running")
    while (status := server.get(f"{JOBS}/{first}").result)["progress"] == 0:
        time.sleep(.02)
    assert 0 < status["progress"] < 1 and status["eta_seconds"] > 0
    assert server.get(f"{JOBS}/{second}").result["state"] == "waiting"
    answer = server.get(f"{JOBS}/{first}/result")
    assert answer.status == 400 and "is running: it has no result" in answer.error
    began = time.monotonic()
    server.request("DELETE", f"{JOBS}/{first}").result
    assert time.monotonic() - began < patience(1)
    assert server.get(f"{JOBS}/{first}").status == 404
    wait(server, second, "running")
    server.kill9()
    server.start()
    assert [job["id"] for job in server.get(JOBS).result["jobs"]] == [second]
    wait(server, second, "running")
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < patience(5)
    server.start()
    wait(server, second, "running")
    began = time.monotonic()
    server.request("DELETE", "/collections/things").result
    assert time.monotonic() - began < patience(2)
    assert not server.files("collections/**/*.job")
    server.stop()


def check(server):
    return subprocess.run([binary(), "check", "--data-dir", server.data_dir], capture_output=True, text=True).stdout


def test_results_survive_restarts_and_damaged_files_are_told(new_server):
    server = new_server(env=SMALL_SEGMENTS).start()
    fill(server, vectors()[:100], shards=1)
    jobs = [server.post(JOBS, {"knn": {"using": "dot", "k": 2}}).result["id"] for _ in range(3)]
    for job in jobs:
        assert wait(server, job)["state"] == "done"
    rows = lines(server, jobs[0])
    server.stop()
    assert "jobs" not in check(server)
    for name, job in ((".result", jobs[1]), (".job", jobs[2])):
        (path,) = (server.data_dir / p for p in server.files(f"collections/*/jobs/{job}{name}"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
    told = check(server)
    assert f"jobs/{jobs[1]}.result" in told and f"jobs/{jobs[2]}.job" in told and f"jobs/{jobs[0]}" not in told
    server.start()
    assert lines(server, jobs[0]) == rows
    assert server.get(f"{JOBS}/{jobs[1]}").result["state"] == "done"
    answer = server.get(f"{JOBS}/{jobs[1]}/result")
    assert answer.status == 503 and f"{jobs[1]}.result" in answer.error
    status = server.get(f"{JOBS}/{jobs[2]}").result
    assert status["state"] == "failed" and f"{jobs[2]}.job" in status["error"] and status["request"] is None
    assert server.get(f"{JOBS}/{jobs[2]}/result").status == 503
    for job in jobs:
        server.request("DELETE", f"{JOBS}/{job}").result
    assert not [p for p in server.files("collections/*/jobs/*")]
    server.stop()


BAD = [
    ({}, 400, "0 jobs, expected one of"),
    ({"knn": {}, "clusters": {}}, 400, "2 jobs, expected one of"),
    ({"join": {}}, 400, "join"),
    ({"knn": 3}, 400, "integer `3`"),
    ({"knn": {"using": "dot", "k": 0}}, 422, "knn.k: value 0 invalid, must be 1 or larger"),
    ({"knn": {"using": "dot", "k": 1001}}, 422, "must be 1000 or smaller"),
    ({"knn": {"using": "nowhere"}}, 400, "nowhere"),
    ({"knn": {"using": "weighed"}}, 400, "`idf` modifier"),
    ({"knn": {"using": "dot", "into": ""}}, 422, "a name"),
    ({"knn": {"using": "dot", "params": {"recall": .9}}}, 400, "`recall` is for single searches"),
    ({"knn": {"using": "dot", "params": {"dense": {"colour": 3}}}}, 400, "colour"),
    ({"duplicates": {"using": "dot"}}, 400, "min_score"),
    ({"duplicates": {"using": "dot", "min_score": 1, "keep": "oldest"}}, 400, "unknown variant `oldest`"),
    ({"clusters": {"using": "dot", "select": "roots"}}, 400, "unknown variant `roots`, expected `stable` or `leaves`"),
    ({"clusters": {"using": "dot", "min_size": 1}}, 422, "2 or larger"),
    ({"clusters": {"using": "dot", "k": 5, "min_samples": 6}}, 422, "5 or smaller"),
    ({"node_vectors": {"using": "dot", "weights": [0, 0]}}, 422, "not all 0"),
    ({"node_vectors": {"using": "dot", "size": 7, "into": "nodes"}}, 400, "7 dimensions do not go into the dense field `nodes` of 16"),
    ({"node_vectors": {"using": "dot", "size": 7, "into": "nodex"}}, 400, "nodex"),
    ({"translate": {"using": "dot"}}, 400, "`to`"),
    ({"translate": {"using": "dot", "to": "nowhere"}}, 400, "nowhere"),
    ({"translate": {"using": "dot", "to": "dot"}}, 400, "`using` and `to` are both vector `dot`"),
    ({"translate": {"using": "dot", "to": "words"}}, 400, "from a dense field to another"),
    ({"translate": {"using": "dot", "to": "euclid", "into": "euclid"}}, 400, "estimates want a field of their own"),
    ({"translate": {"using": "dot", "to": "euclid", "into": "nodes"}}, 400, "8 dimensions do not go into the dense field `nodes` of 16"),
    ({"translate": {"using": "dot", "to": "nodes", "pairs": 99}}, 422, "must be 100 or larger"),
    ({"translate": {"using": "dot", "to": "nodes", "anchors": 8193}}, 422, "must be 8192 or smaller"),
    ({"translate": {"using": "dot", "to": "nodes", "k": 3}}, 400, "k"),
]


@pytest.mark.parametrize(("body", "status", "text"), BAD)
def test_what_is_refused_says_why(server, body, status, text):
    answer = server.post(JOBS, body)
    assert answer.status == status and text in answer.error, answer.text
    assert server.get(JOBS).result["jobs"] == []


def test_numbers_of_jobs_and_their_limit(server):
    assert server.get(f"{JOBS}/77").status == 404 and "no job 77" in server.get(f"{JOBS}/77").error
    assert server.get(f"{JOBS}/seven").status == 400
    assert server.request("DELETE", f"{JOBS}/77").status == 404
    assert server.post("/v1/collections/other/jobs", {"knn": {}}).status == 404
    for _ in range(32):
        server.post(JOBS, {"knn": {"using": "dot", "k": 1}}).result
    answer = server.post(JOBS, {"knn": {"using": "dot", "k": 1}})
    assert answer.status == 429 and "has 32 jobs" in answer.error


@pytest.fixture()
def two_models(new_server):
    """900 points with vectors of an old model; a third has those of a new one, too."""
    server = new_server(env=SMALL_SEGMENTS).start()
    server.put("/collections/things", {"shard_number": 2, "vectors": {
        name: {"size": size, "distance": "Cosine"} for name, size in (("old", 8), ("new", 12), ("guess", 12))}}).result
    random = np.random.default_rng(4)
    old = random.standard_normal((900, 8)).astype("f4")
    new = np.tanh(old @ random.standard_normal((8, 12)))
    points = [{"id": i, "vector": {"old": old[i].tolist()} | ({"new": new[i].tolist()} if i % 3 == 0 else {})} for i in range(900)]
    for first in range(0, 900, 100):
        server.put("/collections/things/points?wait=true", {"points": points[first:first + 100]}).result
    return server, new / np.linalg.norm(new, axis=1, keepdims=True)


def stored(server, field):
    page = server.post("/collections/things/points/scroll", {"limit": 1000, "with_vector": [field], "with_payload": False}).result
    return {point["id"]: np.array(point["vector"][field]) for point in page["points"] if field in (point["vector"] or {})}


def test_estimates_of_another_model_are_searched_beside_its_vectors(two_models):
    server, new = two_models
    job = server.post(JOBS, {"translate": {"using": "old", "to": "new", "into": "guess", "anchors": 200}}).result["id"]
    status = wait(server, job)
    assert status["state"] == "done" and status["points"] == 600, status
    facts = status["translation"]
    assert facts["pairs"] == 240 and facts["judged"] == 60 and facts["recall"] > .6 and facts["r2"] > .7
    assert .8 < facts["weight"] < 1.2
    guesses = stored(server, "guess")
    assert sorted(guesses) == [i for i in range(900) if i % 3]
    likeness = [guesses[i] @ new[i] for i in guesses]
    assert np.mean(likeness) > .9
    assert len(stored(server, "new")) == 300, "true vectors are left alone"

    found = 0
    for i in range(1, 300):
        query = new[i].tolist()
        body = {"prefetch": [{"query": query, "using": "new", "limit": 10},
                             {"query": query, "using": "guess", "limit": 10, "filter": {"must_not": [{"has_vector": "new"}]}}],
                "query": {"linear": {"weights": [1, facts["weight"]], "normalize": "none", "missing": "zero"}}, "limit": 10}
        hits = server.post("/collections/things/points/query", body).result["points"]
        assert all(a["score"] >= b["score"] for a, b in zip(hits, hits[1:]))
        found += len({hit["id"] for hit in hits} & set(np.argsort(-new @ new[i])[:10].tolist()))
    assert found > .6 * 10 * 299

    server.kill9()
    server.start()
    assert server.get(f"{JOBS}/{job}").result["translation"] == facts
    assert len(lines(server, job)) == 600
    assert {i: v.tolist() for i, v in stored(server, "guess").items()} == {i: v.tolist() for i, v in guesses.items()}
    server.stop()


def test_a_translation_without_enough_pairs_fails_and_says_so(two_models):
    server, _ = two_models
    server.post("/collections/things/points/delete?wait=true", {"points": list(range(0, 900, 6))}).result
    server.post("/collections/things/points/vectors/delete?wait=true", {"points": list(range(303, 900, 6)), "vector": ["new"]}).result
    status = wait(server, server.post(JOBS, {"translate": {"using": "old", "to": "new"}}).result["id"])
    assert status["state"] == "failed"
    assert status["error"] == "50 points have vectors of both `old` and `new`, wanted at least 100"
    assert "translation" not in status
    server.stop()
