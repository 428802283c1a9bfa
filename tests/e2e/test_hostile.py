"""Hostile requests over REST and gRPC (hostile.py). `make soak-hostile` sends more, and watches the size of the process."""
import random
import tempfile
from pathlib import Path

import hostile
import pytest
from quiver_server import Server

SEED, N_REQUESTS = 20261128, 20_000


@pytest.fixture
def server_in_memory(tmp_path):
    """Its files concern nobody here, and syncs of a busy disk would take most of the time."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        server = Server(Path(folder) / "data", env=hostile.ENV, grpc=True)
        yield server
        server.close()


def test_hostile_requests(server_in_memory):
    print(f"seed {SEED}")
    enemies = hostile.Hostile(server_in_memory)
    counts = enemies.round(random.Random(SEED), N_REQUESTS)
    assert hostile.n_requests(counts) > 0.9 * N_REQUESTS, counts
    assert counts["REST 2xx"] > 100 and counts["gRPC OK"] > 100, f"nothing gets past the doors: {counts}"
    server_in_memory.stop()
