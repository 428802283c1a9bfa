#!/usr/bin/env python3
"""Latencies of searches beside a client that writes, when the disk is slow.

    bench/slow_disk.py [--binary build/release/quiver] [--rows 50000] [--seconds 10] [--repeats 3]

System calls of the server are held up by build/release/tests/libfailing_calls.so: each sync by 50 ms, or each write by 5 ms.
Searches arrive in an open loop at 300 a second; one client sends updates of 20 points with `wait=true`, one after the other. The
disks take turns. Prints medians of the rounds as Markdown. The generator shares the machine with the server.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from served import Connection, Server

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/e2e")]
from failing_calls import FOREVER, Calls  # noqa: E402

DIM, N_QUERIES, RATE, BATCH = 64, 1000, 300, 20
# Name, kind of calls, seconds of each.
DISKS = (("as it is", "sync", 0), ("each sync takes 50 ms more", "sync", 0.05), ("each write takes 5 ms more", "write", 0.005))


class Writer(threading.Thread):
    def __init__(self, url, rows):
        super().__init__()
        self.url, self.rows, self.end, self.n_updates = url, rows, threading.Event(), 0

    def run(self):
        connection, random = Connection(self.url), np.random.default_rng(3)
        while not self.end.is_set():
            points = [{"id": int(random.integers(self.rows)), "vector": random.standard_normal(DIM).tolist()} for _ in range(BATCH)]
            connection("PUT", "/collections/s/points?wait=true", {"points": points})
            self.n_updates += 1


def make(binary, work, rows):
    vectors = np.random.default_rng(1).standard_normal((rows, DIM)).astype(np.float32)
    np.save(work / "s.npy", vectors)
    np.save(work / "queries.npy", np.random.default_rng(2).standard_normal((N_QUERIES, DIM)).astype(np.float32))
    subprocess.run([binary, "import", "--vectors", str(work / "s.npy"), "--collection", "s", "--data-dir", str(work / "db"), "--create",
                    "--metric", "dot"], check=True, stdout=subprocess.DEVNULL)


def measure(binary, server, work, rows, seconds, seed):
    writer = Writer(server.url, rows)
    writer.start()
    ran = subprocess.run([binary, "bench", "load", "--url", server.url, "--collection", "s", "--queries", str(work / "queries.npy"),
                          "--connections", "32", "--duration", str(seconds), "--rate", str(RATE), "--warmup", "50", "--seed", str(seed), "--json"],
                         capture_output=True, text=True)
    writer.end.set()
    writer.join()
    if ran.returncode != 0:
        raise SystemExit(ran.stderr)
    found = json.loads(ran.stdout.splitlines()[-1])
    return {"p50": found["p50_us"] / 1e3, "p99": found["p99_us"] / 1e3, "errors": found["errors"], "updates": writer.n_updates / seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/quiver"))
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=10, help="of each run")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    found = {name: [] for name, _, _ in DISKS}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        make(args.binary, work, args.rows)
        calls = Calls(work)
        with Server(args.binary, work / "db", env=calls.environment(work / "db")) as server:
            server.wait_until_green("s")
            for i in range(args.repeats):
                for name, kind, delay_s in DISKS:
                    calls.arm(kind, 1, FOREVER, 0, delay_s)
                    found[name].append(measure(args.binary, server, work, args.rows, args.seconds, i))
            calls.disarm()
    print("| disk | searches: p50, ms | p99, ms | p99 of the rounds | failed | updates/s |\n|---|---|---|---|---|---|")
    for name, rounds in found.items():
        p50, p99, updates = (statistics.median(each[key] for each in rounds) for key in ("p50", "p99", "updates"))
        every = ", ".join(f"{each['p99']:.1f}" for each in rounds)
        print(f"| {name} | {p50:.2f} | {p99:.1f} | {every} | {sum(each['errors'] for each in rounds)} | {updates:.1f} |")


if __name__ == "__main__":
    main()
