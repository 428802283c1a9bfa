"""kill -9 under load over the network: writers, readers, changes of collections and aliases, and what must be there after.

Each writer has ids of its own, so it knows the right state of its points. So does the keeper for its collections and
aliases. At a random moment the process is killed, and so may be the starts after it. Then every acknowledged change
must be there and no acknowledged deletion undone. A request that was not answered happened whole or not at all.
"""
import copy
import http.client
import json
import random
import threading
import time
import uuid

import numpy as np

from patience import patience
from quiver_server import SMALL_SEGMENTS

THREADS, IDS_PER_THREAD, BATCH, DIM = 4, 400, 25, 16
N_READERS = 2
# Small segments have indexes too, so that kills hit builds.
COLLECTION = {"vectors": {"dense": {"size": DIM, "distance": "Dot"}}, "sparse_vectors": {"sparse": {}},
              "optimizers_config": {"indexing_threshold": 1}}
# Kills hit sealing and merging too.
ENV = SMALL_SEGMENTS | {"QUIVER__OPTIMIZER__SEAL_ROWS": "300"}
# The rows that an index misses depend on the segments, so comparisons are exact.
EXACT = {"exact": True}
GONE = None
NOBODYS_ID = 2**63


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


class Client(threading.Thread):
    """Calls `step` until the connection breaks or `end` is set, with pauses of about `pause_s`. `error`: what went wrong
    otherwise; `times_s`: of all requests that were answered."""

    def __init__(self, server, number, seed, pause_s=0.0):
        super().__init__(daemon=True)
        self.server, self.number, self.random = server, number, random.Random(seed)
        self.acknowledged, self.error, self.times_s, self.pause_s, self.end = 0, None, [], pause_s, threading.Event()

    def run(self):
        try:
            while not self.end.wait(self.random.uniform(0, 2 * self.pause_s)):
                self.step()
        except (OSError, http.client.HTTPException):
            pass  # the kill
        except Exception as e:
            self.error = e

    def ask(self, method, path, body=None):
        begun = time.monotonic()
        answer = self.server.request(method, path, body)
        self.times_s.append(time.monotonic() - begun)
        assert answer.status == 200, f"{method} {path}: {answer.status} {answer.text[:500]}"
        return answer.result


class Writer(Client):
    """`state`: id -> version or GONE, as acknowledged; `pending`: the request in flight, as (id, new state) for all of
    its ids."""

    def __init__(self, server, number, state, seed, n_ids=IDS_PER_THREAD, **kwargs):
        super().__init__(server, number, seed, **kwargs)
        self.state, self.pending, self.ids = state, [], owned_ids(number, n_ids)

    def step(self):
        ids = self.random.sample(self.ids, self.random.randint(1, BATCH))
        wait = self.random.choice(["true", "false"])
        if self.random.random() < 0.7:
            changes = [(id, self.next_version()) for id in ids]
            request = ("PUT", f"?wait={wait}", {"points": [point(id, version) for id, version in changes]})
        else:
            changes = [(id, GONE) for id in ids]
            request = ("POST", f"/delete?wait={wait}", {"points": ids})
        self.pending = changes
        method, path, body = request
        self.ask(method, f"/collections/load/points{path}", body)
        self.state.update(changes)
        self.pending = []
        self.acknowledged += 1

    def next_version(self):
        return self.random.randrange(1, 2**31)


def owned_ids(number, n_ids=IDS_PER_THREAD):
    """Numbers and UUIDs; no id belongs to two threads."""
    ids = []
    for k in range(n_ids):
        n = k * THREADS + number
        ids.append(n if k % 2 else str(uuid.UUID(int=(0xABCD << 64) + n)))
    return ids


class Reader(Client):
    """Whatever is read while others write is a whole point that somebody wrote."""

    def step(self):
        if self.random.random() < 0.5:
            vector = [self.random.gauss(0, 1) for _ in range(DIM)]
            body = {"query": vector, "using": "dense", "limit": 5, "with_payload": True, "with_vector": True}
            points = self.ask("POST", "/collections/load/points/query", body)["points"]
        else:
            ids = owned_ids(self.random.randrange(THREADS))
            body = {"ids": self.random.sample(ids, 5), "with_payload": True, "with_vector": True}
            points = self.ask("POST", "/collections/load/points", body)
        for found in points:
            seen = {key: found[key] for key in ("id", "vector", "payload")}
            assert seen == point(found["id"], found["payload"]["version"]), f"half of a point: {seen}"
        self.acknowledged += 1


class Catalog:
    """Collections of one point each, and aliases: `collections` has the size of vectors and the point's id (None: there
    is none) by name, `aliases` the collection by alias."""

    def __init__(self):
        self.collections, self.aliases = {}, {}

    def __eq__(self, other):
        return (self.collections, self.aliases) == (other.collections, other.aliases)

    def __repr__(self):
        return f"collections {self.collections}, aliases {self.aliases}"

    @classmethod
    def of(cls, server):
        found = cls()
        for name in sorted(each["name"] for each in server.get("/collections").result["collections"]):
            if not name.startswith("kept"):
                continue
            size = server.get(f"/collections/{name}").result["config"]["params"]["vectors"]["size"]
            points = server.post(f"/collections/{name}/points/scroll", {"limit": 10}).result["points"]
            assert len(points) <= 1, f"collection {name} has {points}"
            found.collections[name] = (size, points[0]["id"] if points else None)
        found.aliases = {each["alias_name"]: each["collection_name"]
                         for each in server.get("/aliases").result["aliases"]}
        return found


class Keeper(Client):
    """Creates, fills and deletes collections and moves aliases. `state` is what was acknowledged, `pending` what is there
    if the request in flight happened."""

    N_COLLECTIONS, N_ALIASES = 4, 3

    def __init__(self, server, state, seed, **kwargs):
        super().__init__(server, "of collections", seed, **kwargs)
        self.state, self.pending = state, None

    def step(self):
        self.pending = copy.deepcopy(self.state)
        name = f"kept{self.random.randrange(self.N_COLLECTIONS)}"
        if name not in self.state.collections:
            request = self.create(name)
        else:
            request = self.random.choice([self.fill, self.fill, self.move_aliases, self.move_aliases, self.drop])(name)
        self.ask(*request)
        self.state.__dict__.update(self.pending.__dict__)
        self.pending = None
        self.acknowledged += 1

    def create(self, name):
        size = self.random.randint(1, 64)
        self.pending.collections[name] = (size, None)
        return "PUT", f"/collections/{name}", {"vectors": {"size": size, "distance": "Dot"}}

    def fill(self, name):
        """The one point; in place of it nothing, if it is there."""
        size, id = self.state.collections[name]
        if id is not None:
            self.pending.collections[name] = (size, None)
            return "POST", f"/collections/{name}/points/delete?wait=true", {"points": [id]}
        id = self.random.randrange(2**32)
        self.pending.collections[name] = (size, id)
        return "PUT", f"/collections/{name}/points?wait=true", {"points": [{"id": id, "vector": [1] * size}]}

    def drop(self, name):
        """Its aliases go with it."""
        del self.pending.collections[name]
        self.pending.aliases = {alias: of for alias, of in self.pending.aliases.items() if of != name}
        return "DELETE", f"/collections/{name}"

    def move_aliases(self, name):
        """Several at once: all of them or none."""
        actions = []
        for number in self.random.sample(range(self.N_ALIASES), self.random.randint(1, self.N_ALIASES)):
            alias = f"alias{number}"
            if alias in self.pending.aliases:
                actions.append({"delete_alias": {"alias_name": alias}})
                del self.pending.aliases[alias]
            if self.random.random() < 0.7:
                actions.append({"create_alias": {"collection_name": name, "alias_name": alias}})
                self.pending.aliases[alias] = name
        if not actions:
            return "GET", "/aliases"
        return "POST", "/collections/aliases", {"actions": actions}

    def settle(self):
        """Compares what is there with what was acknowledged, and decides what happened to the request in flight."""
        found = Catalog.of(self.server)
        assert found == self.state or (self.pending is not None and found == self.pending), (
            f"found {found}, wanted {self.state}" + (f" or {self.pending}" if self.pending else ""))
        self.state.__dict__.update(found.__dict__)


def counts_of(clients):
    """How many requests were answered, by kind of client."""
    counts = {"acknowledged": 0, "read": 0, "of collections and aliases": 0}
    kinds = {Writer: "acknowledged", Reader: "read", Keeper: "of collections and aliases"}
    for client in clients:
        counts[kinds[type(client)]] += client.acknowledged
    return counts


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


def questions(seed):
    random = np.random.default_rng(seed)
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


class Load:
    """A server, what its clients know of it, and the comparison of both."""

    def __init__(self, server, seed):
        self.server, self.seed = server, seed
        self.states = [{} for _ in range(THREADS)]
        self.catalog = Catalog()

    def create(self):
        self.server.put("/collections/load", COLLECTION).result
        self.server.put("/collections/load/index?wait=true", {"field_name": "group", "field_schema": "integer"}).result

    def check_contents(self, clients):
        # Updates without `wait` are stored when they are answered, and visible once a later one with it is.
        assert self.server.post("/collections/load/points/delete?wait=true", {"points": [NOBODYS_ID]}).status == 200
        found = stored(self.server)
        for client in clients:
            if isinstance(client, Writer):
                check_and_settle(found, client)
            if isinstance(client, Keeper):
                client.settle()
        assert self.server.post("/collections/load/points/count", {}).result["count"] == len(found)
        known = {id for state in self.states for id, version in state.items() if version is not GONE}
        assert set(found) == known
        return found


class Kills(Load):
    """A server under load that is killed in each round. What a round does depends on `seed` and its number only."""

    def __init__(self, server, seed):
        super().__init__(server, seed)
        self.n_killed_starts = 0
        server.start()
        self.create()

    def round(self, number):
        """Returns how many requests were acknowledged, by kind of client."""
        draw = random.Random(f"{self.seed}/{number}")
        clients = self.clients(draw)
        for client in clients:
            client.start()
        time.sleep(draw.uniform(0.3, 1.5))
        self.server.kill9()
        for client in clients:
            client.join(patience(60))
            assert not client.is_alive() and client.error is None, f"{type(client).__name__} {client.number}: {client.error!r}"
        self.start(draw)
        found = self.check_contents(clients)
        self.check_answers(found, number, draw)
        return counts_of(clients)

    def clients(self, draw):
        writers = [Writer(self.server, k, self.states[k], draw.random()) for k in range(THREADS)]
        readers = [Reader(self.server, k, draw.random()) for k in range(N_READERS)]
        return writers + readers + [Keeper(self.server, self.catalog, draw.random())]

    def start(self, draw):
        """Starts the server. Some starts are killed, too."""
        for _ in range(draw.choice([0, 0, 1, 2])):
            self.server.start(wait=False)
            time.sleep(draw.uniform(0, 0.5))
            assert self.server.alive(), f"a start ended by itself:\n{self.server.log_tail()}"
            self.server.kill9()
            self.n_killed_starts += 1
        self.server.start()

    def check_answers(self, found, number, draw):
        """Queries answer with the same bits as a fresh collection of the same points, and again after a restart."""
        before = self.answers()
        self.check_approximate(found)
        copy = self.fresh_copy(found, number)
        assert self.answers(versions=False) == self.answers(copy, versions=False)
        assert self.server.delete(f"/collections/{copy}").result is True
        if draw.random() < 0.5:
            self.server.stop()
            self.server.start()
        else:
            self.server.kill9()
            self.start(draw)
        assert self.answers() == before

    def answers(self, collection="load", versions=True):
        """The answers as JSON text, with all bits of all scores."""
        results = [self.server.post(f"/collections/{collection}/points/{path}", body).result
                   for path, body in questions(self.seed)]
        if not versions:
            for result in results:
                for hit in result.get("points", []):
                    hit.pop("version", None)
        return json.dumps(results)

    def check_approximate(self, found):
        """Searches the indexes: answers are full, their points exist, and the scores are exact."""
        random = np.random.default_rng(self.seed)
        for _ in range(20):
            vector = shortest(random.standard_normal(DIM))
            body = {"query": vector, "using": "dense", "limit": 20}
            hits = self.server.post("/collections/load/points/query", body).result["points"]
            assert len(hits) == min(20, len(found)) == len({hit["id"] for hit in hits})
            scores = [np.dot(vector, found[hit["id"]]["vector"]["dense"]) for hit in hits]
            np.testing.assert_allclose([hit["score"] for hit in hits], scores, rtol=1e-4, atol=1e-5)

    def fresh_copy(self, found, number):
        """A new collection with the same points, written in another order and at once."""
        name = f"copy{number}"
        self.server.put(f"/collections/{name}", COLLECTION).result
        points = list(found.values())
        random.Random(number).shuffle(points)
        for k in range(0, len(points), 500):
            self.server.put(f"/collections/{name}/points?wait=true", {"points": points[k:k + 500]}).result
        return name
