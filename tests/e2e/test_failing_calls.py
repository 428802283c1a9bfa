"""System calls of a server that fail or take long (failing_calls.py). `make soak-system-calls` has more that fail."""
import random

import failing_calls
import kills
import pytest

from patience import comes_true
from quiver_cluster import InBackground

SEED, SCRIPTS_PER_KIND = 20261128, 2

pytestmark = pytest.mark.skipif(failing_calls.library() is None, reason="needs scripts/build release failing_calls")


def hindered_server(new_server, tmp_path):
    calls = failing_calls.Calls(tmp_path)
    server = new_server()
    server.env |= kills.ENV | calls.environment(server.data_dir)
    return server, calls


def test_what_was_acknowledged_stays_and_what_was_refused_never_comes(new_server, tmp_path):
    server, calls = hindered_server(new_server, tmp_path)
    scripts = failing_calls.Scripts(server, calls, SEED)
    for number, kind in enumerate(failing_calls.KINDS * SCRIPTS_PER_KIND):
        what, n_failed = scripts.run(random.Random(f"{SEED}/{number}"), kind)
        print(f"seed {SEED}, script {number}: {what}: {n_failed} failed")
    server.stop()


def test_a_refused_creation_does_not_come_back(new_server, tmp_path):
    """The files of a new collection cannot be written, and nor can the catalog that would no longer name it."""
    server, calls = hindered_server(new_server, tmp_path)
    server.start()
    config = {"vectors": {"size": 2, "distance": "Dot"}}
    server.put("/collections/a", config).result
    refused = 0
    for first in range(1, 40):
        calls.arm("write", first, failing_calls.FOREVER, failing_calls.errno.ENOSPC)
        if server.put("/collections/b", config).status == 200:
            calls.disarm()
            server.delete("/collections/b").result
            continue
        refused += 1
        calls.disarm()
        assert comes_true(lambda: server.post("/collections/a/points/delete", {"points": [1]}).status == 200), "the old catalog is written"
        server.kill9() if first % 2 else server.stop()
        server.start()
        names = [each["name"] for each in server.get("/collections").result["collections"]]
        assert names == ["a"], f"after call {first} failed"
    assert refused > 3
    server.stop()


@pytest.mark.parametrize("kind", ["sync", "write"])
def test_reads_do_not_wait_for_a_slow_disk(new_server, tmp_path, kind):
    """While one update waits for the disk, others read. `bench/slow_disk.py` measures what that does to p99."""
    server, calls = hindered_server(new_server, tmp_path)
    server.start()
    server.put("/collections/a", {"vectors": {"size": 2, "distance": "Dot"}}).result
    server.put("/collections/a/points?wait=true", {"points": [{"id": i, "vector": [i, 1], "payload": {"n": i}} for i in range(500)]}).result
    answers = []
    calls.arm(kind, 1, failing_calls.FOREVER, 0, delay_s=2)
    update = {"points": [{"id": 1000, "vector": [0, 0]}]}
    n_read = 0
    with InBackground(lambda: answers.append(server.put("/collections/a/points?wait=true", update))):
        while not answers:
            hits = server.post("/collections/a/points/query", {"query": [1, 0], "limit": 1, "with_payload": True}).result["points"]
            assert hits[0]["payload"] == {"n": 499}
            n_read += 1
    n_seen, _, _ = calls.disarm()
    assert answers[0].status == 200 and n_seen > 0
    assert n_read > 20, f"{n_read} reads while {n_seen} calls took 2 s each"
    server.stop()
