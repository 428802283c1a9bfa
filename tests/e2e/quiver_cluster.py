"""A cluster of `quiver serve` processes on this machine, with etcd processes of their own."""
import contextlib
import http.client
import shutil
import threading
import time

from patience import comes_true, patience
from ports import three_free_ports
from quiver_server import Server

HAS_ETCD = shutil.which("etcd") is not None
SETTLE_TIMEOUT_S = patience(20)


class InBackground:
    """Threads that run while a block does, until `stop` is set."""

    def __init__(self, *work):
        self.stop = threading.Event()
        self._threads = [threading.Thread(target=run) for run in work]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self._threads:
            thread.join()


class Cluster:
    """Nodes that know each other. Restarting a node keeps its data and ports."""

    def __init__(self, folder, n=3, env=None, grpc=False, network=None):
        """`network`: gives each node a machine of its own (machines.Network)."""
        hosts = network.addresses if network else ["127.0.0.1"] * n
        self.peers = [f"{host}:{three_free_ports()}" for host in hosts]
        self.nodes = []
        for i, peer in enumerate(self.peers):
            settings = {"QUIVER__CLUSTER__PEERS": ",".join(self.peers), "QUIVER__CLUSTER__ADVERTISE": peer,
                        "QUIVER__CLUSTER__SECRET": "secret-of-the-test"} | (env or {})
            node = Server(folder / f"node{i}" / "data", env=settings, grpc=grpc, host=hosts[i],
                          prefix=network.command_prefix(i) if network else ())
            node.env["QUIVER__CLUSTER__ADVERTISE_HTTP"] = f"http://{node.host}:{node.port}"
            node.log = folder / f"node{i}.log"
            node.data_dir.parent.mkdir(parents=True, exist_ok=True)
            self.nodes.append(node)

    def start(self):
        for node in self.nodes:
            node.start(wait=False)
        try:
            self.wait_settled()
        except AssertionError:
            self.close()
            raise
        return self

    def start_whole(self):
        """As `start`; then every node also counts for the majority."""
        self.start()
        assert comes_true(lambda: all(m["active"] for node in self.nodes for m in self.status_of(node)["nodes"]))
        return self

    def close(self):
        for node in self.nodes:
            node.close()

    def alive(self):
        return [node for node in self.nodes if node.alive()]

    def status_of(self, node):
        """The answer of `GET /cluster`; None if the node cannot be asked."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = node.get("/cluster")
            return answer.json["result"] if answer.status == 200 else None
        return None

    def leader(self):
        """The node that says it leads; None if there is none now."""
        for node in self.alive():
            status = self.status_of(node)
            if status and status["raft_info"]["leader"] == status["peer_id"]:
                return node
        return None

    def followers(self):
        leader = self.leader()
        return [node for node in self.alive() if node is not leader]

    def wait_settled(self):
        """Until all nodes that run name the same leader, and are ready."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        n_running = len(self.alive())
        while time.monotonic() < deadline and len(self.alive()) == n_running:
            statuses = [self.status_of(node) for node in self.alive()]
            leaders = {status["raft_info"]["leader"] if status else None for status in statuses}
            if len(leaders) == 1 and leaders.pop():
                n_peers = min(len(status["peers"]) for status in statuses)
                if n_peers == len(self.nodes) and all(self.is_ready(node) for node in self.alive()):
                    return
            time.sleep(0.05)
        logs = "\n\n".join(node.log_tail(25) for node in self.nodes)
        raise AssertionError(f"the cluster did not settle in {SETTLE_TIMEOUT_S} s:\n{logs}")

    @staticmethod
    def is_ready(node):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return node.get("/readyz").status == 200
        return False
