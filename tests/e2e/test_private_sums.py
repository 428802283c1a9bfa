"""Differentially private sums over REST: against numpy, over restarts, kill -9, snapshots and damage."""
import math
import random
import subprocess
import threading
import time

import numpy as np
import pytest
from patience import patience
from quiver_cluster import Cluster
from quiver_server import SMALL_SEGMENTS, Server, binary
from test_access import KEYS, SECRET, bearer, grant

N, DIM = 400, 8
PRIVATE = "/v1/collections/people/private"
GAUSSIAN = {"gaussian": {"bandwidth": 2}}
LARGE_EPSILON = 40  # little noise: what is tested is the sum


def vectors():
    return np.random.default_rng(5).standard_normal((N, DIM)).astype("f4")


def fill(server, collection="people", **kwargs):
    fields = {"far": {"size": DIM, "distance": "Euclid"}, "angle": {"size": DIM, "distance": "Cosine"},
              "half": {"size": DIM, "distance": "Dot", "datatype": "float16"},
              "taxi": {"size": DIM, "distance": "Manhattan"}}
    server.put(f"/collections/{collection}", {"shard_number": 2, "vectors": fields, "sparse_vectors": {"words": {}}}, **kwargs).result
    points = [{"id": i, "payload": {"odd": i % 2}, "vector": dict.fromkeys(fields, row)} for i, row in enumerate(vectors().tolist())]
    for point in points[::10]:
        del point["vector"]["angle"]
    for first in range(0, N, 100):
        server.put(f"/collections/{collection}/points?wait=true", {"points": points[first:first + 100]}, **kwargs).result
    server.post(f"/collections/{collection}/points/delete?wait=true", {"points": list(range(0, N, 25))}, **kwargs).result


def set_budget(server, epsilon, delta=1e-3, path=PRIVATE):
    assert server.put(path, {"budget": {"epsilon": epsilon, "delta": delta}}).result is True


def make(server, name, epsilon=1, path=PRIVATE, **members):
    body = {"using": "far", "kernel": GAUSSIAN, "features": 256, "epsilon": epsilon, "delta": 1e-6} | members
    return server.put(f"{path}/{name}", body)


def ask(server, name, queries, path=PRIVATE):
    return server.post(f"{path}/{name}/density", {"vectors": np.asarray(queries).tolist()}).result["estimates"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("private") / "data", env=SMALL_SEGMENTS).start()
    fill(server)
    set_budget(server, 10_000)
    yield server
    server.stop()


def alive(field, odd=None):
    ids = np.arange(N)
    keep = ids % 25 != 0
    if field == "angle":
        keep &= ids % 10 != 0
    if odd is not None:
        keep &= ids % 2 == odd
    return ids[keep]


def unit(rows):
    rows = np.asarray(rows, "f8")
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def kernel_of(field, kernel, query, rows):
    rows, query = np.asarray(rows, "f8"), np.asarray(query, "f8")
    if field != "far":
        rows, query = unit(rows), unit(query)
    if "cosine" in kernel:
        return rows @ query
    return np.exp(-((rows - query) ** 2).sum(1) / (2 * kernel["gaussian"]["bandwidth"] ** 2))


@pytest.mark.parametrize(("field", "kernel"), [("far", GAUSSIAN), ("angle", GAUSSIAN), ("half", GAUSSIAN),
                                               ("angle", {"cosine": {}}), ("half", {"cosine": {}})])
@pytest.mark.parametrize("odd", [None, 1])
def test_estimates_are_those_of_numpy(server, field, kernel, odd):
    name = f"{field}-{next(iter(kernel))}-{odd}"
    random_features = {"features": 2048, "seed": 7} if "gaussian" in kernel else {"features": None}
    filter_ = None if odd is None else {"must": [{"key": "odd", "match": {"value": odd}}]}
    made = make(server, name, LARGE_EPSILON, using=field, kernel=kernel, filter=filter_, **random_features).result
    ids = alive(field, odd)
    assert abs(made["count"] - len(ids)) < 6 * made["count_deviation"]
    assert made["features"] == (2048 if "gaussian" in kernel else DIM)
    queries = np.random.default_rng(6).standard_normal((20, DIM)).astype("f4")
    for query, estimate in zip(queries, ask(server, name, queries)):
        truth = kernel_of(field, kernel, query, vectors()[ids]).sum()
        assert abs(estimate["sum"] - truth) < 6 * estimate["deviation"]
        assert abs(estimate["mean"] - truth / len(ids)) < 6 * estimate["mean_deviation"]
        assert estimate["deviation"] < .1 * len(ids)


def test_a_release_is_made_once_and_told_for_ever(new_server):
    server = new_server().start()
    fill(server)
    assert server.get(PRIVATE).result == {"budget": None, "spent": {"epsilon": 0, "delta": 0}, "releases": []}
    answer = make(server, "a")
    assert answer.status == 403 and "the collection has no budget" in answer.error
    set_budget(server, 2.5, 1e-5)
    made = make(server, "a", filter={"must": [{"key": "odd", "match": {"value": 1}}]}).result
    assert made["state"] == "kept" and made["epsilon"] == 1 and made["delta"] == 1e-6 and made["name"] == "a"
    assert make(server, "a").status == 409
    make(server, "b/c é".replace("/", "%2F").replace(" ", "%20").replace("é", "%C3%A9")).result
    answer = make(server, "d")
    assert answer.status == 403 and answer.error == (
        "Forbidden: private sum `d` asks for epsilon 1 and delta 1e-06; epsilon 2 and delta 2e-06 are spent of the "
        "budget of epsilon 2.5 and delta 1e-05")
    report = server.get(PRIVATE).result
    assert [r["name"] for r in report["releases"]] == ["a", "b/c é"] and report["spent"] == {"epsilon": 2, "delta": 2e-6}
    assert report["releases"][0]["request"]["filter"] == {"must": [{"key": "odd", "match": {"value": 1}}]}
    estimates = ask(server, "a", vectors()[:3])
    for _ in range(2):
        server.stop()
        server.start()
        assert server.get(PRIVATE).result == report
        assert server.get(f"{PRIVATE}/a").result == made
        assert ask(server, "a", vectors()[:3]) == estimates
    server.post("/collections/people/points/delete?wait=true", {"points": list(range(N))}).result
    assert ask(server, "a", vectors()[:3]) == estimates, "a release is of the moment when it was made"
    assert server.delete(f"{PRIVATE}/a").result is True
    assert server.get(f"{PRIVATE}/a").status == 404 and server.delete(f"{PRIVATE}/a").status == 404
    assert server.get(PRIVATE).result["spent"] == report["spent"]
    assert make(server, "a").status == 403, "nothing is given back"
    server.stop()


def test_noise_is_new_each_time_and_as_large_as_it_says(server):
    answers = [make(server, f"noise-{i}", .5, features=64).result for i in range(30)]
    count, deviation = len(alive("far")), answers[0]["count_deviation"]
    errors = np.array([answer["count"] - count for answer in answers]) / deviation
    assert len(set(errors)) == 30 and .4 < np.sqrt(np.mean(errors ** 2)) < 2
    least = math.sqrt(2 * math.log(1.25 / 1e-6)) / .5 * .8  # the analytic Gaussian wants less than the classic formula
    assert answers[0]["noise_deviation"] > least


BAD = [
    ("PUT", "", {}, 400, "budget"),
    ("PUT", "", {"budget": {"epsilon": 1}}, 400, "delta"),
    ("PUT", "", {"budget": {"epsilon": -1, "delta": 0}}, 422, "budget.epsilon: value -1 invalid, must be from 0 to"),
    ("PUT", "", {"budget": {"epsilon": 1, "delta": 0, "rho": 1}}, 400, "rho"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "epsilon": 1}, 400, "delta"),
    ("PUT", "/x", {"epsilon": 1, "delta": 1e-6}, 400, "kernel"),
    ("PUT", "/x", {"kernel": {}, "epsilon": 1, "delta": 1e-6}, 400, "0 kernels, expected one of `gaussian`, `cosine`"),
    ("PUT", "/x", {"kernel": {"laplace": {}}, "epsilon": 1, "delta": 1e-6}, 400, "laplace"),
    ("PUT", "/x", {"kernel": {"gaussian": {}}, "epsilon": 1, "delta": 1e-6}, 400, "bandwidth"),
    ("PUT", "/x", {"kernel": {"gaussian": {"bandwidth": 0}}, "epsilon": 1, "delta": 1e-6}, 422,
     "kernel.gaussian.bandwidth: value 0 invalid, must be from 1e-06 to 1000000"),
    ("PUT", "/x", {"kernel": {"cosine": {"bandwidth": 1}}, "epsilon": 1, "delta": 1e-6}, 400, "bandwidth"),
    ("PUT", "/x", {"kernel": {"cosine": {}}, "features": 64, "epsilon": 1, "delta": 1e-6}, 400, "no random features"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "features": 65, "epsilon": 1, "delta": 1e-6}, 422, "value 65 invalid, must be even"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "features": 8, "epsilon": 1, "delta": 1e-6}, 422, "must be 64 or larger"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "epsilon": 0, "delta": 1e-6}, 422, "epsilon: value 0 invalid, must be from 0.001 to 50"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "epsilon": 1, "delta": 0}, 422, "delta: value 0 invalid"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "epsilon": "1", "delta": 1e-6}, 400, "string"),
    ("PUT", "/x", {"kernel": GAUSSIAN, "epsilon": 1, "delta": 1e-6, "sigma": 1}, 400, "sigma"),
    ("PUT", "/x", {"using": "nowhere", "kernel": GAUSSIAN, "epsilon": 1, "delta": 1e-6}, 400, "nowhere"),
    ("PUT", "/x", {"using": "words", "kernel": GAUSSIAN, "epsilon": 1, "delta": 1e-6}, 400, "private sums are of dense vectors"),
    ("PUT", "/x", {"using": "taxi", "kernel": GAUSSIAN, "epsilon": 1, "delta": 1e-6}, 400, "under Manhattan"),
    ("PUT", "/x", {"using": "far", "kernel": {"cosine": {}}, "epsilon": 1, "delta": 1e-6}, 400, "is for Dot and Cosine"),
    ("PUT", "/" + "n" * 256, {"using": "far", "kernel": GAUSSIAN, "epsilon": 1, "delta": 1e-6}, 422, "256 bytes, wanted 255"),
    ("POST", "/given/density", {}, 400, "vectors"),
    ("POST", "/given/density", {"vectors": [[1] * DIM, [1, 2]]}, 400, f"vectors[1] has 2 dimensions, private sum `given` is of {DIM}"),
    ("POST", "/given/density", {"vectors": [["a"] * DIM]}, 400, "vectors[0]"),
    ("POST", "/given/density", {"vectors": [[1]] * 1001}, 422, "1000 or fewer"),
    ("POST", "/given/density", {"vectors": [], "limit": 3}, 400, "limit"),
    ("POST", "/nothing/density", {"vectors": []}, 404, "there is no private sum `nothing`"),
    ("GET", "/nothing", None, 404, "there is no private sum `nothing`"),
]


def test_what_is_refused_says_why_and_costs_nothing(server):
    make(server, "given", .1).result
    spent = server.get(PRIVATE).result["spent"]
    for method, path, body, status, text in BAD:
        answer = server.request(method, PRIVATE + path, body)
        assert answer.status == status and text in answer.error, (method, path, body, answer.text)
    assert server.get("/v1/collections/nowhere/private").status == 404
    assert server.get(PRIVATE).result["spent"] == spent


def test_rights(new_server):
    server = new_server(env=KEYS).start()
    fill(server, headers=bearer(SECRET))
    owner, writer, reader = bearer(SECRET), bearer(grant("rw", "people")), bearer(grant("r", "people"))
    points, stranger = bearer(grant("prw", "people")), bearer(grant("rw", "c"))
    budget = {"budget": {"epsilon": 1, "delta": 1e-3}}
    body = {"using": "far", "kernel": GAUSSIAN, "features": 64, "epsilon": 1, "delta": 1e-6}
    for caller in (writer, reader, points, stranger):
        assert server.put(PRIVATE, budget, headers=caller).status == 403
    server.put(PRIVATE, budget, headers=owner).result
    for caller in (reader, points, stranger):
        assert server.put(f"{PRIVATE}/a", body, headers=caller).status == 403
    server.put(f"{PRIVATE}/a", body, headers=writer).result
    question = {"vectors": [[1] * DIM]}
    for caller in (owner, writer, reader, points):
        server.post(f"{PRIVATE}/a/density", question, headers=caller).result
        assert server.get(PRIVATE, headers=caller).result["spent"]["epsilon"] == 1
    assert server.post(f"{PRIVATE}/a/density", question, headers=stranger).status == 403
    for caller in (reader, points, stranger):
        assert server.delete(f"{PRIVATE}/a", headers=caller).status == 403
    server.delete(f"{PRIVATE}/a", headers=writer).result
    server.stop()


def test_what_was_answered_is_spent_over_kill9(new_server):
    server = new_server().start()
    fill(server)
    set_budget(server, 100_000, 1)
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    answered = {}
    n_begun = 0
    for round_ in range(6):
        stop = threading.Event()

        def release(worker, round_=round_, stop=stop):
            number = 0
            while not stop.is_set():
                name = f"r{round_}-{worker}-{number}"
                number += 1
                try:
                    answer = make(server, name, .25, features=64)
                    if answer.status == 200:
                        answered[name] = answer.result
                except OSError:
                    return
                except Exception as e:  # http.client has errors of its own for a server that is gone
                    assert "http.client" in type(e).__module__, e
                    return

        workers = [threading.Thread(target=release, args=(worker,)) for worker in range(3)]
        before = len(answered)
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + patience(20)
        while len(answered) < before + 3 and time.monotonic() < deadline:
            time.sleep(.001)
        time.sleep(chance.random() * .05)
        server.kill9()
        stop.set()
        for worker in workers:
            worker.join()
        n_begun = len(answered)
        server.start()
        report = server.get(PRIVATE).result
        assert report["spent"]["epsilon"] >= .25 * n_begun
        assert report["spent"]["epsilon"] == .25 * len(report["releases"])
        listed = {r["name"]: r for r in report["releases"]}
        for name, was in answered.items():
            assert listed[name]["state"] == "kept"
            assert server.get(f"{PRIVATE}/{name}").result == was
        for name, line in listed.items():
            if name not in answered and line["state"] == "lost":
                answer = server.post(f"{PRIVATE}/{name}/density", {"vectors": []})
                assert answer.status == 400 and "was lost" in answer.error
        if len(listed) > 150:
            break
    assert n_begun >= 3
    server.stop()


def test_snapshots_do_not_turn_the_ledger_back(new_server):
    server = new_server().start()
    fill(server)
    set_budget(server, 5)
    make(server, "a").result
    snapshot = server.post("/collections/people/snapshots?wait=true").result["name"]
    made = make(server, "b").result
    body = {"location": f"file://{server.data_dir}/snapshots/people/{snapshot}"}
    assert server.put("/collections/people/snapshots/recover?wait=true", body).result is True
    report = server.get(PRIVATE).result
    assert report["spent"]["epsilon"] == 2 and [r["name"] for r in report["releases"]] == ["a", "b"]
    assert server.get(f"{PRIVATE}/b").result == made
    server.kill9()
    server.start()
    assert server.get(PRIVATE).result == report
    assert server.put("/collections/other/snapshots/recover?wait=true", body).result is True
    nothing = {"budget": None, "spent": {"epsilon": 0, "delta": 0}, "releases": []}
    assert server.get("/v1/collections/other/private").result == nothing
    assert server.delete("/collections/people").result is True
    fill(server)
    assert server.get(PRIVATE).result == nothing
    assert make(server, "a").status == 403
    server.stop()


def check(server):
    return subprocess.run([binary(), "check", "--data-dir", server.data_dir], capture_output=True, text=True).stdout


def test_damage_is_told(new_server):
    server = new_server().start()
    fill(server)
    set_budget(server, 5)
    make(server, "a").result
    make(server, "b").result
    server.stop()
    assert "private" not in check(server)
    (ledger,) = (server.data_dir / p for p in server.files("collections/*/private/ledger"))
    sound, first = ledger.read_bytes(), ledger.with_name("1.release")

    def flip(path):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)

    flip(ledger)
    flip(first)
    told = check(server)
    assert "private/ledger" in told and "private/1.release" in told and "2.release" not in told
    server.start()
    for answer in (server.get(PRIVATE), make(server, "c"), server.put(PRIVATE, {"budget": {"epsilon": 9, "delta": 1}})):
        assert answer.status == 503 and "private/ledger" in answer.error
    assert server.post("/collections/people/points/count", {}).result["count"] == N - N // 25
    server.stop()
    ledger.write_bytes(sound)
    server.start()
    answer = server.get(f"{PRIVATE}/a")
    assert answer.status == 503 and "1.release" in answer.error
    assert ask(server, "b", vectors()[:1])
    server.stop()


def test_a_cluster_refuses(tmp_path):
    cluster = Cluster(tmp_path / "cluster").start()
    try:
        leader = cluster.leader()
        fill(leader)
        for node in (leader, cluster.followers()[0]):
            for answer in (node.put(PRIVATE, {"budget": {"epsilon": 1, "delta": 1e-3}}), make(node, "a")):
                assert answer.status == 400 and "a node of a cluster makes no private sums" in answer.error
    finally:
        cluster.close()
