"""System calls of a server that fail (failing_calls.py). `make soak-system-calls` has more of them."""
import random

import failing_calls
import kills
import pytest

from patience import comes_true

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
