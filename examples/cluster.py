"""Three nodes on this machine: the shipped sample is loaded through one, searched through all, and the node that leads
is killed while points are written.

    .venv/bin/python examples/cluster.py [--binary PATH]

Each node is one command; this script prints the three, and runs them in a temporary folder."""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / folder) for folder in ("examples", "tests", "tests/e2e")]


def show(cluster):
    for node in cluster.nodes:
        status = cluster.status_of(node)
        if status is None:
            print(f"  port {node.port}: dead")
            continue
        leads = status["raft_info"]["leader"] == status["peer_id"]
        n_points = node.post("/collections/demo/points/count", {"exact": True}).result["count"]
        print(f"  port {node.port}: {'leads  ' if leads else 'follows'} {n_points} points")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="the server; default: the release build")
    args = parser.parse_args()
    if args.binary:
        os.environ["QUIVER_BINARY"] = args.binary
    from quiver_cluster import HAS_ETCD, Cluster
    if not HAS_ETCD:
        sys.exit("etcd was not found in PATH: install Debian's etcd-server")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        peers = ",".join(cluster.peers)
        for node, peer in zip(cluster.nodes, cluster.peers):
            print(f"QUIVER__CLUSTER__PEERS={peers} QUIVER__CLUSTER__ADVERTISE={peer} \\\n"
                  f"  quiver serve --data-dir {node.data_dir} --http 127.0.0.1:{node.port}")
        try:
            run(cluster.start())
        finally:
            cluster.close()


def run(cluster):
    follower = cluster.followers()[0]
    print(f"\nThe cluster is up. Points are written through port {follower.port}, which does not lead.")
    follower.put("/collections/demo", {"vectors": {"size": 4, "distance": "Cosine"}})
    write(follower, 0, 1000)
    show(cluster)
    leader = cluster.leader()
    print(f"\nkill -9 of the leader, port {leader.port}; the next write waits until another node leads.")
    leader.kill9()
    began = time.monotonic()
    while follower.put("/collections/demo/points?wait=true", points(1000, 1)).status != 200:
        time.sleep(0.02)
    print(f"  written after {time.monotonic() - began:.1f} s")
    write(follower, 1001, 999)
    show(cluster)
    print("\nThe killed node comes back, and catches up.")
    leader.start()
    cluster.wait_settled()
    deadline = time.monotonic() + 30
    while leader.post("/collections/demo/points/count", {"exact": True}).result["count"] != 2000:
        assert time.monotonic() < deadline, "it did not catch up within 30 s"
        time.sleep(0.05)
    show(cluster)
    question = {"query": [1, 2, 3, 4], "limit": 3}
    answers = [node.post("/collections/demo/points/query", question).result for node in cluster.nodes]
    assert answers[0] == answers[1] == answers[2]
    print("\nAll three give the same answer:", [(hit["id"], round(hit["score"], 4)) for hit in answers[0]["points"]])


def points(first, n):
    return {"points": [{"id": i, "vector": [1 + i % 7, i % 11, i % 13, 1 + i % 17], "payload": {"number": i}}
                       for i in range(first, first + n)]}


def write(node, first, n):
    answer = node.put("/collections/demo/points?wait=true", points(first, n))
    assert answer.status == 200, answer.text


if __name__ == "__main__":
    main()
