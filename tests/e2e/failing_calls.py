"""System calls of a server that fail or take long, and what must hold: nothing acknowledged is lost, nothing refused is there.

A script is one rule: calls of one kind fail with an error, from some call on, once or until the script ends. Meanwhile a
client changes points, collections and aliases, reads, and makes snapshots. Each request is answered. After the script the
server works again, by itself. tests/fault/failing_calls.cc is loaded into the server for this.
"""
import collections
import copy
import errno
import mmap
import os
import re
import struct
from pathlib import Path

import kills
from patience import comes_true, patience
from quiver_server import REPOSITORY, binary

# As in failing_calls.cc.
KINDS = ("open", "read", "write", "sync", "rename", "remove", "mkdir", "link", "map", "resize", "list")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENOMEM)
FOREVER = 2**63
CONTROL = struct.Struct("<IIQQqQQQ512s")
N_IDS = 60  # of points
N_STEPS = 12  # of a script
SCRIPTS_PER_LIFE = 6
REFUSALS = {503, 507}


def library():
    """The library, beside the server or in the release build; None if it was not built."""
    folders = (binary().parent / "tests", REPOSITORY / "build/release/tests")
    return next((path for path in (folder / "libfailing_calls.so" for folder in folders) if path.exists()), None)


class Calls:
    """The calls of one server that fail."""

    def __init__(self, folder):
        self.path = Path(folder) / "failing_calls"
        self.path.write_bytes(bytes(CONTROL.size))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), CONTROL.size)

    def environment(self, data_dir):
        return {"LD_PRELOAD": str(library()), "QUIVER_FAILING_CALLS": str(self.path), "QUIVER_FAILING_BELOW": str(data_dir)}

    def arm(self, kind, first, n_times, error, delay_s=0):
        """`error` 0: calls are only held up."""
        CONTROL.pack_into(self.memory, 0, 0, KINDS.index(kind), first, n_times, error, int(delay_s * 1e6), 0, 0, b"")
        struct.pack_into("<I", self.memory, 0, 1)

    def disarm(self):
        """(calls of the kind, those that failed, path of the first of these)."""
        struct.pack_into("<I", self.memory, 0, 0)
        *_, n_seen, n_failed, path = CONTROL.unpack_from(self.memory, 0)
        return n_seen, n_failed, path.rstrip(b"\0").decode(errors="replace")


class Refused(Exception):
    """The request was answered with an error, so nothing of it may have happened."""


class Asking:
    """Takes refusals, which `failed` calls made likely, and nothing else."""

    def ask(self, method, path, body=None):
        answer = self.server.request(method, path, body)
        self.statuses[answer.status] += 1
        if answer.status != 200:
            assert answer.status in REFUSALS, f"{method} {path}: {answer.status} {answer.text[:500]}"
            raise Refused(f"{method} {path}: {answer.status} {answer.text[:300]}")
        return answer.result


class Writer(Asking, kills.Writer):
    pass


class Keeper(Asking, kills.Keeper):
    pass


class Reader(Asking, kills.Reader):
    pass


class Scripts:
    def __init__(self, server, calls, seed):
        self.server, self.calls, self.seed = server, calls, seed
        self.states, self.catalog = [{}], kills.Catalog()
        self.n_expected = dict.fromkeys(KINDS, 20)  # calls in a script
        self.sites = collections.Counter()
        self.statuses = collections.Counter()
        server.start()
        server.put("/collections/load", kills.COLLECTION).result
        server.put("/collections/load/index?wait=true", {"field_name": "group", "field_schema": "integer"}).result

    def run(self, draw, kind=None):
        """One script, of a random kind if none is given. Returns what it was, and how many calls failed."""
        kind, error, is_once = kind or draw.choice(KINDS), draw.choice(ERRORS), draw.random() < 0.5
        first = draw.randint(1, max(1, self.n_expected[kind]))
        with_start = draw.random() < 1 / SCRIPTS_PER_LIFE
        what = f"{kind} number {first} {'once' if is_once else 'for ever'}: {errno.errorcode[error]}" + (", at the start" if with_start else "")
        try:
            if with_start:
                self.end(draw)
            self.calls.arm(kind, first, 1 if is_once else FOREVER, error)
            if with_start:
                self.start_hindered()
            clients = self.live(draw)
            n_seen, n_failed, path = self.calls.disarm()
            self.n_expected[kind] = (3 * self.n_expected[kind] + n_seen) // 4
            if n_failed:
                self.sites[f"{kind} {place_of(path, self.server.data_dir)} {errno.errorcode[error]} {'once' if is_once else 'for ever'}"] += 1
            self.recover(clients)
        except Exception as problem:
            n_seen, n_failed, path = self.calls.disarm()
            raise AssertionError(f"{what}; {n_failed} of {n_seen} calls failed, first for {path}: {problem}") from problem
        return what, n_failed

    def end(self, draw):
        self.server.stop() if draw.random() < 0.5 else self.server.kill9()

    def start_hindered(self):
        """Calls fail while the server starts: it starts, or ends and says why."""
        self.server.start(wait=False)
        comes_true(lambda: not self.server.alive() or self.is_listening())
        if not self.server.alive():
            assert self.server.process.returncode in (1, 2), f"ended with {self.server.process.returncode}:\n{self.server.log_tail()}"
            self.calls.disarm()
            self.server.start()

    def is_listening(self):
        try:
            return self.server.get("/livez").status == 200
        except OSError:
            return False

    def live(self, draw):
        """Some steps of a client."""
        writer = Writer(self.server, 0, self.states[0], draw.random(), n_ids=N_IDS)
        keeper, reader = Keeper(self.server, self.catalog, draw.random()), Reader(self.server, 0, draw.random())
        for client in (writer, keeper, reader):
            client.statuses = self.statuses
        steps = draw.choices([writer.step, keeper.step, reader.step, lambda: self.snapshot(reader)], [6, 4, 2, 1], k=N_STEPS)
        for step in steps:
            try:
                step()
            except Refused:
                writer.pending, keeper.pending = [], None  # nothing of it may be there
            except OSError:
                if self.server.alive():
                    raise
                break  # the server ended; what is pending may have happened
        return writer, keeper

    def snapshot(self, client):
        name = client.ask("POST", "/collections/load/snapshots")["name"]
        client.ask("DELETE", f"/collections/load/snapshots/{name}")

    def recover(self, clients):
        """Calls succeed again: so do changes, and everything is as it was acknowledged."""
        if not comes_true(lambda: not self.server.alive() or self.takes_changes(), idle_s=30):
            raise AssertionError(f"no changes are taken any more:\n{self.server.log_tail()}")
        if not self.server.alive():
            assert names_its_end(self.server.log_tail(5)), f"ended with {self.server.process.returncode}:\n{self.server.log_tail()}"
            self.sites["the process ended, and said why"] += 1
            self.server.start()
        writer, keeper = clients
        found = kills.stored(self.server)
        kills.check_and_settle(found, writer)
        keeper.settle()
        writer.pending, keeper.pending = [], None
        assert set(found) == {id for id, version in self.states[0].items() if version is not kills.GONE}

    def takes_changes(self):
        """Whether each collection takes a change, and the catalog. A change that was refused because a sync failed may
        come back with a restart, until the next one is taken."""
        try:
            return all([self.takes_point("load", {"dense": [0] * kills.DIM, "sparse": {"indices": [], "values": []}}),
                        *(self.takes_point(name, [1] * size) for name, (size, _) in self.catalog.collections.items()),
                        self.server.post("/collections/aliases", {"actions": [
                            {"create_alias": {"collection_name": "load", "alias_name": "after"}},
                            {"delete_alias": {"alias_name": "after"}}]}).status == 200])
        except OSError:
            return False

    def takes_point(self, collection, vector):
        """Writes a point and deletes it."""
        path = f"/collections/{collection}/points"
        return (self.server.put(f"{path}?wait=true", {"points": [{"id": 10**9, "vector": vector}]}).status == 200
                and self.server.post(f"{path}/delete?wait=true", {"points": [10**9]}).status == 200)


def names_its_end(log):
    """As tests/fault/engine_memory_test.cc: RocksDB may end in an assertion of its own, which names file and line."""
    return "the process ends here" in log or ("rocksdb::" in log and "Assertion" in log)


def place_of(path, data_dir):
    """The kind of file, without the numbers in its name."""
    return re.sub(r"\d+", "N", os.path.relpath(path, data_dir))
