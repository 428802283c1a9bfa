"""Faults against three nodes under load, for as many rounds as asked; nothing acknowledged may be lost.

Each round: four clients write through all nodes, something is killed or stopped, and comes back. Then all nodes must
hold the same points, with what was acknowledged. Ends with 1 at the first difference; the seed repeats the faults.
Usage: soak_cluster.py [--rounds N] [--seed S] [--minutes M]
"""
import argparse
import collections
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from quiver_cluster import Cluster  # noqa: E402
from test_cluster import Writers, make  # noqa: E402


def etcd_of(node):
    """The process id of the node's etcd."""
    found = subprocess.run(["pgrep", "-P", str(node.process.pid), "-x", "etcd"], capture_output=True, text=True)
    return int(found.stdout.split()[0])


def kill(nodes):
    for node in nodes:
        node.kill9()
    time.sleep(random.uniform(0, 4))
    for node in nodes:
        node.start(wait=False)


def freeze(node, seconds):
    """The node and its etcd stand still, and go on as if nothing had been."""
    processes = [node.process.pid, etcd_of(node)]
    for process in processes:
        signal_process(process, signal.SIGSTOP)
    time.sleep(seconds)
    for process in processes:
        signal_process(process, signal.SIGCONT)


def signal_process(process, number):
    subprocess.run(["kill", f"-{int(number)}", str(process)], check=False)


FAULTS = {
    "kill -9 of the leader": lambda c: kill([c.leader() or c.nodes[0]]),
    "kill -9 of a follower": lambda c: kill(c.followers()[:1]),
    "kill -9 of two nodes": lambda c: kill(random.sample(c.nodes, 2)),
    "kill -9 of all": lambda c: kill(c.nodes),
    "kill -9 of the leader's etcd": lambda c: signal_process(etcd_of(c.leader() or c.nodes[0]), signal.SIGKILL),
    "the leader stands still for 6 s": lambda c: freeze(c.leader() or c.nodes[0], 6),
    "a follower stands still for 6 s": lambda c: freeze(c.followers()[0], 6),
    "SIGTERM of the leader": lambda c: stop(c.leader() or c.nodes[0]),
}


def stop(node):
    node.stop()
    node.start(wait=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=60, help="no round begins later")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    random.seed(args.seed)
    end = time.monotonic() + 60 * args.minutes
    counts, n_acknowledged, longest_s = collections.Counter(), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder)).start()
        try:
            for number in range(args.rounds):
                if time.monotonic() > end:
                    break
                name = f"round{number % 5}"
                if number >= 5:
                    cluster.leader().delete(f"/collections/{name}")
                make(cluster.leader(), name, shard_number=2)
                fault = random.choice(list(FAULTS))
                with Writers(cluster, name) as writers:
                    time.sleep(random.uniform(0.2, 1.5))
                    FAULTS[fault](cluster)
                    cluster.wait_settled()
                    time.sleep(1)
                writers.check()
                counts[fault] += 1
                n_acknowledged += writers.n_acknowledged
                longest_s = max(longest_s, writers.longest_pause_s)
                print(f"{number + 1:3} {fault}: {writers.n_acknowledged} acknowledged, {writers.failed} failed, longest "
                      f"pause {writers.longest_pause_s:.1f} s", flush=True)
        finally:
            cluster.close()
    print(f"{sum(counts.values())} rounds, seed {args.seed}: {n_acknowledged} changes acknowledged, none lost; all nodes "
          f"equal after each round; longest pause {longest_s:.1f} s\n{dict(counts)}")


if __name__ == "__main__":
    main()
