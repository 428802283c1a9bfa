"""What the server makes of a data directory that somebody changed: nothing is removed unasked, and it says what it found."""
import json
import shutil
import subprocess

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
