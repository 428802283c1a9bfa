"""Reads through a node without the collection, before and while one of its two copies answers late.

    .venv/bin/python bench/cluster_slow.py [--binary PATH] [--late-ms MS] [--seconds S]

Needs etcd. Three nodes on this machine; the public API of each is reached by the others through a proxy of this program,
which holds up what it passes on to one of them. Four threads read points and search. Prints one JSON line for each state:
the latencies of the reads in ms, how many took at least half of the delay, and how many failed.
"""
import argparse
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests/e2e")]

NAME = "docs"
DIM = 64
N_POINTS = 5000
THREADS = 4


class Proxy(threading.Thread):
    """Passes bytes on to a port of this machine, what goes there `late_s` later."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.late_s = port, 0.0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.port))
            for side in (client, server):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, False), daemon=True).start()

    def pass_on(self, source, target, is_request):
        try:
            while data := source.recv(1 << 16):
                if is_request and self.late_s:
                    time.sleep(self.late_s)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()


def read_for(node, seconds, late_ms):
    """The figures of reads during this time."""
    times, failed = [], []

    def work(seed):
        rng = random.Random(seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            if rng.random() < .5:
                answer = node.get(f"/collections/{NAME}/points/{rng.randrange(N_POINTS)}")
            else:
                vector = [rng.random() for _ in range(DIM)]
                answer = node.post(f"/collections/{NAME}/points/query", {"query": vector, "limit": 10})
            times.append(1000 * (time.monotonic() - begin))
            if answer.status != 200:
                failed.append(answer.text)
            time.sleep(.002)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    at = lambda share: round(times[min(len(times) - 1, int(len(times) * share))], 2)
    return {"reads": len(times), "failed": len(failed), "p50_ms": at(.5), "p99_ms": at(.99), "p99.9_ms": at(.999),
            "most_ms": at(1), "late": sum(t > late_ms / 2 for t in times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="the server; default: the release build")
    parser.add_argument("--late-ms", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=70, help="of each state; a slow node is tried again every 30 s")
    args = parser.parse_args()
    if args.binary:
        os.environ["QUIVER_BINARY"] = args.binary
    from patience import comes_true
    from placed import holders, make
    from quiver_cluster import Cluster
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        proxies = [Proxy(node.port) for node in cluster.nodes]
        for node, proxy in zip(cluster.nodes, proxies):
            proxy.start()
            node.env["QUIVER__CLUSTER__ADVERTISE_HTTP"] = proxy.address
        cluster.start_whole()
        try:
            make(cluster.nodes[0], NAME, 2, vectors={"size": DIM, "distance": "Dot"}, shard_number=1)
            rng = random.Random(1)
            for first in range(0, N_POINTS, 500):
                points = [{"id": i, "vector": [rng.random() for _ in range(DIM)]} for i in range(first, first + 500)]
                answer = cluster.nodes[0].put(f"/collections/{NAME}/points?wait=true", {"points": points})
                assert answer.status == 200, answer.text
            assert comes_true(lambda: len(holders(cluster, NAME)[0]) == 2)
            has, has_not = holders(cluster, NAME)
            print(json.dumps({"what": "both copies are fast"} | read_for(has_not[0], args.seconds, args.late_ms)), flush=True)
            for node in has:
                proxy = proxies[cluster.nodes.index(node)]
                proxy.late_s = args.late_ms / 1000
                print(json.dumps({"what": "one of two answers late"} | read_for(has_not[0], args.seconds, args.late_ms)),
                      flush=True)
                proxy.late_s = 0
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
