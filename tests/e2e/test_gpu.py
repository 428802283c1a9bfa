"""Searches with an emulated device: its answers are those of the CPU, and /v1/gpu says what it did."""
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time

import pytest
from grpc import RpcError, StatusCode, insecure_channel
from patience import comes_true, patience
from qdrant_client import grpc as messages
from qdrant_client.grpc import PointsStub
from quiver_server import REPOSITORY, binary

# Any segment may go to the device; segments are sealed by their number of rows.
EMULATED = {"QUIVER__GPU__DEVICES": "emulated", "QUIVER__GPU__MIN_MB": "0"}
SEALED = {"QUIVER__OPTIMIZER__SEAL_ROWS": "400", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05",
          "QUIVER__THREADS__COMPUTE": "2"}
DIM = 24


def random_vector(name, rng):
    if name == "tokens":
        return [[rng.gauss(0, 1) for _ in range(DIM)] for _ in range(rng.randrange(1, 12))]
    return [rng.randrange(256) if name == "bytes" else rng.gauss(0, 1) for _ in range(DIM)]


def fill(server, n=2000, seed=1):
    rng = random.Random(seed)
    vectors = {"dot": {"size": DIM, "distance": "Dot"}, "cosine": {"size": DIM, "distance": "Cosine"},
               "euclid": {"size": DIM, "distance": "Euclid", "datatype": "float16"},
               "bytes": {"size": DIM, "distance": "Euclid", "datatype": "uint8"},
               "manhattan": {"size": DIM, "distance": "Manhattan"},
               "tokens": {"size": DIM, "distance": "Cosine", "multivector_config": {"comparator": "max_sim"}}}
    server.request("PUT", "/collections/c", {"vectors": vectors}).result
    for first in range(0, n, 500):
        points = [{"id": i, "payload": {"n": i % 7}, "vector": {
            name: random_vector(name, rng) for name in vectors}}
            for i in range(first, first + 500)]
        server.request("PUT", "/collections/c/points?wait=true", {"points": points}).result
    server.request("POST", "/collections/c/points/delete?wait=true", {"points": list(range(0, n, 9))}).result


def queries(n, seed):
    rng = random.Random(seed)
    for i in range(n):
        name = ("dot", "cosine", "euclid", "bytes", "manhattan", "tokens")[i % 6]
        query = {"query": random_vector(name, rng), "using": name,
                 "limit": (1, 10, 60)[i % 3], "params": {"exact": True}}
        if i % 4 == 0:
            query["filter"] = {"must": [{"key": "n", "match": {"value": i % 7}}]}
        yield query


def hits(server, query):
    return [(p["id"], p["score"]) for p in server.request("POST", "/collections/c/points/query", query).result["points"]]


def gpu(server):
    return server.request("GET", "/v1/gpu").result


def wait_for_rows(server):
    """Asks until all that was asked for is on the device."""

    def are_there():
        before = gpu(server)["fallbacks"]["loading"]
        for query in queries(6, 3):
            hits(server, query)
        report = gpu(server)
        return report["fallbacks"]["loading"] == before and report["devices"][0]["resident_parts"] >= 5

    assert comes_true(are_there, 30), gpu(server)


def n_queries(server):
    """How many searches the device has answered."""
    return gpu(server)["devices"][0]["queries"]


def ways_of_segments(server):
    """The ways that one explained query took, a set for each segment.
    A segment that was merged just now answers by the CPU until its rows are on the device."""
    explained = {**next(queries(1, 6)), "explain": True}
    stage = server.request("POST", "/collections/c/points/query", explained).result["explain"]["stage"]
    return [{way["way"] for way in segment["ways"]} for segment in stage["segments"]]


def hits_at_once(server, asked):
    """The hits of all queries, each asked by a client of its own."""
    found = [None] * len(asked)

    def ask(i):
        found[i] = hits(server, asked[i])

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def hits_of_batch(server, asked):
    answers = server.request("POST", "/collections/c/points/query/batch", {"searches": asked}).result
    return [[(p["id"], p["score"]) for p in answer["points"]] for answer in answers]


def one_segment(n):
    """Settings under which n points are one segment, as another index would have other hits."""
    return SEALED | {"QUIVER__OPTIMIZER__SEAL_ROWS": str(n), "QUIVER__OPTIMIZER__IDLE_SEAL_S": "3600"}


def fill_and_index(server, config, points, index):
    server.request("PUT", "/collections/c", config | {"shard_number": 1}).result
    for first in range(0, len(points), 1000):
        server.request("PUT", "/collections/c/points?wait=true", {"points": points[first:first + 1000]}).result

    def indexes():
        return server.request("GET", "/v1/collections/c/indexes").result["indexes"]

    def n_indexed():
        return sum(i["vectors_count"] for i in indexes() if i["sealed"] and i["index"] == index)

    assert comes_true(lambda: n_indexed() == len(points), 60), indexes()


def test_answers_are_those_of_the_cpu(new_server):
    plain, device = new_server(env=SEALED).start(), new_server(env=SEALED | EMULATED).start()
    for server in (plain, device):
        fill(server)
    wait_for_rows(device)
    before = n_queries(device)
    for query in queries(150, 4):
        assert hits(device, query) == hits(plain, query), query
    batch = {"searches": list(queries(40, 5))}
    answers = [server.request("POST", "/collections/c/points/query/batch", batch).result for server in (plain, device)]
    assert answers[0] == answers[1]
    assert comes_true(lambda: hits(device, next(queries(1, 7))) and n_queries(device) > before + 100), gpu(device)
    assert comes_true(lambda: {"device"} in ways_of_segments(device)), ways_of_segments(device)


def asks_for(server, device, using="dot", **params):
    query = {"query": [1] * DIM, "using": using, "limit": 3, "params": {"device": device, **params}}
    return server.request("POST", "/collections/c/points/query", query)


def is_answered_by_devices(server, wanted):
    """Segments that merge at any time are on the device a little later: false until then. An answer must be the wanted one."""
    answer = asks_for(server, "gpu", exact=True)
    assert answer.status == 503 or answer.result == wanted
    return answer.status == 200


def telemetry_names_a_gpu(server):
    return server.request("GET", "/telemetry?details_level=1").result["app"]["features"]["gpu"]


def test_a_query_says_where_it_is_searched(new_server):
    server = new_server(env=SEALED | EMULATED).start()
    fill(server)
    wait_for_rows(server)
    assert telemetry_names_a_gpu(server)
    before = n_queries(server)
    wanted = [asks_for(server, "cpu", exact=True).result for _ in range(5)][0]
    assert n_queries(server) == before
    assert comes_true(lambda: is_answered_by_devices(server, wanted)), gpu(server)
    assert n_queries(server) > before
    assert asks_for(server, "auto", exact=True).result == wanted
    refused = asks_for(server, "gpu", using="manhattan", exact=True)
    assert refused.status == 503 and "`manhattan` is not on a device" in refused.text
    unknown = asks_for(server, "tpu")
    assert unknown.status == 400 and "params.device" in unknown.text and "`gpu`" in unknown.text


def test_a_query_over_grpc_says_where_it_is_searched(new_server):
    server = new_server(grpc=True, env=SEALED | EMULATED).start()
    fill(server, n=1000)
    wait_for_rows(server)
    points = PointsStub(insecure_channel(f"127.0.0.1:{server.grpc_port}"))

    def found(device, using="dot"):
        params = messages.SearchParams(exact=True)
        # A field of our own, which the client's message does not name: `device = 100`.
        params.MergeFromString(b"\xa2\x06" + bytes([len(device)]) + device.encode())
        query = messages.Query(nearest=messages.VectorInput(dense=messages.DenseVector(data=[1] * DIM)))
        asked = messages.QueryPoints(collection_name="c", query=query, using=using, params=params, limit=3)
        return [(point.id.num, point.score) for point in points.Query(asked, timeout=patience(30)).result]

    def error_of(device, using="dot"):
        with pytest.raises(RpcError) as raised:
            found(device, using)
        return raised.value

    wanted = found("cpu")
    before = n_queries(server)
    assert found("cpu") == wanted and n_queries(server) == before
    assert comes_true(lambda: found("auto") == wanted and n_queries(server) > before), gpu(server)
    refused = error_of("gpu", "manhattan")
    assert refused.code() == StatusCode.UNAVAILABLE and "`manhattan` is not on a device" in refused.details()
    unknown = error_of("tpu")
    assert unknown.code() == StatusCode.INVALID_ARGUMENT and "params.device" in unknown.details() and "`gpu`" in unknown.details()


def test_a_field_says_whether_devices_hold_it(new_server):
    """`on_gpu`: always there, also after a restart, without a search; or never."""
    server = new_server(env=SEALED | EMULATED).start()
    fill(server)

    def place(**fields):
        return server.request("PATCH", "/v1/collections/c/indexes", {"on_gpu": fields})

    def n_parts():
        return gpu(server)["devices"][0]["resident_parts"]

    assert n_parts() == 0
    assert place(dot="always").result is True
    assert comes_true(lambda: n_parts() > 0), gpu(server)
    server.stop()
    server.start()
    assert server.request("GET", "/v1/collections/c/indexes").result["on_gpu"] == {"dot": "always"}
    assert comes_true(lambda: n_parts() > 0), gpu(server)
    wanted = asks_for(server, "cpu", exact=True).result
    assert comes_true(lambda: is_answered_by_devices(server, wanted)), gpu(server)
    assert place(dot="never").result is True
    assert comes_true(lambda: n_parts() == 0), gpu(server)
    assert asks_for(server, "auto", exact=True).result == wanted
    refused = asks_for(server, "gpu", exact=True)
    assert refused.status == 503 and "its `on_gpu` is `never`" in refused.text
    assert n_parts() == 0
    nothing = server.request("PATCH", "/v1/collections/c/indexes", {})
    assert nothing.status == 400 and "`build` or `on_gpu`" in nothing.text
    both = {"on_gpu": {"dot": "never"}, "build": {"dot": {"graph": "never"}}}
    assert server.request("PATCH", "/v1/collections/c/indexes", both).result is True
    assert server.request("PATCH", "/collections/c", {"optimizers_config": {"deleted_threshold": 0.3}}).result is True
    shown = server.request("GET", "/v1/collections/c/indexes").result
    assert shown["on_gpu"] == {"dot": "never"} and shown["build"] == {"dot": {"graph": "never"}}
    unknown = place(dot="sometimes")
    assert unknown.status == 400 and "on_gpu.dot" in unknown.text and "`always`" in unknown.text
    absent = place(nosuch="always")
    assert absent.status == 400 and "nosuch" in absent.text
    assert place(dot=None).result is True
    assert server.request("GET", "/v1/collections/c/indexes").result["on_gpu"] == {}
    assert comes_true(lambda: is_answered_by_devices(server, wanted)), gpu(server)


def test_many_clients_at_once(new_server):
    plain, device = new_server(env=SEALED).start(), new_server(env=SEALED | EMULATED).start()
    for server in (plain, device):
        fill(server)
    wait_for_rows(device)
    wrong = []

    def ask(seed):
        for query in queries(6, seed):
            if hits(device, query) != hits(plain, query):
                wrong.append(query)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_searches_that_may_share_a_job(new_server):
    """Many clients at once get what each gets without a device. How large groups get is a matter of time: batcher_test."""
    dim, n_clients = 128, 60
    rng = random.Random(8)

    def vector():
        return [rng.gauss(0, 1) for _ in range(dim)]

    points = [{"id": i, "vector": vector()} for i in range(4000)]
    asked = [{"query": vector(), "limit": 10, "params": {"exact": True}} for _ in range(n_clients)]
    plain, device = new_server(env=SEALED).start(), new_server(env=SEALED | EMULATED).start()
    for server in (plain, device):
        server.request("PUT", "/collections/c", {"vectors": {"size": dim, "distance": "Dot"}}).result
        for first in range(0, len(points), 500):
            server.request("PUT", "/collections/c/points?wait=true", {"points": points[first:first + 500]}).result
    expected = [hits(plain, query) for query in asked]

    def is_on_device():
        before = gpu(device)["fallbacks"]["loading"]
        hits(device, asked[0])
        return gpu(device)["fallbacks"]["loading"] == before

    assert comes_true(is_on_device, 60), gpu(device)
    before = n_queries(device)
    for _ in range(3):
        assert hits_at_once(device, asked) == expected
    assert comes_true(lambda: is_on_device() and n_queries(device) > before), gpu(device)


def test_different_filters_share_jobs(new_server):
    """Each search has its own filter, or one that another has, or none: a batch is one job, and answers are those of the CPU."""
    dim, n = 64, 5000
    rng = random.Random(12)

    def vector():
        return [rng.gauss(0, 1) for _ in range(dim)]

    points = [{"id": i, "vector": vector(), "payload": {"owner": i % 40, "year": 2000 + i % 17}} for i in range(n)]
    asked = []
    for i in range(60):
        query = {"query": vector(), "limit": (5, 20)[i % 2], "params": {"exact": True}}
        condition = ({"key": "owner", "match": {"any": list(range(i % 30 + 1))}}, {"key": "year", "range": {"gte": 2000 + i % 5}})[i % 2]
        asked.append(query | ({"filter": {"must": [condition]}} if i % 10 else {}))
    plain, device = new_server(env=one_segment(n)).start(), new_server(env=one_segment(n) | EMULATED).start()
    for server in (plain, device):
        fill_and_index(server, {"vectors": {"size": dim, "distance": "Dot"}, "hnsw_config": {"full_scan_threshold": 1}}, points, "ivf")
        server.request("POST", "/collections/c/points/delete?wait=true", {"points": list(range(0, n, 13))}).result
    expected = [hits(plain, query) for query in asked]
    assert hits_of_batch(plain, asked) == expected

    def is_one_job():
        before = gpu(device)["devices"][0]
        assert hits_of_batch(device, asked) == expected
        after = gpu(device)["devices"][0]
        return after["queries"] - before["queries"] == len(asked) and after["jobs"] - before["jobs"] == 1

    assert comes_true(is_one_job, 60), gpu(device)
    for _ in range(3):
        assert hits_at_once(device, asked) == expected


def test_an_index_is_searched_with_a_device(new_server):
    """Lists of codes: single searches, batches and many clients at once get what the CPU alone gives."""
    dim, n, n_clients = 32, 6000, 40
    rng = random.Random(9)
    centres = [[rng.gauss(0, 1) for _ in range(dim)] for _ in range(40)]

    def vector():
        return [value + rng.gauss(0, 0.7) for value in rng.choice(centres)]

    points = [{"id": i, "vector": vector()} for i in range(n)]
    asked = [{"query": vector(), "limit": 10, "params": {"hnsw_ef": (64, 200)[i % 2]}} for i in range(n_clients)]
    plain, device = new_server(env=one_segment(n)).start(), new_server(env=one_segment(n) | EMULATED).start()
    for server in (plain, device):
        fill_and_index(server, {"vectors": {"size": dim, "distance": "Cosine"}, "hnsw_config": {"full_scan_threshold": 1}},
                       points, "ivf")
    expected = [hits(plain, query) for query in asked]

    def is_used():
        before = n_queries(device)
        assert hits_of_batch(device, asked) == expected
        return n_queries(device) >= before + n_clients

    assert comes_true(is_used, 60), gpu(device)
    for _ in range(3):
        assert hits_at_once(device, asked) == expected
    best = {"params": {"exact": True}}
    recall = sum(len({i for i, _ in hits(plain, query | best)} & {i for i, _ in answer})
                 for query, answer in zip(asked, expected)) / (10 * n_clients)
    assert recall > 0.9, recall


def test_sparse_searches_with_a_device(new_server):
    """Exact and by truncated lists, filtered and not, with deleted points: batches and many clients get what the CPU gives."""
    n, n_clients = 6000, 40
    rng = random.Random(10)

    def vector(n_terms):
        terms = sorted({int(900 * rng.random() ** 3) for _ in range(n_terms)})
        return {"indices": terms, "values": [round(rng.expovariate(1.5) + .01, 4) for _ in terms]}

    points = [{"id": i, "vector": {"words": vector(30)}, "payload": {"n": i % 5}} for i in range(n)]
    asked = []
    for i in range(n_clients):
        query = {"query": vector(12), "using": "words", "limit": (10, 40)[i % 2], "params": {"exact": i % 4 < 2}}
        asked.append(query | ({"filter": {"must": [{"key": "n", "match": {"any": [1, 2, 3]}}]}} if i % 3 == 0 else {}))
    plain, device = new_server(env=one_segment(n)).start(), new_server(env=one_segment(n) | EMULATED).start()
    for server in (plain, device):
        fill_and_index(server, {"vectors": {}, "sparse_vectors": {"words": {}}}, points, "seismic")
        server.request("POST", "/collections/c/points/delete?wait=true", {"points": list(range(0, n, 11))}).result
    expected = [hits(plain, query) for query in asked]

    def is_used():
        before = n_queries(device)
        assert hits_of_batch(device, asked) == expected
        return n_queries(device) >= before + n_clients // 2

    assert comes_true(is_used, 60), gpu(device)
    for _ in range(3):
        assert hits_at_once(device, asked) == expected


def test_rows_that_change_are_searched_as_they_are(new_server):
    """Deleted and new points count at once, whatever the device holds."""
    server = new_server(env=SEALED | EMULATED).start()
    fill(server)
    wait_for_rows(server)
    query = {"query": [1.0] * DIM, "using": "dot", "limit": 3, "params": {"exact": True}}
    best = hits(server, query)
    server.request("POST", "/collections/c/points/delete?wait=true", {"points": [best[0][0]]}).result
    assert hits(server, query)[:2] == best[1:]
    vectors = {"dot": [9.0] * DIM}
    server.request("PUT", "/collections/c/points?wait=true", {"points": [{"id": 99999, "vector": vectors}]}).result
    assert hits(server, query)[0] == (99999, 9.0 * DIM)


def test_a_device_that_is_lost_costs_only_time(new_server):
    plain = new_server(env=SEALED).start()
    device = new_server(env=SEALED | EMULATED | {"QUIVER__GPU__DEVICES": "emulated:lost@400"}).start()
    for server in (plain, device):
        fill(server)
    deadline = time.monotonic() + patience(60)
    while gpu(device)["devices"][0]["status"] != "lost":
        assert time.monotonic() < deadline
        for query in queries(50, 6):
            assert hits(device, query) == hits(plain, query), query
    for query in queries(50, 7):
        assert hits(device, query) == hits(plain, query), query
    report = gpu(device)
    assert report["fallbacks"]["lost"] > 0
    assert "gpu_up{device=\"0\"} 0" in device.request("GET", "/metrics").text
    assert device.request("GET", "/readyz").status == 200
    assert "is lost" in device.log.read_text()
    device.stop()


def test_a_device_that_answers_wrong_is_found_out(new_server):
    plain = new_server(env=SEALED).start()
    faults = {"QUIVER__GPU__DEVICES": "emulated:wrong@1", "QUIVER__GPU__CHECK_SHARE": "1"}
    device = new_server(env=SEALED | EMULATED | faults).start()
    for server in (plain, device):
        fill(server, n=1000)

    def is_lost():
        for query in queries(6, 8):
            hits(device, query)
        return gpu(device)["devices"][0]["status"] == "lost"

    assert comes_true(is_lost, 60), gpu(device)
    different = gpu(device)["devices"][0]["different_queries"]
    assert different >= 3  # a search of several parts may be checked more than once after the third
    metric = f"gpu_check_differences_total{{device=\"0\"}} {different}\n"
    assert metric in device.request("GET", "/metrics").text
    for query in queries(20, 9):
        assert hits(device, query) == hits(plain, query), query
    assert "did not name rows that are among the best" in device.log.read_text()


def test_a_job_that_never_ends(new_server):
    """The query is answered when the device is given up, and the process ends as usual."""
    server = new_server(env=SEALED | EMULATED | {"QUIVER__GPU__DEVICES": "emulated:hang@3"}).start()
    fill(server, n=500)
    query = {"query": [1.0] * DIM, "using": "dot", "limit": 3, "params": {"exact": True}}
    expected = hits(server, query)
    deadline = time.monotonic() + patience(60)
    while gpu(server)["devices"][0]["status"] != "lost":
        assert hits(server, query) == expected
        assert time.monotonic() < deadline
    server.stop()


def test_without_a_device(new_server):
    server = new_server().start()
    report = gpu(server)
    assert report["devices"] == []
    assert report["reason"] != ""
    fill(server, n=500)
    assert asks_for(server, "cpu").status == 200
    server = new_server(env=SEALED).start()
    fill(server, n=500)
    refused = []

    def is_sealed():
        refused.append(asks_for(server, "gpu", exact=True))
        return refused[-1].status == 503

    assert comes_true(is_sealed), refused[-1].text
    assert report["reason"] in refused[-1].text
    assert not telemetry_names_a_gpu(server)
    assert "gpu_" not in server.request("GET", "/metrics").text


def test_metrics(new_server):
    server = new_server(env=SEALED | EMULATED).start()
    fill(server, n=500)
    wait_for_rows(server)
    text = server.request("GET", "/metrics").text
    for line in ("gpu_up{device=\"0\"} 1", "gpu_memory_bytes{device=\"0\",kind=\"resident\"}", "gpu_jobs_total{device=\"0\",result=\"done\"}",
                 "gpu_fallbacks_total{reason=\"loading\"}", "gpu_uploads_bytes_total"):
        assert line in text, line


def start_error(new_server, **env):
    server = new_server(env={"QUIVER__GPU__" + name.upper(): value for name, value in env.items()}).start(wait=False)
    assert server.process.wait(patience(30)) != 0
    return server.log.read_text()


def test_a_named_device_must_be_there(new_server):
    assert "cannot load the module" in start_error(new_server, devices="0", module="/no/such.so")
    assert "must be auto, off or different numbers" in start_error(new_server, devices="first")
    assert "an emulated device fails by" in start_error(new_server, devices="emulated:maybe")


def test_with_auto_a_module_that_cannot_be_loaded_is_reported(new_server):
    server = new_server(env={"QUIVER__GPU__MODULE": "/no/such.so"}).start()
    assert "cannot load the module" in gpu(server)["reason"]
    assert "no device is used" in server.log.read_text()


def test_a_module_beside_the_server_is_found(tmp_path):
    server = shutil.copy(binary(), tmp_path / "quiver")

    def version():
        return subprocess.run([server, "version"], capture_output=True, check=True, text=True).stdout

    without = version()
    (tmp_path / "libquiver_gpu_cuda.so").touch()
    assert without.endswith("cuda no)\n") or os.path.exists("/usr/lib/quiver/libquiver_gpu_cuda.so")
    assert version().endswith("cuda module)\n")


def test_the_check_over_http():
    """What `make gpu-check` runs on a machine with a device."""
    command = [sys.executable, "-B", REPOSITORY / "bench/gpu/over_http.py", "--devices", "emulated", "--points", "1000", "--queries", "200",
               "--rows", "0"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | {"QUIVER_BINARY": str(binary())})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["step"] == "served_equality" and found["different"] == 0 and found["device_queries"] > 100


MODULE = REPOSITORY / "build/gpu/libquiver_gpu_cuda.so"


@pytest.mark.skipif(not MODULE.exists(), reason="there is no module: make gpu")
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a driver")
def test_the_module_without_a_driver(new_server):
    """It loads, finds nothing, and says why."""
    server = new_server(env={"QUIVER__GPU__MODULE": str(MODULE)}).start()
    report = gpu(server)
    assert report["reason"].startswith("no device: ")
    assert report["build"].startswith("cuda ")
    assert "no device is used" in server.log.read_text()
    assert "no device: " in start_error(new_server, devices="0", module=str(MODULE))


def test_the_module_is_not_built_without_a_compiler():
    done = subprocess.run([REPOSITORY / "scripts/gpu"], env=os.environ | {"NVCC": "/no/such/nvcc"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "nvcc is missing" in done.stderr
