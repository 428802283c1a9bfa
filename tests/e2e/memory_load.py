"""A mixed load that wants more memory than `memory.limit_mb`, and what must hold then. For test_memory_limit and the soak."""
import contextlib
import http.client
import json
import os
import random
import re
import threading
import time
from collections import Counter
from pathlib import Path

from patience import comes_true

LIMIT_MB, DIM, SECONDS, SEED = 128, 256, 6, 5
SETTINGS = {"QUIVER__MEMORY__LIMIT_MB": str(LIMIT_MB), "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.3"}
ROOM = float(os.environ.get("QUIVER_MEMORY_ROOM", "1.4"))  # of the limit
GROUPS = Path("/sys/fs/cgroup/memory")  # version 1
REFUSALS = {503, 507}


def vector(rng):
    return [round(rng.random(), 3) for _ in range(DIM)]


def points_of(rng, first, n):
    return [{"id": first + i, "vector": vector(rng), "payload": {"n": first + i, "text": "x" * 3000}} for i in range(n)]


def body_of(first, n):
    """As `points_of`, made in no time, so that the server and not the client is busy."""
    return ('{"points":[' + ",".join(POINT % (first + i, first + i) for i in range(n)) + "]}").encode()


POINT = json.dumps({"id": "ID", "vector": vector(random.Random(SEED)), "payload": {"n": "ID", "text": "x" * 3000}}).replace('"ID"', "%d")


def create(server):
    server.put("/collections/c", {"vectors": {"size": DIM, "distance": "Dot"},
                                  "optimizers_config": {"indexing_threshold": 1000}}).result
    server.put("/collections/c/index?wait=true", {"field_name": "n", "field_schema": "integer"}).result


class Load:
    """Threads that send requests until told to stop, and count the answers."""

    def __init__(self, server):
        self.server = server
        self.seen, self.texts, self.acknowledged = Counter(), set(), set()
        self.lock, self.stop, self.wrong = threading.Lock(), threading.Event(), []
        self.most_private = 0

    def note(self, kind, answer):
        with self.lock:
            self.seen[kind, answer.status] += 1
            if answer.status in REFUSALS:
                self.texts.add(re.sub(r"\d+(\.\d+)?", "#", answer.error))
            elif not 200 <= answer.status < 300:
                self.wrong.append(f"{kind}: {answer.status} {answer.text[:300]}")

    def write(self, number):
        rng = random.Random(SEED + number)
        n = 0
        while not self.stop.is_set():
            first, size = number * 1_000_000 + n, rng.choice([5, 500, 4000])
            n += size
            try:
                answer = self.server.put("/collections/c/points?wait=true", body_of(first, size))
            except (OSError, http.client.HTTPException):  # refused while the client still sends the body
                self.seen["broken off", 0] += 1
                continue
            self.note("write", answer)
            if answer.status == 200:
                with self.lock:
                    self.acknowledged |= set(range(first, first + size))

    def read(self, number):
        rng = random.Random(SEED + 100 + number)
        while not self.stop.is_set():
            limit = rng.choice([10, 1000, 30_000])
            body = {"limit": limit, "with_vector": True, "with_payload": True}
            self.note("scroll", self.server.post("/collections/c/points/scroll", body))
            self.note("query", self.server.post("/collections/c/points/query", body | {"query": vector(rng)}))

    def watch(self):
        while not self.stop.is_set():
            status = Path(f"/proc/{self.server.process.pid}/status").read_text()
            self.most_private = max(self.most_private, int(re.search(r"RssAnon:\s+(\d+)", status)[1]) // 1024)
            time.sleep(0.02)

    def run(self, seconds):
        threads = [threading.Thread(target=target, args=args) for target, args in
                   [(self.write, (i,)) for i in range(3)] + [(self.read, (i,)) for i in range(3)] + [(self.watch, ())]]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        comes_true(lambda: {("write", 507), ("write", 503)} & set(self.seen))
        self.stop.set()
        for thread in threads:
            thread.join()


def removes(group):
    """False while processes are in it."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


@contextlib.contextmanager
def group_of(limit_bytes):
    """A command that runs what follows it in a control group with this limit. OSError where there can be none."""
    group = GROUPS / f"quiver-test-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"], group
    finally:
        comes_true(lambda: removes(group))


def n_killed(group):
    """Processes of the group that the system killed because memory was short."""
    return int(re.search(r"oom_kill (\d+)", (group / "memory.oom_control").read_text())[1])


def check_load(server, seconds=SECONDS, room=ROOM):
    create(server)
    load = Load(server)
    load.run(seconds)
    assert server.process.poll() is None, server.log_tail()
    assert not load.wrong, load.wrong[:3]
    assert any(status in REFUSALS for _, status in load.seen), load.seen
    assert sum(n for (kind, status), n in load.seen.items() if kind == "write" and status == 200) > 0, load.seen
    memory_texts = [text for text in load.texts if "memory.limit_mb" in text]
    assert any("no memory for" in text and "are wanted" in text for text in memory_texts), load.texts
    assert load.most_private < room * LIMIT_MB, load.most_private
    return load


def check_recovery(server, load):
    rng = random.Random(SEED + 1000)
    last = None

    def takes(n):
        nonlocal last
        last = server.put("/collections/c/points?wait=true", {"points": points_of(rng, 900_000_000, n)})
        return last.status == 200
    assert comes_true(lambda: takes(100)), f"{last.text}\n{server.get('/telemetry?details_level=1').text}\n{server.log_tail()}"
    kept = sorted(load.acknowledged)
    for first in range(0, len(kept), 1000):
        ids = kept[first:first + 1000]
        assert comes_true(lambda: server.post("/collections/c/points", {"ids": ids, "with_payload": False}).status == 200)
        found = server.post("/collections/c/points", {"ids": ids, "with_payload": False}).result
        assert [point["id"] for point in found] == ids
