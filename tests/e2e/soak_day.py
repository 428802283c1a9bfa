"""A day in the life of a server: mixed load, deletes, merges, snapshots and restarts, for hours, on the same data.

A round is a minute of load at a steady rate, then all contents are compared with what was acknowledged. Twice in an hour
the server is stopped, or killed, and started again. The times of reads, private memory, open files and the size of the
data are noted in build/soak/day/rounds.jsonl; memory, files and size must not grow from the first hour to the last.
Usage: scripts/soak day [--minutes M] [--rounds N] [--seed S] [--fresh]
"""
import contextlib
import json
import os
import random
import shutil
import statistics
import sys
import time

import kills
from patience import patience
from quiver_server import Server
from soak import STATES, Soak

ROUND_S = float(os.environ.get("QUIVER_SOAK_ROUND_S", "60"))
ROUNDS_PER_LIFE = 30
N_IDS = 3000  # of each writer
PAUSE_S = 0.05
N_WARM, N_COMPARED = 10, 50  # rounds: not looked at, and then compared with as many of the last ones
# What the median of the last rounds may be: times that of the first ones, plus some.
MAX_GROWTH = {"private MiB": (1.25, 24), "open files": (1.25, 20), "disk MiB": (1.5, 32)}


class Day(kills.Load):
    def __init__(self, soak):
        self.folder = STATES / "day"
        if soak.first == 0:
            shutil.rmtree(self.folder, ignore_errors=True)
        super().__init__(Server(self.folder / "data", env=kills.ENV), soak.state["seed"])
        self.folder.mkdir(exist_ok=True)
        self.server.start()
        if soak.first == 0:
            self.create()
        else:
            self.remember()

    def remember(self):
        """What was acknowledged in earlier runs. Of a run that ended in the middle of a round, what is there."""
        known = json.loads((self.folder / "known.json").read_text())
        if known["whole"]:
            self.states = [dict(map(tuple, state)) for state in known["points"]]
            self.catalog.collections = {name: tuple(of) for name, of in known["collections"].items()}
            self.catalog.aliases = known["aliases"]
            self.check_contents(self.clients(random.Random(0)))
        else:
            self.catalog = kills.Catalog.of(self.server)
            found = kills.stored(self.server)
            for number, state in enumerate(self.states):
                state.update({id: found[id]["payload"]["version"] for id in kills.owned_ids(number, N_IDS) if id in found})

    def note(self, whole):
        known = {"whole": whole, "points": [list(state.items()) for state in self.states],
                 "collections": self.catalog.collections, "aliases": self.catalog.aliases}
        (self.folder / "known.json").write_text(json.dumps(known))

    def clients(self, draw):
        writers = [kills.Writer(self.server, k, self.states[k], draw.random(), n_ids=N_IDS, pause_s=PAUSE_S) for k in range(kills.THREADS)]
        readers = [kills.Reader(self.server, k, draw.random(), pause_s=PAUSE_S) for k in range(kills.N_READERS)]
        return writers + readers + [kills.Keeper(self.server, self.catalog, draw.random(), pause_s=2)]

    def round(self, number, draw):
        """What was counted, and what was measured."""
        self.note(whole=False)
        clients = self.clients(draw)
        for client in clients:
            client.start()
        time.sleep(ROUND_S / 2)
        self.snapshot()
        time.sleep(ROUND_S / 2)
        for client in clients:
            client.end.set()
        for client in clients:
            client.join(patience(60))
            assert not client.is_alive() and client.error is None, f"{type(client).__name__} {client.number}: {client.error!r}"
        measured = self.measure(clients)
        self.check_contents(clients)
        if number % ROUNDS_PER_LIFE == ROUNDS_PER_LIFE - 1:
            self.restart(draw)
            self.check_contents(clients)
        self.note(whole=True)
        return kills.counts_of(clients), measured

    def snapshot(self):
        """Of the collection under load, removed at once."""
        name = self.server.post("/collections/load/snapshots").result["name"]
        assert self.server.delete(f"/collections/load/snapshots/{name}").result is True

    def restart(self, draw):
        self.server.stop() if draw.random() < 0.5 else self.server.kill9()
        self.server.start()

    def measure(self, clients):
        reads_ms = sorted(1000 * t for client in clients if isinstance(client, kills.Reader) for t in client.times_s)
        writes_ms = sorted(1000 * t for client in clients if isinstance(client, kills.Writer) for t in client.times_s)
        process = f"/proc/{self.server.process.pid}"
        with open(f"{process}/status") as status:
            private_kib = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
        return {"read p50 ms": statistics.median(reads_ms), "read p99 ms": quantile(reads_ms, 0.99),
                "write p99 ms": quantile(writes_ms, 0.99), "private MiB": private_kib / 1024,
                "open files": len(os.listdir(f"{process}/fd")), "disk MiB": bytes_below(self.server.data_dir) / 2**20}


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def bytes_below(folder):
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.path.getsize(os.path.join(directory, name))
    return total


def medians(rounds):
    return {what: statistics.median(each[what] for each in rounds) for what in rounds[0]}


def check_flat(rounds):
    """Compares the last rounds with the first ones."""
    rounds = rounds[N_WARM:]
    if len(rounds) < 2 * N_COMPARED:
        return
    first, last = medians(rounds[:N_COMPARED]), medians(rounds[-N_COMPARED:])
    for what, (factor, more) in MAX_GROWTH.items():
        assert last[what] <= first[what] * factor + more, f"{what}: {first[what]:.0f} at first, {last[what]:.0f} now"


def work(soak):
    day = Day(soak)
    notes = day.folder / "rounds.jsonl"
    rounds = [json.loads(line) for line in notes.read_text().splitlines()][:soak.first] if notes.exists() else []
    try:
        for number in soak.rounds():
            counts, measured = day.round(number, soak.random(number))
            rounds.append(measured)
            notes.write_text("".join(json.dumps(each) + "\n" for each in rounds))
            soak.add(counts | {"minutes of load": ROUND_S / 60})
            soak.at_most(measured)
            print(f"{number:5} {counts} " + ", ".join(f"{what} {value:.1f}" for what, value in measured.items()), flush=True)
            check_flat(rounds)
        day.server.stop()
        if len(rounds) > N_WARM:
            n = min(N_COMPARED, len(rounds) - N_WARM)
            print(f"medians of {n} rounds, first {medians(rounds[N_WARM:N_WARM + n])}, last {medians(rounds[-n:])}")
    finally:
        day.server.close()


if __name__ == "__main__":
    sys.exit(Soak("day", __doc__, bar=480, of="minutes of load").run(work))
