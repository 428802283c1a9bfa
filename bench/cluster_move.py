"""A large collection moves between two of three nodes under reads and writes: how long it takes, and what fails.

    .venv/bin/python bench/cluster_move.py [--binary PATH] [--gb G] [--dim D] [--shards N] [--moves N]

Needs etcd. The collection has one copy. Its points have a random vector of D numbers and a payload of about 700 bytes; G
is the size of the vectors and payloads together. A thread writes and two read through all nodes in turn, before the moves
and while the collection moves to one node after another. Prints one JSON line for each figure. All nodes, their ledgers
and the clients share this machine. Exit status 1: a request failed, or a point was missing.
"""
import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests/e2e")]

PAYLOAD_BYTES = 700
BATCH = 200
NAME = "large"
# An answer may be late, and is waited for: the time until it is there is reported.
ANSWER_TIMEOUT_S = 60
MOVE_TIMEOUT_S = 1800


def report(**figures):
    print(json.dumps(figures), flush=True)


def fill(node, n_points, dim):
    """Vectors repeat every `BATCH` points, their first number excepted: random numbers take longer to make than to store."""
    rng = random.Random(1)
    tails = [json.dumps([round(rng.random(), 4) for _ in range(dim - 1)])[1:] for _ in range(BATCH)]
    text = "x" * PAYLOAD_BYTES
    for first in range(0, n_points, BATCH):
        points = ",".join(
            f'{{"id":{first + i},"vector":[{rng.random():.6f},{tails[i]},"payload":{{"n":{first + i},"text":"{text}"}}}}'
            for i in range(min(BATCH, n_points - first)))
        answer = node.put(f"/collections/{NAME}/points?wait=false", f'{{"points":[{points}]}}'.encode(),
                          headers={"Content-Type": "application/json"})
        assert answer.status == 200, answer.text


def load_on(cluster, dim, n_points):
    """Threads that write and read through all nodes, and note how long each request took and which failed."""
    from quiver_cluster import InBackground

    class Load(InBackground):
        def __init__(self):
            self.failed, self.written = [], []
            self.times = {"write": [], "query": [], "point": []}
            super().__init__(self._write, self._query, self._read)

        def _send(self, kind, method, path, body, number):
            begin = time.monotonic()
            try:
                answer = cluster.nodes[number % len(cluster.nodes)].request(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(f"{kind}: {error!r}")
                return None
            self.times[kind].append((begin, time.monotonic() - begin))
            if answer.status != 200:
                self.failed.append(f"{kind}: {answer.status} {answer.text[:300]}")
                return None
            return answer

        def _write(self):
            rng = random.Random(2)
            while not self.stop.is_set():
                n = n_points + len(self.written)
                point = {"id": n, "vector": [round(rng.random(), 4) for _ in range(dim)], "payload": {"n": n}}
                self._send("write", "PUT", f"/collections/{NAME}/points?wait=true", {"points": [point]}, n)
                self.written.append(n)

        def _query(self):
            rng = random.Random(3)
            while not self.stop.is_set():
                query = {"query": [round(rng.random(), 4) for _ in range(dim)], "limit": 10}
                answer = self._send("query", "POST", f"/collections/{NAME}/points/query", query, rng.randrange(3))
                if answer and len(answer.result["points"]) != 10:
                    self.failed.append(f"query: {answer.text[:300]}")

        def _read(self):
            rng = random.Random(4)
            while not self.stop.is_set():
                n = rng.randrange(n_points)
                answer = self._send("point", "GET", f"/collections/{NAME}/points/{n}", None, n)
                if answer and answer.result["payload"]["n"] != n:
                    self.failed.append(f"point: {answer.text[:300]}")

        def figures(self, since):
            of = {}
            for kind, times in self.times.items():
                taken = sorted(took for begin, took in list(times) if begin >= since)
                of[kind] = {"n": len(taken), "p50_ms": round(1000 * taken[len(taken) // 2], 1),
                            "p99_ms": round(1000 * taken[int(len(taken) * .99)], 1), "most_ms": round(1000 * taken[-1], 1)}
            return of

    return Load()


def bytes_of(node):
    """Of its collections on disk."""
    return sum(os.stat(path).st_blocks * 512 for path in (node.data_dir / "collections").rglob("*") if path.is_file())


def wait_indexed(node):
    while node.get(f"/collections/{NAME}").result["status"] != "green":
        time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="the server; default: the release build")
    parser.add_argument("--gb", type=float, default=2, help="10^9 bytes of vectors and payloads")
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--moves", type=int, default=2)
    parser.add_argument("--folder", help="where the nodes keep their data; default: a temporary one")
    args = parser.parse_args()
    if args.binary:
        os.environ["QUIVER_BINARY"] = args.binary
    from patience import comes_true
    from placed import has_moved, leader_of, make, move, peer_id
    from quiver_cluster import Cluster
    n_points = int(args.gb * 1e9 / (4 * args.dim + PAYLOAD_BYTES))
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        cluster = Cluster(Path(folder)).start_whole()
        try:
            for node in cluster.nodes:
                node.answer_timeout_s = ANSWER_TIMEOUT_S
            make(cluster.nodes[0], NAME, 1, vectors={"size": args.dim, "distance": "Dot"}, shard_number=args.shards,
                 shards_together=True)
            assert comes_true(lambda: leader_of(cluster, NAME))
            source = leader_of(cluster, NAME)
            begin = time.monotonic()
            fill(source, n_points, args.dim)
            loaded = time.monotonic()
            wait_indexed(source)
            report(what="fill", points=n_points, dim=args.dim, load_s=round(loaded - begin, 1),
                   index_s=round(time.monotonic() - loaded, 1), disk_gb=round(bytes_of(source) / 1e9, 2))
            failed = run_moves(cluster, args, n_points, leader_of, move, has_moved, peer_id)
        finally:
            cluster.close()
    return failed


def run_moves(cluster, args, n_points, leader_of, move, has_moved, peer_id):
    load = load_on(cluster, args.dim, n_points)
    with load:
        since = time.monotonic()
        time.sleep(10)
        report(what="before a move", failed=len(load.failed), **load.figures(since))
        for _ in range(args.moves):
            source = leader_of(cluster, NAME)
            target = next(node for node in cluster.nodes if node is not source)
            since = time.monotonic()
            n_failed = len(load.failed)
            move(cluster, NAME, peer_id(source), peer_id(target))
            is_there = has_moved(cluster, NAME, [peer_id(target)])
            while not is_there():
                assert time.monotonic() - since < MOVE_TIMEOUT_S, "the move does not end"
                time.sleep(0.25)
            took = time.monotonic() - since
            report(what="move", took_s=round(took, 1), disk_gb=round(bytes_of(target) / 1e9, 2),
                   mb_per_s=round(bytes_of(target) / 1e6 / took, 1), failed=len(load.failed) - n_failed,
                   **load.figures(since))
            since = time.monotonic()
            time.sleep(5)
            report(what="after it", **load.figures(since))
    wanted = n_points + len(load.written)
    counts = [node.post(f"/collections/{NAME}/points/count", {"exact": True}).result["count"] for node in cluster.nodes]
    report(what="points", wanted=wanted, found=counts, failed=len(load.failed), first_failures=load.failed[:5])
    return int(bool(load.failed) or any(count != wanted for count in counts))


if __name__ == "__main__":
    sys.exit(main())
