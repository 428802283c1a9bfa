"""Data directories that somebody changed by hand: the server removes nothing unasked and reports what it found."""
import contextlib
import json
import shutil
import subprocess
import time
from datetime import datetime

import pytest
from patience import comes_true
from quiver_server import binary


def fill(server, *names):
    for name in names:
        server.put(f"/collections/{name}", {"vectors": {"size": 1, "distance": "Dot"}}).result
        add(server, name, 1)


def add(server, name, id):
    return server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": id, "vector": [1]}]})


def count(server, name):
    return server.post(f"/collections/{name}/points/count", {}).result["count"]


def test_a_missing_catalog_stops_the_start_and_removes_nothing(new_server):
    server = new_server().start()
    fill(server, "a", "b")
    server.stop()
    catalog, kept = server.data_dir / "catalog", server.data_dir / "kept"
    catalog.rename(kept)
    server.start(wait=False)
    assert server.process.wait(30) != 0
    for text in ("catalog` is missing", "holds collections (`00000001`)", "nothing was changed"):
        assert text in server.log_tail()
    kept.rename(catalog)
    server.start()
    assert [count(server, name) for name in "ab"] == [1, 1]
    server.stop()


def test_the_time_of_creation_is_kept(new_server):
    def creation():
        return datetime.fromisoformat(server.get("/collections/a").result["created_at"])

    server = new_server().start()
    before = time.time()
    fill(server, "a")
    created_at = creation()
    assert before - 0.001 <= created_at.timestamp() <= time.time()
    time.sleep(0.01)
    server.patch("/collections/a", {"metadata": {"owner": "me"}})
    for stop in (server.stop, server.kill9):
        stop()
        server.start()
        assert creation() == created_at
    server.delete("/collections/a")
    fill(server, "a")
    assert creation() > created_at


def test_strangers_are_left_alone_and_listed(new_server):
    server = new_server().start()
    fill(server, "a")
    server.stop()
    below = server.data_dir / "collections"
    shutil.copytree(below / "00000001", below / "00000001.bak")
    (below / "notes.txt").write_text("text")
    server.start()
    for stranger in ("00000001.bak", "notes.txt"):
        assert f"{stranger}` belongs to no collection" in server.log_tail()
    assert count(server, "a") == 1
    server.stop()
    assert (below / "00000001.bak/shard-0/rows/CURRENT").exists() and (below / "notes.txt").exists()
    inspect = [binary(), "inspect", "--data-dir", server.data_dir]
    text = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout
    assert "  00000001.bak\n  notes.txt\n" in text
    lines = subprocess.run([*inspect, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert json.loads(lines[-1]) == {"strangers": ["00000001.bak", "notes.txt"]}


def tool(command, server, *args):
    return subprocess.run([binary(), command, "--data-dir", server.data_dir, *args], capture_output=True, text=True)


def test_a_damaged_log_closes_its_collection_only_and_a_repair_saves_the_rest(new_server):
    server = new_server().start()
    fill(server, "a", "b")
    for id in range(2, 200):
        add(server, "a", id)
    server.kill9()
    rows = server.data_dir / "collections/00000001/shard-0/rows"
    [log] = rows.glob("*.log")
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    log.write_bytes(damaged)

    server.start(wait=False)
    server.wait_ready("/livez")
    assert count(server, "b") == 1
    answer = server.get("/collections/a")
    assert answer.status == 503
    assert "is damaged" in answer.error and "cannot be read at byte" in answer.error
    ready = server.get("/readyz")
    assert ready.status == 503 and "collection `a`" in ready.text
    assert add(server, "a", 500).status == 503 and server.post("/collections/a/points/count", {}).status == 503
    server.stop()
    assert log.read_bytes() == bytes(damaged), "what is damaged is left as it is"

    checked = tool("check", server)
    assert checked.returncode == 1 and "1 problem" in checked.stderr
    assert "collection a, shard 0" in checked.stdout and "cannot be read at byte" in checked.stdout
    repaired = tool("repair", server, "--collection", "a")
    assert repaired.returncode == 0, repaired.stderr
    assert "rows.damaged-1" in repaired.stdout
    assert tool("check", server).returncode == 0
    assert "nothing was done" in tool("repair", server, "--collection", "a").stdout
    server.start()
    assert count(server, "a") in (198, 199) and count(server, "b") == 1
    add(server, "a", 500)
    server.stop()


def test_readiness_tells_of_damage_that_nobody_asked_for(new_server):
    server = new_server().start()
    fill(server, "a", "b")
    add(server, "a", 2)
    server.stop()
    [log] = (server.data_dir / "collections/00000001/shard-0/rows").glob("*.log")
    damaged = bytearray(log.read_bytes())
    damaged[20] ^= 1
    log.write_bytes(damaged)
    server.start(wait=False)
    server.wait_ready("/livez")
    assert comes_true(lambda: server.get("/readyz").status == 503)
    assert "collection `a`" in server.get("/readyz").text


def test_a_full_disk_at_the_start_serves_reads(new_server, tmp_path):
    mounted = tmp_path / "small"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", mounted], capture_output=True).returncode:
        pytest.skip("mounting a small disk takes root")
    server = new_server()
    server.data_dir = mounted / "data"
    server.env["QUIVER__OPTIMIZER__SEAL_ROWS"] = "100"
    try:
        server.start()
        fill(server, "a")
        for id in range(2, 400):
            add(server, "a", id)
        server.kill9()
        filler = mounted / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        server.start(wait=False)
        server.wait_ready("/livez")
        assert count(server, "a") == 399
        refused = add(server, "a", 1000)
        assert refused.status == 507 and "no space left" in refused.error
        assert count(server, "a") == 399
        filler.unlink()
        assert comes_true(lambda: server.get("/collections/a").result["optimizer_status"] == "ok")
        assert add(server, "a", 1000).status == 200
        server.stop()
        server.start()
        assert count(server, "a") == 400
    finally:
        server.close()
        subprocess.run(["umount", mounted], check=True)
