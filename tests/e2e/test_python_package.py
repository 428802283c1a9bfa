"""The Python package: embedded, beside exact search in numpy and beside the server over the same files; its faults."""
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
from patience import patience
from quiver_server import REPOSITORY, Server

PACKAGE = REPOSITORY / "python"
LIBRARY = Path(os.environ.get("QUIVER_LIBRARY", REPOSITORY / "build/python/libquiver.so"))
if not LIBRARY.is_file():
    pytest.skip(f"{LIBRARY} is not built: scripts/build python quiver_embedded", allow_module_level=True)

sys.path.insert(0, str(PACKAGE))
import quiver  # noqa: E402

SEED = 7
DIM = 24


def rows(n, dim=DIM, seed=SEED):
    return np.random.default_rng(seed).standard_normal((n, dim), dtype=np.float32)


@pytest.fixture
def database(tmp_path):
    with quiver.open(tmp_path / "data") as opened:
        yield opened


def nearest(queries, vectors, k, allowed=None):
    """Ids of the k rows with the largest products, by numpy."""
    products = queries.astype(np.float64) @ vectors.astype(np.float64).T
    if allowed is not None:
        products[:, ~allowed] = -np.inf
    return np.argsort(-products, axis=1, kind="stable")[:, :k].astype(np.uint64)


def run_python(code, *args):
    """Runs `code` in a process of its own."""
    return subprocess.run([sys.executable, "-B", "-c", code, *map(str, args)], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(PACKAGE)), timeout=patience(60))


# Answers

def test_search_is_exact(database):
    vectors, queries = rows(500), rows(40, seed=8)
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    collection.upsert(np.arange(500, dtype=np.uint64), vectors, [{"n": i} for i in range(500)])
    hits = collection.search(queries, 10)
    assert hits.ids.dtype == np.uint64 and hits.scores.dtype == np.float32
    np.testing.assert_array_equal(hits.ids, nearest(queries, vectors, 10))
    np.testing.assert_allclose(hits.scores, np.take_along_axis(queries @ vectors.T, hits.ids.astype(int), 1), rtol=1e-4, atol=1e-5)
    for query, ids, scores in zip(queries, *hits):
        one = collection.search(query, 10)
        np.testing.assert_array_equal(one.ids, ids)
        np.testing.assert_array_equal(one.scores, scores)
    few = {"must": [{"key": "n", "range": {"lt": 50}}]}
    np.testing.assert_array_equal(collection.search(queries, 10, filter=few).ids,
                                  nearest(queries, vectors, 10, np.arange(500) < 50))


def test_fewer_hits_than_asked_for(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    queries = rows(3)
    empty = collection.search(queries[0], 4)
    assert empty.ids.shape == empty.scores.shape == (0,)
    collection.upsert([5, 6], rows(2))
    assert collection.search(queries[0], 4).ids.shape == (2,)
    batch = collection.search(queries, 4)
    assert (batch.ids[:, 2:] == quiver.NO_ID).all() and np.isnan(batch.scores[:, 2:]).all()
    assert set(batch.ids[0, :2]) == {5, 6}
    assert collection.search(np.empty((0, DIM), np.float32), 4).ids.shape == (0, 4)


def test_uuids(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    vectors = rows(3)
    ids = [uuid.UUID(int=i << 70 | i) for i in (1, 2, 3)]
    collection.upsert(ids, vectors)
    for i, vector in enumerate(vectors):
        assert collection.search(vector * 9, 1).ids[0] == ids[i]
    collection.upsert([7], vectors[:1] * 2)
    found = collection.search(vectors[:1], 5)
    assert found.ids[0, 0] == 7 and found.ids[0, 4] is None and set(ids) < set(found.ids[0])
    assert [p["id"] for p in collection.retrieve([ids[1], 7])] == [str(ids[1]), 7]
    collection.delete(ids)
    assert [p["id"] for p in collection.scroll()] == [7]


def test_all_kinds_of_fields(database):
    collection = database.create_collection("c", {
        "vectors": {"title": {"size": 4, "distance": "Cosine"},
                    "tokens": {"size": 4, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
        "sparse_vectors": {"words": {}}})
    dense = np.eye(4, dtype=np.float32)
    offsets = np.array([0, 1, 3, 4, 4], np.uint64)
    words = quiver.Sparse(offsets, np.array([3, 1, 9, 5], np.uint32), np.array([1, 2, 3, 4], np.float32))
    tokens = quiver.Multi(np.arange(0, 10, 2, dtype=np.uint64), np.repeat(dense, 2, axis=0))
    collection.upsert(range(4), {"title": dense, "words": words, "tokens": tokens})
    point = collection.retrieve([1], with_vector=True)[0]["vector"]
    assert point == {"title": [0, 1, 0, 0], "words": {"indices": [1, 9], "values": [2, 3]}, "tokens": [[0, 1, 0, 0]] * 2}
    assert list(collection.search(dense, 1, using="title").ids[:, 0]) == [0, 1, 2, 3]
    asked = quiver.Sparse(np.array([0, 1, 2], np.uint64), np.array([9, 5], np.uint32), np.array([1, 1], np.float32))
    found = collection.search(asked, 1, using="words")
    assert list(found.ids[:, 0]) == [1, 2] and list(found.scores[:, 0]) == [3, 4]
    found = collection.search(quiver.Multi(np.array([0, 2, 3], np.uint64), dense[[2, 3, 0]]), 1, using="tokens")
    assert list(found.scores[:, 0]) == [1, 1] and found.ids[1, 0] == 0
    fused = collection.query({"prefetch": [{"query": dense[1], "using": "title", "limit": 4},
                                           {"query": {"indices": [9], "values": [1.0]}, "using": "words", "limit": 4}],
                              "query": {"fusion": "rrf"}, "limit": 1, "with_payload": True})
    assert fused[0]["id"] == 1 and fused[0]["payload"] == {}


def test_changes_and_reads(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    collection.bulk_load(np.arange(100), rows(100), [{"n": i, "tag": "ab"[i % 2]} for i in range(100)])
    assert len(collection) == 100
    collection.create_index("tag", "keyword")
    collection.delete([1, 3, 1000])
    collection.delete(filter={"must": [{"key": "n", "range": {"gte": 90}}]})
    collection.set_payload({"new": True}, [0])
    assert collection.facet("tag") == {"a": 45, "b": 43}
    assert collection.count(filter={"must": [{"key": "new", "match": {"value": True}}]}) == 1
    assert [p["id"] for p in collection.scroll(page=7, with_payload=False)] == [0, 2, *range(4, 90)]
    results = collection.update([{"upsert": {"points": [{"id": 1, "vector": rows(1)[0]}]}}, {"delete": {"points": [2]}}])
    assert [r["status"] for r in results] == ["completed"] * 2
    assert collection.aggregate({"aggregations": {"n": {"stats": {"key": "n"}}}})["n"]["count"] == 87
    assert collection.drop_index("tag") and not collection.drop_index("tag")
    assert database.collections() == ["c"] and database.drop_collection("c") and not database.drop_collection("c")
    with pytest.raises(quiver.NotFound, match="`c` was dropped"):
        collection.search(rows(1), 1)


def test_bench(database):
    collection = database.create_collection("c", dim=DIM, distance="Euclid")
    collection.upsert(range(300), rows(300))
    collection.wait_until_indexed(patience(60))
    curve = collection.bench(rows(30, seed=9), 5, efforts=(16, 64))
    assert [point.effort for point in curve] == [16, 64, None]
    assert all(point.recall == 1 and 0 < point.p50_us <= point.p99_us for point in curve)
    assert len(str(curve).splitlines()) == 4


def test_recall_of_the_bench():
    from quiver._bench import recalls
    truth = np.array([[9, 8, 7], [9, 8, np.nan], [np.nan] * 3, [1, 2, 3]], np.float32)
    found = np.array([[9, 7, 6], [9, 8, np.nan], [np.nan] * 3, [1, 3, 4]], np.float32)
    np.testing.assert_allclose(recalls(found[:3], truth[:3], False), [2 / 3, 1, 1])
    np.testing.assert_allclose(recalls(found[3:], truth[3:], True), [2 / 3])
    far, near = np.array([[2]], np.float32), np.array([[1]], np.float32)
    assert recalls(far, near, True) == 0 and recalls(far, near, False) == 1


# The server over the same files

def served(server, query, k):
    body = {"query": query.tolist(), "limit": k}
    points = server.post("/collections/c/points/query", body).result["points"]
    return [p["id"] for p in points], [np.float32(p["score"]) for p in points]


def test_the_server_reads_what_was_written_here_and_the_other_way_round(tmp_path, new_server):
    server = new_server()
    queries = rows(20, seed=8)
    with quiver.open(server.data_dir) as database:
        collection = database.create_collection("c", dim=DIM, distance="Cosine")
        collection.upsert(range(400), rows(400), [{"n": i} for i in range(400)])
        before = [collection.search(query, 10) for query in queries]
    server.start()
    for query, hits in zip(queries, before):
        ids, scores = served(server, query, 10)
        assert ids == hits.ids.tolist() and scores == hits.scores.tolist()
    server.put("/collections/c/points?wait=true", {"points": [{"id": 999, "vector": [9.0] * DIM, "payload": {"n": -1}}]}).result
    wanted = [served(server, query, 10) for query in queries]
    server.stop()
    with quiver.open(server.data_dir) as database:
        collection = database.collection("c")
        assert collection.retrieve([999])[0]["payload"] == {"n": -1}
        for query, (ids, scores) in zip(queries, wanted):
            hits = collection.search(query, 10)
            assert hits.ids.tolist() == ids and hits.scores.tolist() == scores


def test_a_second_opener_is_refused(tmp_path, database, new_server):
    wanted = f"in use by process {os.getpid()}"
    with pytest.raises(quiver.Unavailable, match=wanted):
        quiver.open(tmp_path / "data")
    other = run_python("import quiver, sys; quiver.open(sys.argv[1])", tmp_path / "data")
    assert other.returncode == 1 and wanted in other.stderr
    server = Server(tmp_path / "data").start(wait=False)
    assert server.process.wait(patience(60)) != 0 and wanted in server.log_tail()
    database.close()
    server.start()
    with pytest.raises(quiver.Unavailable, match=f"in use by process {server.process.pid}"):
        quiver.open(tmp_path / "data")
    server.stop()
    quiver.open(tmp_path / "data").close()


def test_server_of_the_package(tmp_path):
    with quiver.Server(tmp_path / "data", settings={"service.api_key": "secret", "grpc.reflection": True}, grpc=True) as server:
        assert server.port and server.grpc_port and server.process.poll() is None
    assert server.process.returncode == 0
    server.stop()
    with quiver.Server() as server:
        kept = server.data_dir
        assert kept.is_dir()
        server.kill()
    assert not kept.exists()
    with pytest.raises(quiver.QuiverError, match="no.such"):
        quiver.Server(settings={"no.such": 1})


# Faults

WRITER = """
import json, sys
import numpy as np
import quiver
path, begin = sys.argv[1], int(sys.argv[2])
database = quiver.open(path)
collection = database.collection("c")
step = begin
while True:
    ids = np.arange(step * 20, step * 20 + 20)
    vectors = np.full((20, 4), step, np.float32)
    write = collection.bulk_load if step % 5 == 4 else collection.upsert
    write(ids, vectors, [{"step": step}] * 20)
    if step % 3 == 2:
        collection.delete(ids[:5])
    print(step, flush=True)
    step += 1
"""


def test_kill_9_loses_nothing_acknowledged(tmp_path):
    rng = random.Random(SEED)
    path, acknowledged = tmp_path / "data", -1
    with quiver.open(path) as database:
        database.create_collection("c", dim=4, distance="Dot")
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-B", "-c", WRITER, str(path), str(acknowledged + 1)], text=True,
                                  stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=str(PACKAGE)))
        first = writer.stdout.readline()
        assert first, "the writer did not start"
        time.sleep(rng.uniform(0.05, 0.5))
        writer.send_signal(signal.SIGKILL)
        acknowledged = int((first + writer.stdout.read()).split()[-1])
        writer.wait()
        with quiver.open(path) as database:
            check_steps(database.collection("c"), acknowledged)
    assert acknowledged > 10


def check_steps(collection, acknowledged):
    """Every acknowledged step is there as it was written, and the one behind it whole or not at all."""
    points = {p["id"]: p for p in collection.scroll(with_vector=True)}
    for step in range(acknowledged + 2):
        ids = range(step * 20, step * 20 + 20)
        found = [id for id in ids if id in points]
        gone = 5 if step % 3 == 2 else 0
        allowed = ([gone],) if step <= acknowledged else ([20], [0], [gone])
        assert [20 - len(found)] in allowed, (step, acknowledged, found)
        assert all(points[id]["vector"] == [step] * 4 and points[id]["payload"] == {"step": step} for id in found)
    assert max(points) < (acknowledged + 2) * 20


@pytest.mark.parametrize("wrong, error, text", [
    (lambda: rows(2).astype(np.float64), TypeError, r"dtype float64, wanted float32: convert it with \.astype"),
    (lambda: rows(2).astype(np.float16), TypeError, "dtype float16, wanted float32"),
    (lambda: rows(4)[::2], ValueError, "strides .* wanted rows one after another"),
    (lambda: rows(DIM).T, ValueError, "numpy.ascontiguousarray"),
    (lambda: rows(8).reshape(2, 2, -1), ValueError, r"shape \(2, 2, \d+\), wanted 2 dimensions"),
    (lambda: rows(2).tolist(), TypeError, "a list, wanted a numpy array of float32"),
    (lambda: rows(2, dim=5), ValueError, f"expected dim: {DIM}, got 5"),
    (lambda: np.full((2, DIM), np.nan, np.float32), ValueError, "NaN|finite"),
])
def test_wrong_arrays(database, wrong, error, text):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    with pytest.raises(error, match=text):
        collection.upsert([1, 2], wrong())
    if text != "NaN|finite":
        with pytest.raises(error, match=text):
            collection.search(wrong(), 3)
    assert len(collection) == 0


def test_wrong_arguments(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    sparse = quiver.Sparse(np.array([0, 2], np.uint64), np.array([1], np.uint32), np.array([1], np.float32))
    for call, error, text in [
        (lambda: collection.upsert([1], rows(2)), ValueError, "2 rows, wanted 1"),
        (lambda: collection.upsert([-1], rows(1)), ValueError, "out of the range"),
        (lambda: collection.upsert(np.array([-1]), rows(1)), ValueError, "-1, wanted no number below 0"),
        (lambda: collection.upsert(np.array([1.5]), rows(1)), TypeError, "dtype float64, wanted uint64"),
        (lambda: collection.upsert([1, uuid.UUID(int=1)], rows(2)), TypeError, "UUIDs alone"),
        (lambda: collection.upsert([1], rows(1), [{}, {}]), ValueError, "2 payloads, wanted 1"),
        (lambda: collection.upsert([1], rows(1), ["[1]"]), ValueError, r"points\[0\]"),
        (lambda: collection.upsert([1], {"x": rows(1)}), ValueError, "x"),
        (lambda: collection.upsert([1], sparse), ValueError, "offsets end with 2, wanted 1|as many"),
        (lambda: collection.search(rows(1), 0), ValueError, "k is 0, must be 1"),
        (lambda: collection.search(rows(1)[0], 0), ValueError, "k is 0, must be 1"),
        (lambda: collection.search(rows(1), using="x"), ValueError, "x"),
        (lambda: collection.search(rows(1), filter={"most": []}), ValueError, "most"),
        (lambda: collection.delete(), ValueError, "ids"),
        (lambda: database.create_collection("c", dim=3), quiver.AlreadyExists, "exists"),
        (lambda: database.create_collection("d"), ValueError, "dim"),
        (lambda: database.create_collection("a/b", dim=3), ValueError, "cannot contain"),
        (lambda: database.collection("none"), LookupError, "none"),
        (lambda: quiver.open("/proc/none/data"), quiver.QuiverError, "/proc"),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert len(collection) == 0


def test_the_c_interface_refuses_null():
    from quiver._library import _FUNCTIONS, library
    for name, types in _FUNCTIONS.items():
        nothing = [0 if kind is ctypes.c_uint64 else None for kind in types]
        assert getattr(library(), name)(*nothing) == 3, name
        assert b"NULL" in library().quiver_error()
    for free in ("quiver_free", "quiver_free_database", "quiver_free_collection", "quiver_free_request"):
        getattr(library(), free)(None)


def test_other_threads_run_during_a_search(database):
    collection = database.create_collection("c", dim=128, distance="Dot")
    collection.bulk_load(range(20_000), rows(20_000, 128))
    queries = rows(500, 128, seed=8)
    alone = collection.search(queries, 10).ids
    answers, counted = [], 0
    searches = [threading.Thread(target=lambda: answers.append(collection.search(queries, 10).ids)) for _ in range(3)]
    for search in searches:
        search.start()
    while any(search.is_alive() for search in searches):
        counted += 1
    # A search that held the interpreter would let this thread count a few times at most.
    assert counted > 100
    assert len(answers) == 3 and all((answer == alone).all() for answer in answers)


def test_threads_meet_the_first_uuid_together(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    collection.upsert([uuid.UUID(int=9)], rows(1))
    found, start = [], threading.Barrier(8)

    def search():
        start.wait()
        found.append(collection.search(rows(1)[0], 1).ids[0])

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [uuid.UUID(int=9)] * 8


def test_one_query_at_a_time_from_many_threads(database):
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    vectors = rows(200)
    collection.upsert(range(200), vectors)
    wanted, wrong = nearest(vectors, vectors, 5), []

    def search(offset):
        for i in range(400):
            row, k = (i * 7 + offset) % 200, 1 + i % 5
            if not (collection.search(vectors[row], k).ids == wanted[row, :k]).all():
                wrong.append(row)

    threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_closing_while_threads_search(tmp_path):
    database = quiver.open(tmp_path / "data")
    collection = database.create_collection("c", dim=DIM, distance="Dot")
    vectors, outcomes = rows(2000), []
    collection.upsert(range(2000), vectors)

    def search():
        try:
            while True:
                collection.search(vectors[:50], 5)
        except quiver.FailedPrecondition as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    assert len(database.collection("c")) == 2000  # does not wait for the searches to end
    database.close()
    for thread in threads:
        thread.join()
    assert outcomes == ["the database is closed"] * 3
    database.close()
    with pytest.raises(quiver.FailedPrecondition, match="closed"):
        database.collections()
    quiver.open(tmp_path / "data").close()


def test_a_forked_child_is_told(tmp_path):
    outcome = run_python("""
import os, sys, numpy, quiver
database = quiver.open(sys.argv[1])
collection = database.create_collection("c", dim=4)
collection.upsert([1], numpy.ones((1, 4), numpy.float32))
child = os.fork()
if child == 0:
    try:
        collection.search(numpy.ones(4, numpy.float32))
    except quiver.FailedPrecondition as error:
        assert "forked" in str(error)
        os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(collection) == 1
""", tmp_path / "data")
    assert outcome.returncode == 0, outcome.stderr


# What is written about it

def test_blocks_of_the_page_run(tmp_path):
    page = (REPOSITORY / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 5
    code = tmp_path / "page.py"
    code.write_text("\n".join(blocks))
    outcome = subprocess.run([sys.executable, "-B", code], cwd=tmp_path, capture_output=True, text=True,
                             env=dict(os.environ, PYTHONPATH=str(PACKAGE)), timeout=patience(120))
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.parametrize("example", ["ann_benchmarks_adapter.py", "vectordbbench_adapter.py"])
def test_adapters(tmp_path, example):
    outcome = subprocess.run([sys.executable, "-B", REPOSITORY / "examples" / example, tmp_path / "data"], text=True,
                             capture_output=True, env=dict(os.environ, PYTHONPATH=str(PACKAGE)), timeout=patience(120))
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads(outcome.stdout.splitlines()[-1])["recall"] >= 0.99
