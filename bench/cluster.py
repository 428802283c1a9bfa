"""Three nodes on this machine under load: changes a second, and the pause when a node is killed.

    .venv/bin/python bench/cluster.py [--binary PATH] [--rounds N] [--seconds S] [--collection JSON]

Needs etcd, and h2load (Debian: nghttp2-client) for the rates. Prints one JSON line for each figure. All three nodes,
their ledgers and the clients share this machine."""
import argparse
import http.client
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests/e2e")]


def body_of(n_points, dim, payload_bytes, rng):
    points = [{"id": rng.randrange(10**6), "vector": [round(rng.random(), 4) for _ in range(dim)],
               "payload": {"text": "x" * payload_bytes}} for _ in range(n_points)]
    return json.dumps({"operations": [{"upsert": {"points": points}}]})


def h2load(url, body, n_clients, seconds):
    """Requests a second, and the 99th percentile of their times in ms."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(body)
        file.flush()
        command = ["h2load", "--h1", "-c", str(n_clients), "-D", str(seconds), "--log-file", f"{file.name}.log",
                   "-H", "content-type: application/json", "-d", file.name, url]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        times = sorted(int(line.split("\t")[2]) for line in open(f"{file.name}.log") if line.count("\t") >= 2)
        os.unlink(f"{file.name}.log")
    rate = float(re.search(r"finished in .*?, ([\d.]+) req/s", out).group(1))
    good = int(re.search(r"status codes: (\d+) 2xx", out).group(1))
    total = int(re.search(r"requests: \d+ total, \d+ started, (\d+) done", out).group(1))
    return rate, times[int(len(times) * .99)] / 1000 if times else None, total - good


def measure_rates(node, label, seconds, settings):
    rng = random.Random(1)
    for name, n_points, dim, payload, clients in (("1.6 KB", 1, 128, 600, 1), ("1.6 KB", 1, 128, 600, 64),
                                                  ("100 KB", 64, 128, 600, 1), ("100 KB", 64, 128, 600, 8)):
        collection = f"rates-{n_points}-{clients}"
        made = node.put(f"/collections/{collection}", {"vectors": {"size": dim, "distance": "Dot"}} | settings)
        assert made.status == 200, made.text
        body = body_of(n_points, dim, payload, rng)
        url = f"http://127.0.0.1:{node.port}/collections/{collection}/points/batch?wait=true"
        rate, p99_ms, failed = h2load(url, body, clients, seconds)
        print(json.dumps({"what": f"changes of {name}, {clients} clients, {label}", "per_s": rate, "p99_ms": p99_ms,
                          "mb_per_s": round(rate * len(body) / 1e6, 1), "failed": failed}), flush=True)
        node.delete(f"/collections/{collection}")


class Probe(threading.Thread):
    """Sends one request after another and notes the longest time without a success."""

    def __init__(self, send):
        super().__init__()
        self.send, self.longest_s, self.n, self.n_failed, self.ends = send, 0.0, 0, 0, False
        self.last_failure = None

    def run(self):
        last = time.monotonic()
        while not self.ends:
            try:
                answer = self.send()
                done = answer.status == 200
                self.last_failure = self.last_failure if done else answer.text
            except (OSError, http.client.HTTPException) as error:
                done, self.last_failure = False, repr(error)
            now = time.monotonic()
            if done:
                self.n += 1
                self.longest_s = max(self.longest_s, now - last)
                last = now
            else:
                self.n_failed += 1
                time.sleep(0.005)


def measure_pauses(cluster, rounds, settings):
    cluster.nodes[0].put("/collections/pauses", {"vectors": {"size": 4, "distance": "Dot"}} | settings)
    count = 0

    def change(node):
        nonlocal count
        count += 1
        return node.put("/collections/pauses/points?wait=true",
                        {"points": [{"id": count, "vector": [1, 2, 3, 4]}]})

    def read(node):
        return node.post("/collections/pauses/points/query", {"query": [1, 1, 1, 1]})

    for whom in ("leader", "follower"):
        for _ in range(rounds):
            victim = cluster.leader() if whom == "leader" else cluster.followers()[0]
            others = [node for node in cluster.nodes if node is not victim]
            probes = [Probe(lambda: change(others[0])), Probe(lambda: read(others[1]))]
            for probe in probes:
                probe.start()
            time.sleep(1)
            victim.kill9()
            time.sleep(6)
            for probe in probes:
                probe.ends = True
            for probe in probes:
                probe.join()
            print(json.dumps({"what": f"kill -9 of the {whom}", "longest_s_without_change": round(probes[0].longest_s, 2),
                              "changes": probes[0].n, "changes_failed": probes[0].n_failed,
                              "last_failure": probes[0].last_failure,
                              "longest_s_without_read": round(probes[1].longest_s, 3),
                              "reads_failed": probes[1].n_failed, "reads": probes[1].n}), flush=True)
            victim.start(wait=False)
            cluster.wait_settled()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="the server; default: the release build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=8, help="of each measurement of a rate; 0: none")
    parser.add_argument("--collection", type=json.loads, default={}, metavar="JSON",
                        help='settings of the collections in the cluster: \'{"shard_number": 3, "replication_factor": 2}\'')
    args = parser.parse_args()
    if args.binary:
        os.environ["QUIVER_BINARY"] = args.binary
    from quiver_cluster import Cluster
    from quiver_server import Server
    with tempfile.TemporaryDirectory() as folder:
        if args.seconds:
            alone = Server(Path(folder) / "alone").start()
            measure_rates(alone, "one server alone", args.seconds, {})
            alone.stop()
        cluster = Cluster(Path(folder)).start()
        try:
            if args.seconds:
                measure_rates(cluster.leader(), "the leader of three", args.seconds, args.collection)
                measure_rates(cluster.followers()[0], "another of three", args.seconds, args.collection)
            measure_pauses(cluster, args.rounds, args.collection)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
