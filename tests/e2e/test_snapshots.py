"""Snapshots over REST: made while writes go on, downloaded, uploaded, recovered, damaged, killed."""
import hashlib
import http.client
import http.server
import io
import json
import random
import subprocess
import tarfile
import threading
import time
from functools import partial

import numpy as np
import pytest
from patience import comes_true

from quiver_server import SMALL_SEGMENTS, binary

DIM = 8
COLLECTION = {"vectors": {"dense": {"size": DIM, "distance": "Cosine"}}, "sparse_vectors": {"words": {}},
              "optimizers_config": {"indexing_threshold": 1}}


def point(id, version=1):
    rng = np.random.default_rng([id, version])
    return {"id": id, "payload": {"version": version, "group": id % 5},
            "vector": {"dense": [round(float(v), 4) for v in rng.standard_normal(DIM)],
                       "words": {"indices": [id % 20, 20 + id % 7], "values": [0.5, 1.25]}}}


def fill(server, name, n=300, config=None):
    server.put(f"/collections/{name}", COLLECTION | (config or {})).result
    server.put(f"/collections/{name}/index", {"field_name": "group", "field_schema": "integer"}).result
    for first in range(0, n, 100):
        upsert(server, name, range(first, first + 100))
    server.post(f"/collections/{name}/points/delete?wait=true", {"points": list(range(0, n, 10))}).result


def upsert(server, name, ids, version=1):
    server.put(f"/collections/{name}/points?wait=true", {"points": [point(i, version) for i in ids]}).result


def contents(server, name):
    """All that a client can see: every point, and the answers to some queries, with their bits."""
    points = server.post(f"/collections/{name}/points/scroll",
                         {"limit": 10000, "with_vector": True}).result["points"]
    answers = []
    for seed in range(5):
        vector = [round(float(v), 4) for v in np.random.default_rng([99, seed]).standard_normal(DIM)]
        body = {"query": vector, "using": "dense", "limit": 20, "filter": {"must": [{"key": "group", "match": {"value": seed % 5}}]}}
        answers.append(server.post(f"/collections/{name}/points/query", body).result["points"])
        body = {"query": {"indices": [seed, 20 + seed % 7], "values": [1.0, 0.5]}, "using": "words", "limit": 20}
        answers.append(server.post(f"/collections/{name}/points/query", body).result["points"])
    # A version counts a shard's changes and stays with the point.
    return json.dumps([points, answers])


def snapshot(server, name):
    return server.post(f"/collections/{name}/snapshots?wait=true").result


def archive(server, name, snapshot_name):
    answer = server.get(f"/collections/{name}/snapshots/{snapshot_name}")
    assert answer.status == 200
    return answer.body


def upload(server, path, bytes, query="", headers=None):
    boundary = "----a-boundary"
    body = (f"--{boundary}\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n"
            f"--{boundary}\r\nContent-Disposition: form-data; name=\"snapshot\"; filename=\"s.snapshot\"\r\n"
            f"Content-Type: application/octet-stream\r\n\r\n").encode() + bytes + f"\r\n--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"} | (headers or {})
    return server.post(f"{path}/snapshots/upload{query}", body, headers=headers)


def make_tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in files:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def entries(bytes):
    with tarfile.open(fileobj=io.BytesIO(bytes)) as tar:
        return [(info, tar.extractfile(info).read()) for info in tar.getmembers()]


@pytest.fixture
def small(new_server):
    return new_server(env=SMALL_SEGMENTS).start()


def test_create_list_download_delete(server, name):
    fill(server, name)
    assert server.get(f"/collections/{name}/snapshots").result == []
    made = snapshot(server, name)
    assert made["name"].startswith(f"{name}-") and made["name"].endswith(".snapshot")
    assert server.get(f"/collections/{name}/snapshots").result == [made]
    bytes = archive(server, name, made["name"])
    assert len(bytes) == made["size"] and hashlib.sha256(bytes).hexdigest() == made["checksum"]
    assert [e[0].name for e in entries(bytes)][::len(entries(bytes)) - 1] == ["quiver-snapshot.json", "manifest.json"]
    assert server.delete(f"/collections/{name}/snapshots/{made['name']}").result is True
    assert server.get(f"/collections/{name}/snapshots").result == []
    assert server.get(f"/collections/{name}/snapshots/{made['name']}").status == 404
    assert server.delete(f"/collections/{name}/snapshots/{made['name']}").status == 404
    assert server.get("/collections/missing/snapshots").error == "Not found: Collection `missing` doesn't exist!"


def test_ranges(server, name):
    fill(server, name)
    made = snapshot(server, name)
    path, size = f"/collections/{name}/snapshots/{made['name']}", made["size"]
    whole = archive(server, name, made["name"])
    rng = random.Random(4)
    for _ in range(20):
        first = rng.randrange(size)
        last = rng.randrange(first, size)
        part = server.get(path, headers={"Range": f"bytes={first}-{last}"})
        assert part.status == 206 and part.body == whole[first:last + 1]
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
    assert server.get(path, headers={"Range": "bytes=-700"}).body == whole[-700:]
    assert server.get(path, headers={"Range": f"bytes={size - 5}-"}).body == whole[-5:]
    beyond = server.get(path, headers={"Range": f"bytes={size}-"})
    assert beyond.status == 416 and beyond.headers["content-range"] == f"bytes */{size}"


def test_recovery_gives_the_same_bits(small):
    fill(small, "a")
    before = contents(small, "a")
    made = snapshot(small, "a")
    upsert(small, "a", range(1000, 1100), version=2)
    bytes = archive(small, "a", made["name"])
    assert contents(small, "a") != before
    # Under another name, from the archive; over itself, from the folder.
    assert upload(small, "/collections/b", bytes, f"?checksum={made['checksum']}").result is True
    assert contents(small, "b") == before
    folder = f"file://{small.data_dir}/snapshots/a/{made['name']}"
    assert small.put("/collections/a/snapshots/recover", {"location": folder, "checksum": made["checksum"].upper()}).result is True
    assert contents(small, "a") == before
    # Both are collections of their own, and last.
    upsert(small, "b", range(5000, 5050), version=7)
    assert contents(small, "a") == before
    after = contents(small, "b")
    small.stop()
    small.start()
    assert contents(small, "a") == before and contents(small, "b") == after
    assert small.get("/collections/a/snapshots").result == [made]
    config_a, config_b = (small.get(f"/collections/{c}").result["config"] for c in "ab")
    assert config_a == config_b
    assert len(list((small.data_dir / "collections").iterdir())) == 2, "replaced directories are removed"


def test_archives_as_files_and_over_http(small, tmp_path):
    fill(small, "a")
    before = contents(small, "a")
    made = snapshot(small, "a")
    bytes = archive(small, "a", made["name"])
    (small.data_dir / "snapshots/mine").mkdir()
    (small.data_dir / "snapshots/mine/copy").write_bytes(bytes)
    location = f"file://localhost{small.data_dir}/snapshots/mine/copy"
    assert small.put("/collections/b/snapshots/recover", {"location": location}).result is True
    assert contents(small, "b") == before
    (tmp_path / "served").mkdir()
    (tmp_path / "served/s.snapshot").write_bytes(bytes)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "served")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}"
        bad = small.put("/collections/c/snapshots/recover", {"location": f"{url}/s.snapshot", "checksum": "3" * 64})
        assert bad.status == 400 and "checksum mismatch" in bad.error
        assert small.get("/collections/c").status == 404
        missing = small.put("/collections/c/snapshots/recover", {"location": f"{url}/none"})
        assert missing.status == 400 and "status 404" in missing.error
        assert small.put("/collections/c/snapshots/recover", {"location": f"{url}/s.snapshot"}).result is True
        assert contents(small, "c") == before
        web.shutdown()
    own = f"http://localhost:{small.port}/collections/a/snapshots/{made['name']}"
    assert small.put("/collections/d/snapshots/recover", {"location": own}).result is True
    assert contents(small, "d") == before


@pytest.mark.parametrize("location, status, text", [
    ("file://whatever.snapshot", 400, "Bad request: Invalid snapshot URI, file path must be absolute or on localhost"),
    ("file:///whatever.snapshot", 400, 'Bad request: Snapshot file "/whatever.snapshot" does not exist'),
    ("file:///etc/passwd", 403, "Forbidden: Snapshot file path must be inside the snapshots directory"),
    ("http://example.com/x", 403, "Forbidden: Snapshot recovery from host `example.com` is not allowed"),
    ("http://localhost:1/x", 400, "Bad request: cannot fetch the snapshot"),
    ("ftp://localhost/x", 400, "Bad request: URL ftp://localhost/x with scheme ftp is not supported"),
    ("nothing", 404, "Not found: Snapshot `nothing` does not exist"),
])
def test_bad_locations(server, location, status, text):
    answer = server.put("/collections/new/snapshots/recover", {"location": location})
    assert answer.status == status and answer.error.startswith(text)
    assert server.get("/collections/new").status == 404


def test_switch_for_urls(new_server):
    server = new_server(args=["--set", "service.enable_snapshot_url_recovery=false"]).start()
    answer = server.put("/collections/new/snapshots/recover", {"location": "http://localhost/x"})
    assert answer.status == 403 and "disabled in the configuration" in answer.error


def damaged(bytes):
    """Archives that must be refused, and what their errors say."""
    files = entries(bytes)
    size = len(bytes)
    for share in (0.1, 0.5, 0.9):
        yield "cut short", bytes[:int(size * share)], "ends too early"
    yield "without its end", bytes[:-1024], "ends too early"
    yield "with a tail", bytes + b"x" * 512, "something after its end"
    rng = random.Random(11)
    for _ in range(12):
        at = rng.randrange(size - 1024)
        flipped = bytes[:at] + bytes_of(bytes[at] ^ (1 << rng.randrange(8))) + bytes[at + 1:]
        yield f"flipped at {at}", flipped, None
    intro = files[0]

    def replaced(name=None, type=None, linkname=""):
        info = tarfile.TarInfo(name or files[1][0].name)
        info.size = len(files[1][1]) if type is None else 0
        info.type, info.linkname = type or tarfile.REGTYPE, linkname
        return make_tar([intro, (info, files[1][1] if type is None else b""), *files[2:]])

    yield "a parent", replaced("../evil"), "may leave its folder"
    yield "a parent within", replaced("shard-0/../../evil"), "may leave its folder"
    yield "absolute", replaced("/tmp/evil"), "is absolute"
    yield "a symbolic link", replaced("shard-0/l", tarfile.SYMTYPE, "/etc/passwd"), "only files are allowed"
    yield "a hard link", replaced("shard-0/l", tarfile.LNKTYPE, "/etc/passwd"), "only files are allowed"
    yield "a device", replaced("shard-0/d", tarfile.CHRTYPE), "only files are allowed"
    yield "another name", replaced("shard-0/other"), "is missing"
    yield "a file as a folder", replaced(files[2][0].name + "/below"), "is a file and a folder"
    yield "twice", make_tar([intro, files[1], *files[1:]]), "twice"
    yield "a file more", make_tar([intro, (tarfile.TarInfo("shard-0/more"), b""), *files[1:]]), "does not name"
    yield "after the manifest", make_tar([*files, (tarfile.TarInfo("shard-0/more"), b"")]), "after its manifest"
    yield "foreign", make_tar(files[1:]), "is no snapshot of this server"
    yield "no tar", b"not a snapshot" * 100, "is no tar archive"
    yield "empty", b"", "ends too early"


def bytes_of(value):
    return value.to_bytes(1, "little")


def test_damaged_archives_change_nothing(small):
    fill(small, "a", n=100)
    before = contents(small, "a")
    bytes = archive(small, "a", snapshot(small, "a")["name"])
    for what, archive_bytes, text in damaged(bytes):
        for name in ("a", "new"):
            answer = upload(small, f"/collections/{name}", archive_bytes)
            if what.startswith("flipped") and answer.status == 200:
                # Bits that no reader looks at, such as those after a name's end: the contents are the same.
                assert contents(small, name) == before, what
                small.delete("/collections/new")
                continue
            assert answer.status == 400, f"{what}: {answer.status} {answer.text}"
            assert text is None or text in answer.error, f"{what}: {answer.error}"
    assert small.get("/collections/new").status == 404
    assert contents(small, "a") == before
    assert comes_true(lambda: len(list((small.data_dir / "collections").iterdir())) == 1), "removed in the background"
    assert not (small.data_dir.parent / "evil").exists()


def test_snapshot_that_does_not_fit(server, name):
    fill(server, name)
    bytes = archive(server, name, snapshot(server, name)["name"])
    server.put(f"/collections/{name}x", {"vectors": {"size": 3, "distance": "Dot"}}).result
    answer = upload(server, f"/collections/{name}x", bytes)
    assert answer.status == 400 and "not compatible with existing collection" in answer.error
    answer = upload(server, f"/collections/{name}/shards/0", bytes)
    assert answer.status == 400 and "holds a collection, not a shard" in answer.error
    answer = upload(server, f"/collections/{name}", bytes, "?checksum=abc")
    assert answer.status == 422 and "invalid_sha256_hash" in answer.error
    answer = server.post(f"/collections/{name}/snapshots/upload", b"{}")
    assert answer.status == 400 and "multipart/form-data" in answer.error


def test_keys_are_checked_before_an_upload(new_server):
    server = new_server(args=["--set", "service.api_key=right", "--set", "service.read_only_api_key=read",
                              "--set", "service.max_request_size_mb=1"]).start(wait=False)
    server.wait_ready("/healthz")
    large = b"x" * (3 << 20)
    for headers, status in (({}, 401), ({"api-key": "wrong"}, 401), ({"api-key": "read"}, 403)):
        answer = upload(server, "/collections/a", large, headers=headers)
        assert answer.status == status, answer.text
    assert upload(server, "/collections/a", large, headers={"api-key": "right"}).status == 400
    for path in ("/snapshots", "/collections/a/snapshots"):
        assert server.post(path, headers={"api-key": "read"}).status == 403


def test_shards(small):
    fill(small, "a", config={"shard_number": 3})
    before = contents(small, "a")
    shards = "/collections/a/shards"
    made = small.post(f"{shards}/1/snapshots").result
    assert made["name"].startswith("a-shard-1-")
    assert small.get(f"{shards}/1/snapshots").result == [made] and small.get(f"{shards}/0/snapshots").result == []
    assert small.get(f"{shards}/9/snapshots").status == 404
    bytes = small.get(f"{shards}/1/snapshots/{made['name']}").body
    assert hashlib.sha256(bytes).hexdigest() == made["checksum"]
    upsert(small, "a", range(2000, 2200), version=3)
    assert upload(small, "/collections/a/shards/0", bytes).status == 400, "its points belong to shard 1"
    assert small.put(f"{shards}/1/snapshots/recover", {"location": made["name"]}).result is True
    points = {p["id"]: p for p in small.post("/collections/a/points/scroll", {"limit": 9999, "with_vector": True}).result["points"]}
    old = {p["id"]: p for p in json.loads(before)[0]}
    # Shard 1 is as it was; the others kept what was written meanwhile.
    assert all(points[id] == p for id, p in old.items())
    assert 80 < len(points) - len(old) < 180
    streamed = small.get(f"{shards}/1/snapshot").body
    assert upload(small, "/collections/a/shards/1", streamed).result is True
    small.kill9()
    small.start()
    again = {p["id"]: p for p in small.post("/collections/a/points/scroll", {"limit": 9999, "with_vector": True}).result["points"]}
    assert again == points


def test_whole_storage(small):
    fill(small, "a", n=100)
    fill(small, "b", n=100)
    assert small.get("/snapshots").result == []
    made = small.post("/snapshots").result
    assert made["name"].startswith("full-snapshot-") and small.get("/snapshots").result == [made]
    bytes = small.get(f"/snapshots/{made['name']}").body
    assert hashlib.sha256(bytes).hexdigest() == made["checksum"]
    manifest = json.loads(entries(bytes)[-1][1])
    assert [c["name"] for c in manifest["collections"]] == ["a", "b"]
    assert small.get("/collections/a/snapshots").result == []
    assert small.get("/snapshots/..%2F..%2Fetc%2Fpasswd").status == 404
    assert small.delete(f"/snapshots/{made['name']}").result is True


def test_without_waiting(server, name):
    fill(server, name, n=100)
    answer = server.post(f"/collections/{name}/snapshots?wait=false")
    assert answer.status == 202 and answer.json["status"] == "accepted"
    assert answer.json["result"]["checksum"] is None, "Qdrant's answer names no snapshot"
    found = comes_true(lambda: [s for s in server.get(f"/collections/{name}/snapshots").result if s["checksum"]])
    path = f"/collections/{name}/snapshots"
    assert [s["name"] for s in found] == [answer.json["result"]["name"]]
    answer = server.put(f"{path}/recover?wait=false", {"location": found[0]["name"]})
    assert answer.status == 202
    assert server.delete(f"{path}/{found[0]['name']}?wait=false").status == 202
    assert comes_true(lambda: server.get(path).result == [])


def test_snapshots_under_writes(small):
    """Each snapshot holds a prefix of one client's writes, all of it and nothing more."""
    small.put("/collections/a", COLLECTION).result
    stop, written, failures = threading.Event(), [0], []

    def write():
        try:
            while not stop.is_set():
                upsert(small, "a", [written[0]])
                written[0] += 1
        except Exception as e:
            failures.append(e)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for i in range(4):
            assert comes_true(lambda: written[0] >= 60 * i + 30)
            low = written[0]
            made = snapshot(small, "a")
            high = written[0]
            assert upload(small, f"/collections/r{i}", archive(small, "a", made["name"])).result is True
            ids = [p["id"] for p in small.post(f"/collections/r{i}/points/scroll", {"limit": 99999}).result["points"]]
            assert ids == list(range(len(ids))) and low <= len(ids) <= high + 1
    finally:
        stop.set()
        writer.join()
    assert not failures


@pytest.mark.parametrize("seed", range(3))
def test_kill_while_recovering(new_server, seed):
    """A recovery happened whole or not at all, and leaves nothing behind."""
    server = new_server(env=SMALL_SEGMENTS).start()
    fill(server, "a", n=100)
    old = contents(server, "a")
    made = snapshot(server, "a")
    upsert(server, "a", range(3000, 3100), version=2)
    new = contents(server, "a")
    rng = random.Random(seed)
    n_old = n_new = 0
    for round in range(4):
        recover = threading.Thread(target=recover_until_killed, args=(server, made["name"]))
        recover.start()
        time.sleep(rng.random() * 0.08)
        server.kill9()
        recover.join()
        server.start()
        found = contents(server, "a")
        assert found in (old, new), f"seed {seed}, round {round}"
        n_old, n_new = n_old + (found == old), n_new + (found == new)
        assert len(list((server.data_dir / "collections").iterdir())) == 1, "leftovers are removed at the start"
        assert server.get("/collections/a/snapshots").result == [made]
        if found == old:
            upsert(server, "a", range(3000, 3100), version=2)
            new = contents(server, "a")


def recover_until_killed(server, name):
    try:
        server.put("/collections/a/snapshots/recover", {"location": name})
    except (OSError, http.client.HTTPException):
        pass  # the kill


def command(*args):
    return subprocess.run([str(binary()), *map(str, args)], capture_output=True, text=True, timeout=120)


def restored(new_server, folder):
    server = new_server(env=SMALL_SEGMENTS)
    done = command("restore", folder, "--data-dir", server.data_dir)
    assert done.returncode == 0, done.stderr
    return server.start()


def test_backups_share_what_did_not_change(small, new_server, tmp_path):
    fill(small, "a")
    fill(small, "b", n=100, config={"shard_number": 2})
    small.post("/collections/aliases", {"actions": [{"create_alias": {"collection_name": "a", "alias_name": "x"}}]}).result
    folder = tmp_path / "backups"
    url = f"http://127.0.0.1:{small.port}"
    states, sizes = [], []
    for round in range(3):
        assert comes_true(lambda: small.get("/collections/a").result["status"] == "green")
        states.append((contents(small, "a"), contents(small, "b")))
        done = command("backup", folder, "--url", url)
        assert done.returncode == 0, done.stderr
        sizes.append(int(done.stdout.split("files copied (")[1].split()[0]))
        upsert(small, "b", range(7000 + round, 7003 + round))
    assert small.get("/snapshots").result == [], "the server keeps nothing"
    assert sizes[1] < sizes[0] / 2 and sizes[2] < sizes[0] / 2, f"only new files are copied: {sizes}"
    names = sorted(p.name for p in folder.iterdir() if p.is_dir())
    assert len(names) == 3
    # A crash left this.
    (folder / "2020-01-01T00-00-00Z.partial").mkdir()
    small.stop()
    done = command("backup", folder, "--data-dir", small.data_dir, "--keep", 2)
    assert done.returncode == 0, done.stderr
    kept = sorted(p.name for p in folder.iterdir() if p.is_dir())
    assert len(kept) == 2 and kept[0] == names[2], "the oldest went, others are complete without them"
    old = restored(new_server, folder / kept[0])
    assert (contents(old, "a"), contents(old, "b")) == states[2]
    assert old.get("/aliases").result["aliases"] == [{"alias_name": "x", "collection_name": "a"}]
    upsert(old, "a", [1])
    newest = restored(new_server, folder)
    small.start()
    for name in "ab":
        assert contents(newest, name) == contents(small, name)
    # Nothing was shared with the backup.
    again = restored(new_server, folder / kept[0])
    assert (contents(again, "a"), contents(again, "b")) == states[2]


def test_a_damaged_backup_is_refused(small, new_server, tmp_path):
    fill(small, "a", n=100)
    folder = tmp_path / "backups"
    assert command("backup", folder, "--url", f"http://127.0.0.1:{small.port}").returncode == 0
    data_dir = tmp_path / "new"
    assert command("restore", folder, "--data-dir", data_dir).returncode == 0
    again = command("restore", folder, "--data-dir", data_dir)
    assert again.returncode == 1 and "exists already" in again.stderr
    for file in sorted(folder.glob("*/files/**/*")):
        if not file.is_file() or file.stat().st_size == 0:
            continue
        bytes = file.read_bytes()
        for changed in (bytes[:-1], bytes[:len(bytes) // 2] + bytes_of(bytes[len(bytes) // 2] ^ 1) + bytes[len(bytes) // 2 + 1:]):
            file.write_bytes(changed)
            done = command("restore", folder, "--data-dir", tmp_path / "other")
            assert done.returncode == 1 and "the snapshot is damaged" in done.stderr and file.name in done.stderr
            assert not any((tmp_path / "other/collections").iterdir())
        file.write_bytes(bytes)
        break
    assert command("restore", tmp_path / "none", "--data-dir", data_dir).returncode == 1
    assert command("backup", folder, "--url", "http://127.0.0.1:1").returncode == 1
    assert command("backup", folder, "--data-dir", tmp_path / "none").returncode == 1


def test_stock_client(server, name):
    fill(server, name, n=100)
    before = contents(server, name)
    client = server.client()
    made = client.create_snapshot(name)
    assert client.list_snapshots(name) == [made] and len(made.checksum) == 64
    location = f"file://{server.data_dir}/snapshots/{name}/{made.name}"
    assert client.recover_snapshot(name, location, checksum=made.checksum, priority="snapshot")
    shard = client.create_shard_snapshot(name, 0)
    assert client.list_shard_snapshots(name, 0) == [shard]
    location = f"file://{server.data_dir}/snapshots/{name}/shards/0/{shard.name}"
    assert client.recover_shard_snapshot(name, 0, location)
    assert client.delete_shard_snapshot(name, 0, shard.name)
    assert contents(server, name) == before
    assert client.delete_snapshot(name, made.name) and client.list_snapshots(name) == []
    everything = client.create_full_snapshot()
    assert [s.name for s in client.list_full_snapshots()] == [everything.name]
    assert client.delete_full_snapshot(everything.name)


def test_stop_and_kill_while_creating(new_server):
    """A snapshot is there or not; nothing unfinished stays, and stopping does not wait for checksums."""
    server = new_server(env=SMALL_SEGMENTS).start()
    fill(server, "a", n=100)
    before = contents(server, "a")
    rng = random.Random(3)
    for round in range(4):
        requests = [threading.Thread(target=create_until_killed, args=(server,)) for _ in range(2)]
        for request in requests:
            request.start()
        time.sleep(rng.random() * 0.1)
        server.stop() if round == 3 else server.kill9()
        for request in requests:
            request.join()
        server.start()
        for made in server.get("/collections/a/snapshots").result:
            bytes = archive(server, "a", made["name"])
            assert upload(server, "/collections/b", bytes).result is True
            assert contents(server, "b") == before
        assert not list(server.data_dir.glob("snapshot-drafts/*"))
        assert all(p.name.endswith(".snapshot") for p in (server.data_dir / "snapshots/a").glob("*"))


def create_until_killed(server):
    try:
        server.post("/collections/a/snapshots")
    except (OSError, http.client.HTTPException):
        pass  # the kill
