"""`quiver import` and `quiver export`: round trips, bad rows, interruptions of every kind.

Every test compares all points of the collection with the sources.
"""
import http.server
import json
import os
import random
import signal
import struct
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass

import numpy as np
import pytest
import zstandard

from kills import stored
from patience import comes_true, patience
from quiver_server import Server, binary

SEED = int(os.environ.get("QUIVER_IMPORT_SEED", "20260401"))
DIM, TOKEN_DIM, VOCABULARY = 16, 8, 100
TARGETS = ["server", "directory"]


def quiver(*args, cwd, status=0):
    """Runs the binary to its end; returns stdout + stderr."""
    done = subprocess.run([binary(), *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=patience(300))
    assert done.returncode == status, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def shortest(values):
    """Text of an f32 as the server prints it: the fewest digits that identify it."""
    return [float(str(v)) for v in np.asarray(values, np.float32)]


class Target:
    """Destination of an import: a running server, or a data directory that a server opens afterwards."""

    def __init__(self, kind, server):
        self.kind, self.server = kind, server
        if kind == "server":
            server.start()

    @property
    def flags(self):
        if self.kind == "server":
            return ["--url", f"http://127.0.0.1:{self.server.port}"]
        return ["--data-dir", self.server.data_dir]

    def points(self, collection):
        if self.kind == "server":
            return stored(self.server, collection)
        self.server.start()
        found = stored(self.server, collection)
        self.server.stop()
        return found

    def describe(self, collection):
        if self.kind == "directory":
            self.server.start()
        info = self.server.get(f"/collections/{collection}").result
        if self.kind == "directory":
            self.server.stop()
        return {"params": info["config"]["params"],
                "indexes": {k: v["data_type"] for k, v in info["payload_schema"].items()}}


@pytest.fixture(params=TARGETS)
def target(request, new_server):
    return Target(request.param, new_server())


class Sources:
    """Files of `n` rows, and the points they make."""

    def __init__(self, folder, n, seed=SEED, padding=""):
        self.folder, self.n = folder, n
        rng = np.random.default_rng(seed)
        self.dense = rng.standard_normal((n, DIM)).astype(np.float32)
        np.save(folder / "dense.npy", self.dense)
        lengths = rng.integers(0, 6, n)
        self.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.indices = np.concatenate([np.sort(rng.choice(VOCABULARY, k, replace=False)) for k in lengths]
                                      + [np.zeros(0)]).astype(np.int32)
        self.weights = rng.random(len(self.indices)).astype(np.float32)
        for part, array in [("indptr", self.indptr), ("indices", self.indices), ("values", self.weights)]:
            np.save(folder / f"words.{part}.npy", array)
        self.token_ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int64)
        self.tokens = rng.standard_normal((self.token_ptr[-1], TOKEN_DIM)).astype(np.float32)
        np.save(folder / "tokens.indptr.npy", self.token_ptr)
        np.save(folder / "tokens.values.npy", self.tokens)
        self.payload = [{"n": i, "half": i / 2, "text": f"row \"{i}\" é{padding}", "tags": ["a", "b"][:i % 3],
                         "uid": str(uuid.UUID(int=i * 7 + 1))} for i in range(n)]
        (folder / "payload.jsonl").write_text("".join(json.dumps(p) + "\n" for p in self.payload))

    flags = ["--vectors", "dense=dense.npy", "--vectors", "sparse:words=words", "--vectors", "multi:tokens=tokens",
             "--payload", "payload.jsonl", "--create", "--metric", "dot"]

    def vector(self, i):
        vector = {"dense": shortest(self.dense[i])}
        first, end = self.indptr[i:i + 2]
        if end > first:
            vector["words"] = {"indices": self.indices[first:end].tolist(), "values": shortest(self.weights[first:end])}
        first, end = self.token_ptr[i:i + 2]
        if end > first:
            vector["tokens"] = [shortest(token) for token in self.tokens[first:end]]
        return vector

    def points(self, id_of=lambda i: i, rows=None):
        """Later rows replace earlier ones of the same id."""
        return {id_of(i): {"id": id_of(i), "payload": self.payload[i], "vector": self.vector(i)}
                for i in (rows if rows is not None else range(self.n))}


@dataclass
class SentBody:
    path: str
    body: bytes


class FakeServer:
    """Serves one collection with these `vectors`. `answer` gives the status of an upsert; None breaks the connection."""

    def __init__(self, vectors, answer=lambda request: 200):
        fake = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.reply(200, {"result": {"config": {"params": {"vectors": vectors}}}, "status": "ok"})

            def do_PUT(self):
                request = SentBody(self.path, self.rfile.read(int(self.headers["Content-Length"])))
                fake.requests.append(request)
                status = answer(request)
                if status is None:
                    self.close_connection = True
                else:
                    self.reply(status, {"status": "ok" if status == 200 else {"error": "refused"}})

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# All flags at once.

def test_all_kinds(target, tmp_path):
    sources = Sources(tmp_path, 500)
    text = quiver("import", *sources.flags, *target.flags, "--collection", "c", "--batch", 64, cwd=tmp_path)
    assert "imported 500 points into `c`" in text
    assert target.points("c") == sources.points()


def test_compressed_sources(target, tmp_path):
    sources = Sources(tmp_path, 200)
    for file in [*tmp_path.glob("*.npy"), tmp_path / "payload.jsonl"]:
        (tmp_path / (file.name + ".zst")).write_bytes(zstandard.compress(file.read_bytes()))
        file.unlink()
    flags = [f.replace("dense.npy", "dense.npy.zst").replace("payload.jsonl", "payload.jsonl.zst")
             for f in sources.flags]
    quiver("import", *flags, *target.flags, "--collection", "c", cwd=tmp_path)
    assert target.points("c") == sources.points()


def test_ids_and_payload_keys(target, tmp_path):
    sources = Sources(tmp_path, 100)
    more = [*target.flags, "--payload-keys", "n,uid"]
    quiver("import", *sources.flags, *more, "--collection", "u", "--id-column", "uid", cwd=tmp_path)
    quiver("import", *sources.flags, *more, "--collection", "o", "--id-offset", 1000, "--rows", "10:20", cwd=tmp_path)
    sources.payload = [{"n": p["n"], "uid": p["uid"]} for p in sources.payload]
    assert target.points("u") == sources.points(lambda i: sources.payload[i]["uid"])
    assert target.points("o") == sources.points(lambda i: i + 1000, range(10, 20))


def test_rows_that_share_ids(target, tmp_path):
    """The import reports how many points they made."""
    sources = Sources(tmp_path, 3000)
    np.save(tmp_path / "ids.npy", np.arange(3000) % 700)
    text = quiver("import", *sources.flags, *target.flags, "--collection", "c", "--ids", "ids.npy", cwd=tmp_path)
    assert "imported 3,000 points into `c`" in text and "`c` has 700 points now" in text
    assert target.points("c") == sources.points(lambda i: i % 700)
    text = quiver("import", *sources.flags, *target.flags, "--collection", "rows", cwd=tmp_path)
    assert "imported 3,000 points into `rows`" in text and "points now" not in text


def dense_file(path, matrix):
    """Writes f32 or u8 rows in the format of the file's ending."""
    n, dim = matrix.shape
    raw = matrix.tobytes()
    if path.suffix == ".npy":
        np.save(path, matrix)
    elif path.suffix in (".fvecs", ".bvecs"):
        path.write_bytes(b"".join(struct.pack("<i", dim) + row.tobytes() for row in matrix))
    elif path.suffix in (".fbin", ".u8bin"):
        path.write_bytes(struct.pack("<II", n, dim) + raw)
    else:
        path.write_bytes(struct.pack(">IIII", 0x00000803, n, dim // 4, 4) + raw)


@pytest.mark.parametrize("file", ["x.npy", "x.fvecs", "x.bvecs", "x.fbin", "x.u8bin", "x-idx3-ubyte"])
def test_dense_formats(server, name, tmp_path, file):
    matrix = np.random.default_rng(SEED).integers(0, 256, (50, DIM))
    is_f32 = file in ("x.npy", "x.fvecs", "x.fbin")
    dense_file(tmp_path / file, matrix.astype(np.float32 if is_f32 else np.uint8))
    quiver("import", "--vectors", file, "--url", f"http://127.0.0.1:{server.port}", "--collection", name, "--create",
           "--metric", "euclid", cwd=tmp_path)
    points = stored(server, name)
    assert [points[i]["vector"] for i in range(50)] == matrix.tolist()
    size = {"size": DIM, "distance": "Euclid", "datatype": "float32" if is_f32 else "uint8"}
    assert server.get(f"/collections/{name}").result["config"]["params"]["vectors"] == size


# Tokens are sent as a binary matrix.

@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "i1"])
def test_tokens_of_every_type(server, name, tmp_path, dtype):
    """Two multi-vector fields that some points lack, with names that must be escaped in a URL."""
    rng = np.random.default_rng(SEED)
    rows = {}
    for field in ["a b&c=é", "t"]:
        lengths = rng.integers(0, 4, 300)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        values = (rng.integers(0, 100, (ends[-1], TOKEN_DIM)) if dtype[0] in "ui"
                  else rng.standard_normal((ends[-1], TOKEN_DIM))).astype(dtype)
        np.save(tmp_path / f"{field[0]}.indptr.npy", ends)
        np.save(tmp_path / f"{field[0]}.values.npy", values)
        rows[field] = [values[a:b] for a, b in zip(ends, ends[1:])]
    dense = rng.standard_normal((300, DIM)).astype(np.float32)
    np.save(tmp_path / "dense.npy", dense)
    multi = {"size": TOKEN_DIM, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}
    (tmp_path / "create.json").write_text(json.dumps({"vectors": {"a b&c=é": multi, "t": multi, "dense": {
        "size": DIM, "distance": "Dot"}}}))
    (tmp_path / "manifest").mkdir()
    export = {"quiver_export": 1, "points": 300, "ids": "ids.npy", "payload": "payload.jsonl", "vectors": [
        {"name": "a b&c=é", "kind": "multi", "source": "../a"}, {"name": "dense", "kind": "dense", "source": "../dense.npy"},
        {"name": "t", "kind": "multi", "source": "../t"}], "create": {}, "indexes": []}
    (tmp_path / "manifest/export.json").write_text(json.dumps(export))
    np.save(tmp_path / "manifest/ids.npy", np.arange(300, dtype=np.uint64))
    (tmp_path / "manifest/payload.jsonl").write_text("".join(f'{{"n":{i}}}\n' for i in range(300)))
    text = quiver("import", "--from-export", "manifest", "--create", "@create.json", "--url",
                  f"http://127.0.0.1:{server.port}", "--collection", name, cwd=tmp_path)
    assert "imported 300 points" in text
    points = stored(server, name)
    for i in range(300):
        vector = {"dense": shortest(dense[i])} | {f: [shortest(token) for token in rows[f][i]]
                                                  for f in rows if len(rows[f][i])}
        assert points[i] == {"id": i, "payload": {"n": i}, "vector": vector}


def test_tokens_that_the_server_refuses(target, tmp_path):
    """Values beyond f16: the error names the rows, and none of them is in the collection."""
    sources = Sources(tmp_path, 100)
    bad = [i for i in range(100) if sources.token_ptr[i + 1] > sources.token_ptr[i]][3:50:20]
    for i in bad:
        sources.tokens[sources.token_ptr[i], 2] = 70_000
    np.save(tmp_path / "tokens.values.npy", sources.tokens)
    (tmp_path / "create.json").write_text(json.dumps({
        "vectors": {"dense": {"size": DIM, "distance": "Dot"}, "tokens": {
            "size": TOKEN_DIM, "distance": "Dot", "datatype": "float16",
            "multivector_config": {"comparator": "max_sim"}}},
        "sparse_vectors": {"words": {}}}))
    flags = [f for f in sources.flags[:-3]] + ["--create", "@create.json", *target.flags, "--collection", "c"]
    text = quiver("import", *flags, cwd=tmp_path, status=1)
    assert f"payload.jsonl line {bad[0] + 1}" in text and f"goes on at row {bad[0]} " in text
    text = quiver("import", *flags, "--skip-bad", cwd=tmp_path)
    assert f"left out {len(bad)} bad rows" in text
    for i in bad:  # does not fit into f16; not compared below
        sources.tokens[sources.token_ptr[i], 2] = 0
    sources.tokens = sources.tokens.astype(np.float16).astype(np.float32)
    good = set(range(100)) - set(bad)
    found = target.points("c")
    assert set(found) == good
    assert found == sources.points(rows=sorted(good))


def test_tokens_do_not_go_as_json(tmp_path):
    """A body holds about two bytes per f16 value."""
    n, n_tokens = 200, 20
    np.save(tmp_path / "t.indptr.npy", np.arange(n + 1) * n_tokens)
    np.save(tmp_path / "t.values.npy", np.random.default_rng(SEED).standard_normal((n * n_tokens, 32)).astype(np.float16))
    with FakeServer({"t": {"size": 32, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}}) as fake:
        quiver("import", "--vectors", "multi:t=t", "--url", fake.url, "--collection", "c", cwd=tmp_path)
    assert all(request.path == "/v1/collections/c/points/ragged?wait=false&using=t" for request in fake.requests)
    assert sum(len(request.body) for request in fake.requests) < n * n_tokens * 32 * 2 * 1.1


# Round trips.

ANY = {"vectors": {"f32": {"size": 5, "distance": "Manhattan"}, "f16": {"size": 3, "distance": "Dot", "datatype": "float16"},
                   "u8": {"size": 4, "distance": "Euclid", "datatype": "uint8"},
                   "multi": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
       "sparse_vectors": {"words": {"modifier": "idf"}}, "shard_number": 2}


def any_points(n):
    """Points with numbers and UUIDs as ids; each vector is missing in some."""
    rng = np.random.default_rng(SEED)
    for i in range(n):
        vector = {"f32": rng.standard_normal(5).tolist(), "f16": rng.standard_normal(3).tolist(),
                  "u8": rng.integers(0, 256, 4).tolist(), "multi": rng.standard_normal((1 + i % 3, 2)).tolist(),
                  "words": {"indices": [i, i + 5], "values": rng.random(2).tolist()}}
        vector = {name: v for name, v in vector.items() if rng.random() < 0.7}
        payload = {"i": i, "list": [1, 1.0, None, {"x": "ü"}], "big": 2**64 - 1} if i % 5 else {}
        yield {"id": 2**64 - 1 - i if i % 2 else str(uuid.UUID(int=i * 3 + 1)), "vector": vector, "payload": payload}


def fill(server, n=300, numbers_only=False):
    server.put("/collections/any", ANY).result
    server.put("/collections/any/index?wait=true", {"field_name": "i", "field_schema": "integer"}).result
    points = [p for p in any_points(n) if not numbers_only or isinstance(p["id"], int)]
    server.put("/collections/any/points?wait=true", {"points": points}).result


@pytest.mark.parametrize("numbers_only", [False, True])
@pytest.mark.parametrize("out", ["any.jsonl", "any.jsonl.zst", "folder"])
def test_round_trip(target, tmp_path, out, numbers_only):
    if target.kind == "directory":
        target.server.start()
    fill(target.server, numbers_only=numbers_only)
    if target.kind == "directory":
        target.server.stop()
    text = quiver("export", *target.flags, "--collection", "any", "--out", out, "--page", 17, cwd=tmp_path)
    before = target.points("any")
    assert f"exported {len(before)} points of `any`" in text
    if out == "folder":
        source = ["--from-export", out, "--create"]
        assert (tmp_path / out / "ids.npy").exists() == numbers_only
    else:
        source = ["--points", out, "--create", "@any.create.json"]
    quiver("import", *source, *target.flags, "--collection", "copy", cwd=tmp_path)
    assert target.points("copy") == before
    found, wanted = target.describe("copy"), target.describe("any")
    assert found["params"] == wanted["params"]
    if out == "folder":
        assert found["indexes"] == wanted["indexes"] == {"i": "integer"}


def test_exported_arrays(new_server, tmp_path):
    server = new_server().start()
    fill(server, 60, numbers_only=True)
    quiver("export", "--url", f"http://127.0.0.1:{server.port}", "--collection", "any", "--out", "out", cwd=tmp_path)
    points = stored(server, "any")
    ids = np.load(tmp_path / "out/ids.npy")
    assert ids.dtype == np.uint64 and ids.tolist() == sorted(points)
    assert np.load(tmp_path / "out/vectors.f16.npy").dtype == np.float16
    present, rows = np.load(tmp_path / "out/present.u8.npy"), np.load(tmp_path / "out/vectors.u8.npy")
    assert rows.dtype == np.uint8
    for id, is_there, row in zip(ids.tolist(), present, rows):
        assert points[id]["vector"].get("u8", []) == (row.tolist() if is_there else [])
    text = quiver("export", "--url", f"http://127.0.0.1:{server.port}", "--collection", "any", "--out", "out",
                  cwd=tmp_path, status=1)
    assert "--force" in text


def test_round_trip_of_unit_vectors(server, name, tmp_path):
    """Cosine scales unit vectors again, so the last bit may change."""
    server.put(f"/collections/{name}", {"vectors": {"size": DIM, "distance": "Cosine"}}).result
    rows = np.random.default_rng(SEED).standard_normal((100, DIM)).tolist()
    server.put(f"/collections/{name}/points?wait=true", {"batch": {"ids": list(range(100)), "vectors": rows}}).result
    url = ["--url", f"http://127.0.0.1:{server.port}"]
    quiver("export", *url, "--collection", name, "--out", "out", cwd=tmp_path)
    quiver("import", "--from-export", "out", *url, "--collection", name + "copy", "--create", cwd=tmp_path)
    before, after = stored(server, name), stored(server, name + "copy")
    np.testing.assert_allclose([after[i]["vector"] for i in range(100)], [before[i]["vector"] for i in range(100)],
                               rtol=2.4e-7)


# Bad rows.

def bad_sources(folder):
    sources = Sources(folder, 100)
    sources.dense[7, 3] = np.nan
    np.save(folder / "dense.npy", sources.dense)
    lines = (folder / "payload.jsonl").read_text().splitlines()
    lines[40] = '{"n": 40'
    lines[70] = '[1]'
    (folder / "payload.jsonl").write_text("\n".join(lines) + "\n")
    return sources


def test_bad_rows_stop(target, tmp_path):
    sources = bad_sources(tmp_path)
    text = quiver("import", *sources.flags, *target.flags, "--collection", "c", "--batch", 5, cwd=tmp_path, status=1)
    assert "dense.npy row 7: value 3 is nan" in text and "goes on at row 7" in text
    assert len(list(tmp_path.glob("*.import"))) == (1 if target.kind == "server" else 0)
    assert target.points("c") == sources.points(rows=range(7))


def test_numbers_that_the_server_would_clamp_are_bad(target, tmp_path):
    matrix = np.full((40, 4), 7, np.float32)
    matrix[5, 2], matrix[9, 1], matrix[11] = -1, 256, [0, 255, 0.9, 255.9]
    np.save(tmp_path / "x.npy", matrix)
    command = ["import", "--vectors", "x.npy", *target.flags, "--collection", "c", "--create", "--dtype", "uint8", "--metric", "dot"]
    text = quiver(*command, cwd=tmp_path, status=1)
    assert "x.npy row 5: " in text and "0 to 255, but position 2 has -1" in text and "goes on at row 5" in text
    text = quiver(*command, "--skip-bad", cwd=tmp_path)
    assert "left out 2 bad rows" in text and "x.npy row 9: " in text
    rows = {id: point["vector"] for id, point in target.points("c").items()}
    assert rows.keys() == set(range(40)) - {5, 9} and rows[11] == [0, 255, 0, 255] and rows[0] == [7] * 4


def test_bad_rows_are_skipped(target, tmp_path):
    sources = bad_sources(tmp_path)
    text = quiver("import", *sources.flags, *target.flags, "--collection", "c", "--batch", 30, "--skip-bad", cwd=tmp_path)
    assert "left out 3 bad rows" in text and "imported 97 points" in text
    for where in ["dense.npy row 7", "payload.jsonl line 41", "payload.jsonl line 71"]:
        assert where in text
    assert target.points("c") == sources.points(rows=set(range(100)) - {7, 40, 70})


def stop_at_row_40(folder, target):
    """Returns the sources, the command, and the correct payload file."""
    sources = Sources(folder, 100)
    good = (folder / "payload.jsonl").read_text()
    lines = good.splitlines(keepends=True)
    lines[40] = '{"n": 40,}\n'
    (folder / "payload.jsonl").write_text("".join(lines))
    command = ["import", *sources.flags, *target.flags, "--collection", "c"]
    assert "goes on at row 40 " in quiver(*command, cwd=folder, status=1)
    return sources, command, good


def test_a_text_that_was_mended(target, tmp_path):
    """The import resumes at the row that was bad."""
    sources, command, good = stop_at_row_40(tmp_path, target)
    (tmp_path / "payload.jsonl").write_text(good)
    text = quiver(*command, cwd=tmp_path)
    assert "going on at row 40\n" in text and "imported 60 points" in text
    assert target.points("c") == sources.points()


@pytest.mark.parametrize("what", ["before", "shorter", "other"])
def test_sources_that_were_changed(target, tmp_path, what):
    """A change before the stopping row, or in a source that is not text: the error names what changed."""
    sources, command, good = stop_at_row_40(tmp_path, target)
    changed = "dense.npy" if what == "other" else "payload.jsonl"
    if what == "other":
        np.save(tmp_path / "dense.npy", sources.dense + 1)
    else:
        (tmp_path / "payload.jsonl").write_text(good.replace("row", "line", 1) if what == "before" else good[:500])
    text = quiver(*command, cwd=tmp_path, status=1)
    size = (tmp_path / changed).stat().st_size
    assert f"file {tmp_path / changed} has changed: it had " in text and "--restart" in text
    assert f"; now {size} bytes, modified 20" in text


def test_a_text_is_not_mended_behind_rows_that_may_be_there(tmp_path):
    """Row 1 was sent and the connection broke; then the server refused row 0."""
    row_1_was_sent = threading.Event()

    def answer(request):
        if b'"id":0' in request.body:
            assert row_1_was_sent.wait(60)
            return 400
        row_1_was_sent.set()
        return None

    points = [{"id": i, "vector": [1.0, i]} for i in range(2)]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(p) + "\n" for p in points))
    with FakeServer({"size": 2, "distance": "Dot"}, answer) as fake:
        command = ["import", "--points", path, "--url", fake.url, "--collection", "c", "--batch", 1, "--connections", 2]
        assert "goes on at row 0 " in quiver(*command, cwd=tmp_path, status=1)
        path.write_text(path.read_text().replace("1.0", "2.0"))
        assert "another import is not finished" in quiver(*command, cwd=tmp_path, status=1)


def test_points_that_do_not_fit(target, tmp_path):
    points = [{"id": i, "vector": [0.5, i], "payload": {"i": i}} for i in range(50)]
    points[20]["vector"] = [1, 2, 3]
    points[30]["id"] = -1
    points[31]["vectr"] = points[31].pop("vector")
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(p) + "\n" for p in points))
    create = '{"vectors":{"size":2,"distance":"Dot"}}'
    flags = ["--points", "p.jsonl", *target.flags, "--collection", "c", "--create", create]
    text = quiver("import", *flags, cwd=tmp_path, status=1)
    assert "p.jsonl line 21" in text and "expected dim: 2, got 3" in text and "goes on at row 20" in text
    assert set(target.points("c")) == set(range(20))
    text = quiver("import", *flags, "--skip-bad", cwd=tmp_path)
    assert "going on at row 20" in text and "left out 3 bad rows" in text and "vectr" in text
    good = {i: points[i] for i in range(50) if i not in (20, 30, 31)}
    assert target.points("c") == good


@pytest.mark.parametrize("flags,wanted,status", [
    (["--vectors", "dense=missing.npy"], "missing.npy", 1),
    (["--vectors", "dense=dense.npy", "--payload", "short.jsonl"], "ends after 10 rows", 1),
    (["--vectors", "dense=dense.npy", "--vectors", "other=short.npy"], "short.npy has 5", 1),
    (["--vectors", "sparse:dense=words"], "the field is dense", 1),
    (["--vectors", "dense=short.npy"], "of 4 dimensions, the field wants 16", 1),
    (["--vectors", "nobody=dense.npy"], "there is no such field", 1),
    (["--vectors", "dense=dense.npy", "--rows", "5"], "FIRST:END", 2),
    (["--vectors", "dense=dense.npy", "--rows", "5:5"], "rows `5:5`: wanted FIRST:END with FIRST below END", 2),
    (["--vectors", "dense=dense.npy", "--id-column", "x"], "--id-column wants", 2),
    (["--vectors", "dense=dense.npy", "--metric", "l2"], "--metric l2: wanted cosine, dot", 2),
    (["--vectors", "dense=dense.npy", "--dtype", "dense=f8"], "--dtype f8: wanted one of float32", 2),
    (["--vectors", "dense=dense.npy", "--metric", "euclid"],
     f'--metric euclid: collection `NAME` has dense "dense" of {DIM} dimensions, float32, dot', 1),
    (["--vectors", "dense=dense.npy", "--dtype", "float16"], "--dtype float16: collection `NAME` has", 1),
    (["--vectors", "dense=dense.npy", "--metric", "other=dot"], 'there are no vectors "other"', 1),
    (["--points", "short.jsonl", "--metric", "other=cosine"], "--metric cosine: collection `NAME` has", 1),
    (["--vectors", "dense=dense.npy", "--create", '{"vectors":{"dense":{"size":16,"distance":"Cosine"}}}'],
     f'--create wants dense "dense" of {DIM} dimensions, float32, cosine, but', 1),
    (["--vectors", "dense=dense.npy", "--rows", "50:"], "--rows 50: holds no row: dense.npy has 50 rows", 1),
    (["--vectors", "dense=dense.npy", "--rows", "60:70"], "--rows 60:70 holds no row: dense.npy has 50 rows", 1),
    (["--payload", "short.jsonl", "--rows", "10:"], "--rows 10: holds no row: short.jsonl has 10 rows", 1),
    (["--payload", "short.jsonl", "--rows", "12:"], "10", 1),
    (["--vectors", "dense=dense.npy", "--rows", "2:99"], "--rows 2:99 goes beyond the end: dense.npy has 50 rows", 1),
    (["--vectors", "dense=dense.npy", "--rows", ":51"], "--rows 0:51 goes beyond the end: dense.npy has 50 rows", 1),
    (["--payload", "short.jsonl", "--rows", "2:99"], "--rows 2:99 goes beyond the end: short.jsonl has 10 rows", 1),
    ([], "nothing to import", 2),
])
def test_refused(server, tmp_path, name, flags, wanted, status):
    Sources(tmp_path, 50)
    (tmp_path / "short.jsonl").write_text("{}\n" * 10)
    np.save(tmp_path / "short.npy", np.zeros((5, 4), np.float32))
    server.put(f"/collections/{name}", {"vectors": {"dense": {"size": DIM, "distance": "Dot"},
                                                    "other": {"size": 4, "distance": "Dot"}}}).result
    text = quiver("import", *flags, "--url", f"http://127.0.0.1:{server.port}", "--collection", name, cwd=tmp_path, status=status)
    assert wanted.replace("NAME", name) in text


def test_flags_that_a_directory_contradicts(tmp_path):
    """Also flags that agree with the directory."""
    sources = Sources(tmp_path, 20)
    command = ["import", *sources.flags, "--data-dir", "data", "--collection", "c"]
    quiver(*command, cwd=tmp_path)
    assert "finished already" in quiver(*command, "--dtype", "float32", cwd=tmp_path)
    text = quiver(*command[:-4], "--metric", "tokens=cosine", *command[-4:], cwd=tmp_path, status=1)
    assert f'--metric cosine: collection `c` has multi "tokens" of {TOKEN_DIM} dimensions, float32, dot' in text


def test_sources_need_be_of_one_length_only_as_far_as_they_are_read(server, name, tmp_path):
    np.save(tmp_path / "long.npy", np.ones((50, 2), np.float32))
    np.save(tmp_path / "short.npy", np.ones((20, 2), np.float32))
    command = ["import", "--vectors", "a=long.npy", "--vectors", "b=short.npy", "--url", f"http://127.0.0.1:{server.port}", "--collection", name, "--create"]
    assert "imported 20 points" in quiver(*command, "--rows", "0:20", cwd=tmp_path)
    assert server.post(f"/collections/{name}/points/count", {}).result == {"count": 20}
    assert "wanted equal numbers" in quiver(*command, "--rows", "0:21", cwd=tmp_path, status=1)


def test_a_file_without_rows(server, name, tmp_path):
    np.save(tmp_path / "none.npy", np.zeros((0, DIM), np.float32))
    (tmp_path / "none.jsonl").write_text("")
    for source in [["--vectors", "none.npy"], ["--payload", "none.jsonl", "--quiet"]]:
        flags = [*source, "--url", f"http://127.0.0.1:{server.port}", "--collection", name]
        text = quiver("import", *flags, "--create", cwd=tmp_path)
        assert "imported 0 points" in text and f"warning: {source[1]} has no rows" in text


def test_small_batches_are_no_small_chunks(tmp_path):
    """A chunk makes a segment, which costs more than a thousand rows do."""
    np.save(tmp_path / "x.npy", np.ones((20_000, DIM), np.float32))
    command = ["import", "--vectors", "x.npy", "--data-dir", "data", "--collection", "c", "--create"]
    assert "imported 20,000 points" in quiver(*command, "--batch", 20, cwd=tmp_path)
    assert n_segments(tmp_path / "data") == 1


def n_segments(directory):
    return len(list(directory.glob("collections/*/*/segments/*")))


def long_after_short(folder, what):
    """Returns 40 MB of rows whose size is underestimated by the first rows, and the flags."""
    n_short, n_long = 5000, 4000
    if what == "tokens":
        lengths = np.repeat([1, 300], [n_short, n_long])
        np.save(folder / "t.indptr.npy", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        np.save(folder / "t.values.npy", np.ones((lengths.sum(), TOKEN_DIM), np.float32))
        return ["--vectors", "multi:t=t", "--create"], n_short + n_long
    text = "".join(json.dumps({"text": "x" * (40 if i < n_short else 10_000)}) + "\n" for i in range(n_short + n_long))
    (folder / "p.jsonl").write_text(text)
    return ["--payload", "p.jsonl", "--create", '{"vectors":{}}'], n_short + n_long


@pytest.mark.parametrize("what", ["payload", "tokens"])
def test_chunks_end_where_rows_become_long(tmp_path, what):
    """The chunk ends at 16 MiB here, as always with small batches."""
    flags, n = long_after_short(tmp_path, what)
    command = ["import", *flags, "--data-dir", "data", "--collection", "c", "--batch", 1]
    assert f"imported {n:,} points" in quiver(*command, cwd=tmp_path)
    assert n_segments(tmp_path / "data") >= 3


def test_names_without_the_ending(target, tmp_path):
    """If only the other file exists, it is used."""
    sources = Sources(tmp_path, 30)
    for file in ["dense.npy", "payload.jsonl"]:
        (tmp_path / (file + ".zst")).write_bytes(zstandard.compress((tmp_path / file).read_bytes()))
        (tmp_path / file).unlink()
    quiver("import", *sources.flags, *target.flags, "--collection", "c", cwd=tmp_path)
    assert target.points("c") == sources.points()


def test_sparse_rows_in_any_order(target, tmp_path):
    """A row with the same index twice is bad."""
    indices, values = [7, 1, 4, 2, 9, 2, 5, 3], [0.5 * i for i in range(8)]
    for part, array in [("indptr", np.array([0, 3, 6, 8])), ("indices", np.array(indices)), ("values", np.float32(values))]:
        np.save(tmp_path / f"words.{part}.npy", array)
    raw = struct.pack("<3q4q", 3, 10, 8, 0, 3, 6, 8) + struct.pack("<8i8f", *indices, *values)
    (tmp_path / "words.csr").write_bytes(raw)
    for number, source in enumerate(["words", "words.csr"]):
        command = ["import", "--vectors", f"sparse:w={source}", *target.flags, "--collection", f"c{number}", "--create"]
        text = quiver(*command, cwd=tmp_path, status=1)
        assert f"{source} row 1: found index 2 twice, wanted each once" in text and "goes on at row 1" in text
        assert "left out 1 bad row" in quiver(*command, "--skip-bad", cwd=tmp_path)
        rows = {id: point["vector"]["w"] for id, point in target.points(f"c{number}").items()}
        assert rows == {0: {"indices": [1, 4, 7], "values": [0.5, 1.0, 0.0]}, 2: {"indices": [3, 5], "values": [3.5, 3.0]}}


@pytest.mark.parametrize("is_binary", [True, False])
def test_lines_that_are_no_text(target, tmp_path, is_binary):
    """Also sources that end within a line: the error names the line, not only the missing rows."""
    sources = Sources(tmp_path, 50)
    whole = (tmp_path / "payload.jsonl").read_bytes()
    cut = whole[:whole.index(b"\n", 2000) + 10]
    (tmp_path / "payload.jsonl").write_bytes(bytes(range(256)) * 20 if is_binary else cut)
    n = 0 if is_binary else cut.count(b"\n")
    command = ["import", *sources.flags, *target.flags, "--collection", "c"]
    text = quiver(*command, cwd=tmp_path, status=1)
    assert f"payload.jsonl line {n + 1}: " in text and f"goes on at row {n} " in text and "JSON" in text
    assert target.points("c") == sources.points(rows=range(n))
    text = quiver(*command, "--skip-bad", cwd=tmp_path, status=1)
    assert f"payload.jsonl line {n + 1}: " in text and "payload.jsonl ends after" in text


# Resuming.

def test_finished_and_restart(target, tmp_path):
    sources = Sources(tmp_path, 50)
    command = ["import", *sources.flags, *target.flags, "--collection", "c"]
    if target.kind == "server":
        assert "imported 50 points" in quiver(*command, cwd=tmp_path)
        assert not list(tmp_path.glob("*.import"))  # the default state file is removed at the end
        command += ["--state", "s.import"]
    quiver(*command, cwd=tmp_path)
    assert "finished already: 50 points" in quiver(*command, cwd=tmp_path)
    assert "imported 50 points" in quiver(*command, "--restart", cwd=tmp_path)
    assert "imported 20 points" in quiver(*command, "--rows", ":20", cwd=tmp_path)
    assert target.points("c") == sources.points()


def sources_to_interrupt(folder, n, target):
    """With a directory, chunks are at least 16 MiB, here about 800 rows."""
    return Sources(folder, n, padding="" if target.kind == "server" else "x" * 20_000)


def start_import(sources, target, *more, collection="c"):
    """Uses small requests or chunks, so that the import takes a while."""
    command = [binary(), "import", *sources.flags, *target.flags, "--collection", collection, "--batch", 3, *more]
    return subprocess.Popen([str(c) for c in command], cwd=sources.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def seconds_to_import(sources, target, *more):
    """Duration of an uninterrupted import. It tells other tests when to interrupt theirs, on any machine."""
    begin = time.monotonic()
    process = start_import(sources, target, *more, collection="uninterrupted")
    text = process.communicate(timeout=patience(120))[0]
    assert process.returncode == 0, text
    return time.monotonic() - begin


def test_sigint(target, tmp_path):
    sources = sources_to_interrupt(tmp_path, 6000, target)
    whole = seconds_to_import(sources, target)
    wait = 0.4 * whole
    for attempt in range(10):
        process = start_import(sources, target, collection=f"c{attempt}")
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=patience(60))[0]
        if process.returncode == 130:
            break
        # On a busy machine durations vary several-fold: this import had finished, or not begun.
        assert process.returncode in (0, -signal.SIGINT), text
        wait *= 0.5 if process.returncode == 0 else 1.5
    assert process.returncode == 130, text
    assert "the same command goes on at row" in text
    quiver(*process.args[1:], cwd=tmp_path)
    assert target.points(f"c{attempt}") == sources.points()


@pytest.mark.parametrize("ids", ["rows", "repeated"])
def test_kill9_and_resume(target, tmp_path, ids):
    """The import is killed at random moments until it finishes. With repeated ids, the last row of an id counts."""
    sources = sources_to_interrupt(tmp_path, 4000, target)
    id_of, more = (lambda i: i), []
    if ids == "repeated":
        for i, payload in enumerate(sources.payload):
            payload["uid"] = str(uuid.UUID(int=i % 700 + 1)) if i % 3 else i % 500
        (tmp_path / "payload.jsonl").write_text("".join(json.dumps(p) + "\n" for p in sources.payload))
        id_of, more = (lambda i: sources.payload[i]["uid"]), ["--id-column", "uid"]
    moments = random.Random(SEED)
    n_killed = 0
    whole = seconds_to_import(sources, target, *more)
    while True:
        process = start_import(sources, target, *more)
        share = moments.uniform(0.1, 0.6) if n_killed else 0.1  # the first kill surely comes before the end
        try:
            text = process.communicate(timeout=share * whole if n_killed < 12 else patience(60))[0]
            assert process.returncode == 0, text
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            n_killed += 1
    print(f"seed {SEED}: killed {n_killed} times")
    assert n_killed > 0
    assert target.points("c") == sources.points(id_of)


def wait_for_points(server, collection):
    """Waits until the first points of an import exist; before that, the import does not retry."""
    def has_points():
        answer = server.post(f"/collections/{collection}/points/count", {})
        return answer.status == 200 and answer.result["count"] > 0

    assert comes_true(has_points, 60), f"no points in `{collection}`"


def test_server_goes_away(new_server, tmp_path):
    sources = Sources(tmp_path, 3000)
    target = Target("server", new_server())
    process = start_import(sources, target)
    wait_for_points(target.server, "c")
    for _ in range(2):
        time.sleep(0.3)
        target.server.kill9()
        target.server.start()
    text = process.communicate(timeout=patience(60))[0]
    assert process.returncode == 0, text
    assert target.points("c") == sources.points()


def test_directory_in_use(new_server, tmp_path):
    server = new_server().start()
    sources = Sources(tmp_path, 10)
    text = quiver("import", *sources.flags, "--data-dir", server.data_dir, "--collection", "c", cwd=tmp_path, status=1)
    assert str(server.process.pid) in text


def test_bars_of_a_server(server, name, tmp_path):
    """A port without a server, and a server that requires a key."""
    sources = Sources(tmp_path, 10)
    text = quiver("import", *sources.flags, "--url", "http://127.0.0.1:1", "--collection", name, cwd=tmp_path, status=1)
    assert "cannot connect to 127.0.0.1:1" in text
    closed = Server(tmp_path / "closed", args=["--set", "service.api_key=secret"])
    closed.start(wait=False)
    try:
        time.sleep(1)
        flags = [*sources.flags, "--url", f"http://127.0.0.1:{closed.port}", "--collection", name]
        assert "401" in quiver("import", *flags, cwd=tmp_path, status=1)
        assert "imported 10" in quiver("import", *flags, "--api-key", "secret", cwd=tmp_path)
    finally:
        closed.close()
