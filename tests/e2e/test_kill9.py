"""kill -9 under write load over the network.

Several threads write, each to its own ids, so each knows the right state of its points. At a random moment the process
is killed and started again on the same directory. Then every acknowledged change must be there and no acknowledged
deletion undone. A request that was not answered happened whole or not at all. Queries answer with the same bits as a
fresh collection of the same points, and again after a clean restart.
"""
import http.client
import json
import os
import random
import threading
import time
import uuid

import numpy as np

from quiver_server import SMALL_SEGMENTS

SEED = int(os.environ.get("QUIVER_KILL_SEED", "20260101"))
ROUNDS = int(os.environ.get("QUIVER_KILL_ROUNDS", "5"))
THREADS, IDS_PER_THREAD, BATCH, DIM = 4, 400, 25, 16
# Small segments have indexes too, so that kills hit builds.
COLLECTION = {"vectors": {"dense": {"size": DIM, "distance": "Dot"}}, "sparse_vectors": {"sparse": {}},
              "optimizers_config": {"indexing_threshold": 1}}
# The rows that an index misses depend on the segments, so comparisons are exact.
EXACT = {"exact": True}
GONE = None


def point(id, version):
    """The point `id` after its `version`-th write; a function of these two."""
    number = uuid.UUID(id).int % 2**64 if isinstance(id, str) else id
    random = np.random.default_rng([number, isinstance(id, str), version])
    indices = np.sort(random.choice(50, 5, replace=False)).tolist()
    vector = {"dense": shortest(random.standard_normal(DIM)),
              "sparse": {"indices": indices, "values": shortest(random.random(5) + 0.1)}}
    return {"id": id, "vector": vector, "payload": {"version": version, "group": version % 7}}


def shortest(values):
    """Text of an f32 as the server prints it: the fewest digits that identify it."""
    return [float(str(v)) for v in values.astype(np.float32)]


class Writer(threading.Thread):
    """Writes until the connection breaks. `state`: id -> version or GONE, as acknowledged; `pending`: the request
    in flight, as (id, new state) for all of its ids."""

    def __init__(self, server, number, state, seed):
        super().__init__()
        self.server, self.number, self.state = server, number, state
        self.random = random.Random(seed)
        self.pending, self.acknowledged, self.error = [], 0, None
        self.ids = owned_ids(number)

    def run(self):
        try:
            while True:
                self.step()
        except (OSError, http.client.HTTPException):
            pass  # the kill
        except Exception as e:
            self.error = e

    def step(self):
        ids = self.random.sample(self.ids, self.random.randint(1, BATCH))
        wait = self.random.choice(["true", "false"])
        if self.random.random() < 0.7:
            changes = [(id, self.next_version(id)) for id in ids]
            request = ("PUT", f"?wait={wait}", {"points": [point(id, version) for id, version in changes]})
        else:
            changes = [(id, GONE) for id in ids]
            request = ("POST", f"/delete?wait={wait}", {"points": ids})
        self.pending = changes
        method, path, body = request
        answer = self.server.request(method, f"/collections/load/points{path}", body)
        assert answer.status == 200, f"{answer.status} {answer.text}"
        self.state.update(changes)
        self.pending = []
        self.acknowledged += 1

    def next_version(self, id):
        return self.random.randrange(1, 2**31)


def owned_ids(number):
    """Numbers and UUIDs; no id belongs to two threads."""
    ids = []
    for k in range(IDS_PER_THREAD):
        n = k * THREADS + number
        ids.append(n if k % 2 else str(uuid.UUID(int=(0xABCD << 64) + n)))
    return ids


def stored(server, collection="load"):
    """All points by id."""
    points, offset = {}, None
    while True:
        body = {"limit": 1000, "offset": offset, "with_vector": True}
        page = server.post(f"/collections/{collection}/points/scroll", body).result
        points |= {p["id"]: p for p in page["points"]}
        offset = page["next_page_offset"]
        if offset is None:
            return points


def is_version(found, id, version):
    return found is None if version is GONE else found == point(id, version)


def check_and_settle(found, writer):
    """Compares the points of one writer with the acknowledged state, and decides what happened to the request in flight."""
    pending = dict(writer.pending)
    for id, version in writer.state.items():
        if id not in pending:
            assert is_version(found.get(id), id, version), (
                f"thread {writer.number}: point {id} should be "
                f"{'gone' if version is GONE else f'version {version}'}, is {found.get(id)}")
    changed = [id for id, version in pending.items() if writer.state.get(id, GONE) != version]
    happened = [is_version(found.get(id), id, pending[id]) for id in changed]
    assert all(happened) or not any(happened), f"thread {writer.number}: half of an unanswered request was applied"
    if all(happened):
        writer.state.update(pending)
    for id in pending:
        assert is_version(found.get(id), id, writer.state.get(id, GONE)), f"thread {writer.number}: point {id}"


def questions():
    random = np.random.default_rng(SEED)
    for k in range(12):
        vector = random.standard_normal(DIM).astype(np.float32).tolist()
        yield "query", {"query": vector, "using": "dense", "limit": 20, "with_payload": True, "params": EXACT}
        where = {"must": [{"key": "group", "match": {"value": k % 7}}]}
        yield "query", {"query": vector, "using": "dense", "limit": 20, "filter": where, "params": EXACT}
        sparse = {"indices": [k, k + 11, k + 23], "values": [1.0, 0.3, 0.7]}
        yield "query", {"query": sparse, "using": "sparse", "limit": 20}
        yield "query", {"prefetch": [{"query": vector, "using": "dense", "params": EXACT},
                                     {"query": sparse, "using": "sparse"}],
                        "query": {"fusion": "rrf"}, "limit": 15}
        yield "count", {"filter": where}
    yield "scroll", {"limit": 500}


def answers(server, collection="load", versions=True):
    """The answers as JSON text, with all bits of all scores."""
    results = [server.post(f"/collections/{collection}/points/{path}", body).result for path, body in questions()]
    if not versions:
        for result in results:
            for hit in result.get("points", []):
                hit.pop("version", None)
    return json.dumps(results)


def check_approximate(server, found):
    """Searches the indexes: answers are full, their points exist, and the scores are exact."""
    random = np.random.default_rng(SEED)
    for _ in range(20):
        vector = shortest(random.standard_normal(DIM))
        body = {"query": vector, "using": "dense", "limit": 20}
        hits = server.post("/collections/load/points/query", body).result["points"]
        assert len(hits) == min(20, len(found)) == len({hit["id"] for hit in hits})
        scores = [np.dot(vector, found[hit["id"]]["vector"]["dense"]) for hit in hits]
        np.testing.assert_allclose([hit["score"] for hit in hits], scores, rtol=1e-4, atol=1e-5)


def fresh_copy(server, found, round):
    """A new collection with the same points, written in another order and at once."""
    name = f"copy{round}"
    server.put(f"/collections/{name}", COLLECTION).result
    points = list(found.values())
    random.Random(round).shuffle(points)
    for k in range(0, len(points), 500):
        server.put(f"/collections/{name}/points?wait=true", {"points": points[k:k + 500]}).result
    return name


def one_round(server, round, states):
    writers = [Writer(server, k, states[k], SEED * 1000 + round * 10 + k) for k in range(THREADS)]
    for writer in writers:
        writer.start()
    time.sleep(random.Random(SEED + round).uniform(0.3, 1.5))
    server.kill9()
    for writer in writers:
        writer.join(60)
        assert not writer.is_alive() and writer.error is None, writer.error
    server.start()
    found = stored(server)
    for writer in writers:
        check_and_settle(found, writer)
    assert server.post("/collections/load/points/count", {}).result["count"] == len(found)
    known = {id for state in states for id, version in state.items() if version is not GONE}
    assert set(found) == known
    return sum(writer.acknowledged for writer in writers), found


def test_kill9_under_load(new_server):
    # Kills hit sealing and merging too.
    server = new_server(env=SMALL_SEGMENTS | {"QUIVER__OPTIMIZER__SEAL_ROWS": "300"}).start()
    server.put("/collections/load", COLLECTION).result
    server.put("/collections/load/index?wait=true", {"field_name": "group", "field_schema": "integer"}).result
    states = [{} for _ in range(THREADS)]
    for round in range(ROUNDS):
        acknowledged, found = one_round(server, round, states)
        print(f"seed {SEED}, round {round}: {acknowledged} requests acknowledged, {len(found)} points")
        assert acknowledged > THREADS, "the load was no load"
        before = answers(server)
        check_approximate(server, found)
        copy = fresh_copy(server, found, round)
        assert answers(server, versions=False) == answers(server, copy, versions=False)
        assert server.delete(f"/collections/{copy}").result is True
        server.stop()
        server.start()
        assert answers(server) == before
    server.stop()
