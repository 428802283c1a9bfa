"""`quiver advise`: what it prints is what a collection made by its requests shows."""
import json
import subprocess

import numpy as np

from patience import comes_true, patience
from quiver_server import SMALL_SEGMENTS, binary
from test_row_types import clustered

DIM, N, QUERIES = 32, 4000, 100


def advise(cwd, *args, status=0):
    """Runs the command to its end; returns stdout and stderr."""
    command = [binary(), "advise", "--cache", cwd, *map(str, args)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=patience(200))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def write_data(path):
    rng = np.random.default_rng(3)
    rows = clustered(rng, N + QUERIES, DIM)
    np.save(path / "rows.npy", rows[:N])
    np.save(path / "queries.npy", rows[N:])
    return rows[:N], rows[N:]


def wait_for_index(server, name):
    def kinds():
        return {i["index"] for i in server.get(f"/v1/collections/{name}/indexes").result["indexes"] if i["sealed"]}

    assert comes_true(lambda: kinds() and "flat" not in kinds(), 60), kinds()


def recall_of(server, name, rows, queries, params):
    scores = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
    best = np.argsort(-scores, axis=1)[:, :10]
    found = 0
    for query, ids in zip(queries, best):
        body = {"query": query.tolist(), "limit": 10} | ({"params": params} if params else {})
        hits = server.post(f"/collections/{name}/points/query", body).result["points"]
        found += len({p["id"] for p in hits} & set(ids.tolist()))
    return found / best.size


def test_the_requests_make_a_collection_as_advised(tmp_path, new_server):
    rows, queries = write_data(tmp_path)
    # Without a limit of bytes, speed decides: it depends on what else the machine does.
    out, _ = advise(tmp_path, "--base", "rows.npy", "--queries", "queries.npy", "--recall", 0.9, "--max-bytes", 4 * DIM - 1,
                    "--sample", 1000, "--seconds", patience(2), "--json", "a.json", "--svg", "a.svg")
    advised = json.loads((tmp_path / "a.json").read_text())["advised"]
    assert "Advised: " + advised["datatype"] in out
    assert advised["meets_limits"] and advised["recall"] >= 0.9
    assert advised["bytes"] < 4 * DIM
    assert (tmp_path / "a.svg").read_text().rstrip().endswith("</svg>")

    server = new_server(env=SMALL_SEGMENTS).start()
    server.put("/collections/c", advised["create"]).result
    if advised["indexes"]:
        assert server.patch("/v1/collections/c/indexes", advised["indexes"]).status == 200
    for first in range(0, N, 500):
        points = [{"id": i, "vector": rows[i].tolist()} for i in range(first, first + 500)]
        server.put("/collections/c/points?wait=true", {"points": points}).result
    if advised["index"] != "flat":
        wait_for_index(server, "c")
    assert abs(recall_of(server, "c", rows, queries, advised["search_params"]) - advised["recall"]) < 0.05


def test_few_bytes_without_queries(tmp_path):
    write_data(tmp_path)
    out, _ = advise(tmp_path, "--base", "rows.npy", "--max-bytes", 60, "--sample", 1000, "--seconds", patience(2), "--json", "a.json")
    advice = json.loads((tmp_path / "a.json").read_text())
    assert advice["held_out"] and "held out" in out
    assert advice["advised"]["bytes"] <= 60 and advice["advised"]["meets_limits"]


def test_the_vectors_of_a_collection(tmp_path, new_server):
    rows, _ = write_data(tmp_path)
    server = new_server(env=SMALL_SEGMENTS).start()
    fields = {"a": {"size": DIM, "distance": "Euclid"}, "b": {"size": 4, "distance": "Dot"}}
    url = f"http://127.0.0.1:{server.port}"
    server.put("/collections/c", {"vectors": fields}).result
    points = [{"id": i, "vector": {"b": [1, 2, 3, i]} | ({"a": row.tolist()} if i % 4 else {})} for i, row in enumerate(rows)]
    for first in range(0, N, 1000):
        server.put("/collections/c/points?wait=true", {"points": points[first:first + 1000]}).result
    flags = ["--collection", "c", "--recall", 0.9, "--sample", 1000, "--seconds", patience(2), "--json", "a.json"]
    _, error = advise(tmp_path, *flags, "--url", url, status=1)
    assert 'it has "a", "b"' in error
    _, error = advise(tmp_path, *flags, "--url", url, "--field", "z", status=1)
    assert 'no dense vector "z"' in error
    out, _ = advise(tmp_path, *flags, "--url", url, "--field", "a")
    server.stop()
    from_directory, _ = advise(tmp_path, *flags, "--data-dir", server.data_dir, "--field", "a")
    for text in [out, from_directory]:
        assert "collection c: 2,700 rows x 32, euclid; 300 rows held out" in text, text  # 3,000 points have the vector
    advice = json.loads((tmp_path / "a.json").read_text())
    assert set(advice["advised"]["create"]["vectors"]) == {"a"} and advice["advised"]["recall"] >= 0.9


def test_bad_input_is_refused_with_a_reason(tmp_path):
    write_data(tmp_path)
    np.save(tmp_path / "narrow.npy", np.zeros((3, DIM - 1), np.float32))
    for args, reason in [([], "--base or --collection"),
                         (["--base", "rows.npy", "--collection", "c"], "--collection"),
                         (["--collection", "c", "--data-dir", "none"], "none"),
                         (["--base", "none.npy"], "none.npy"),
                         (["--base", "rows.npy", "--recall", 2], "--recall"),
                         (["--base", "rows.npy", "--queries", "narrow.npy"], "31"),
                         (["--base", "rows.npy", "--svg", "missing/a.svg"], "missing/a.svg")]:
        command = [binary(), "advise", "--cache", str(tmp_path), *map(str, args)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=patience(60))
        assert done.returncode != 0 and reason in done.stderr, (args, done.stdout, done.stderr)
