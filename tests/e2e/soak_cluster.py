"""Faults against three nodes under load, for as many rounds as asked; nothing acknowledged may be lost.

Each round: four clients write through all nodes, and a fault comes and goes. Then all nodes must hold the same points,
with what was acknowledged. As root each node has a network address and a disk of its own, so that networks are cut,
disks are full, and their power fails.
Usage: scripts/soak cluster [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh] [--fault WORDS]
"""
import random
import signal
import subprocess
import sys
import time

import machines
from patience import comes_true
from quiver_cluster import Cluster
from soak import Soak
from test_cluster import Writers, make

DISK_MB = 400
CUT_S = 9  # longer than the lease and a take-over


def etcd_of(node):
    """The process id of the node's etcd."""
    found = subprocess.run(["pgrep", "-P", str(node.process.pid), "-x", "etcd"], capture_output=True, text=True)
    return int(found.stdout.split()[0])


class Rig:
    """A cluster, and the faults that are possible here."""

    def __init__(self, folder, with_machines):
        self.network = machines.Network(3) if with_machines else None
        self.disks = [machines.Disk(folder / f"node{i}", DISK_MB) for i in range(3)] if with_machines else []
        self.cluster = Cluster(folder, network=self.network)
        for node in self.cluster.nodes:
            node.answer_timeout_s = 3
        peer_ports = {int(peer.rsplit(":", 1)[1]) for peer in self.cluster.peers}
        self.peer_ports = sorted(peer_ports)
        self.ledger_ports = sorted(port + i for port in peer_ports for i in (1, 2))

    def close(self):
        self.cluster.close()
        for disk in self.disks:
            disk.close()
        if self.network:
            self.network.close()

    # Who.

    def leader(self):
        """Its number; that of any node if nobody leads now."""
        leader = self.cluster.leader()
        return self.cluster.nodes.index(leader) if leader else random.randrange(3)

    def follower(self):
        return random.choice(self.others(self.leader()))

    @staticmethod
    def others(number):
        return [i for i in range(3) if i != number]

    # Processes.

    def kill(self, numbers):
        for i in numbers:
            self.cluster.nodes[i].kill9()
        time.sleep(random.uniform(0, 4))
        self.start(numbers)

    def start(self, numbers):
        for i in numbers:
            self.cluster.nodes[i].start(wait=False)

    def stop(self, number):
        self.cluster.nodes[number].stop()
        self.start([number])

    def processes(self, numbers):
        return [p for i in numbers for p in (self.cluster.nodes[i].process.pid, etcd_of(self.cluster.nodes[i]))]

    def freeze(self, number, seconds):
        """The node and its etcd stand still, and go on as if nothing had been."""
        processes = self.processes([number])
        machines.signal_all(processes, signal.SIGSTOP)
        time.sleep(seconds)
        machines.signal_all(processes, signal.SIGCONT)

    # Networks.

    def during(self, *cuts):
        for cut in cuts:
            cut()
        time.sleep(CUT_S)
        self.network.heal()

    def cut_off(self, number, ports=None):
        self.during(lambda: self.network.cut(number, self.others(number), ports))

    def nobody_hears(self, number):
        self.during(*(lambda other=other: self.network.drop(number, other) for other in self.others(number)))

    def hears_nobody(self, number):
        self.during(*(lambda other=other: self.network.drop(other, number) for other in self.others(number)))

    def cut_pair(self, one, other):
        self.during(lambda: self.network.cut(one, [other]))

    # Disks.

    def fill(self, number):
        self.disks[number].fill()
        time.sleep(CUT_S)
        self.disks[number].free()
        # What could not write may have ended, and is started again as a service would be.
        if not self.cluster.nodes[number].alive():
            self.start([number])

    def cut_power(self, numbers):
        """What the disks hold at one moment is all that is left. Nothing is acknowledged after it."""
        machines.signal_all(self.processes(numbers), signal.SIGSTOP)
        time.sleep(0.3)  # answers on their way arrive
        for i in numbers:
            self.disks[i].photograph()
        etcds = [etcd_of(self.cluster.nodes[i]) for i in numbers]
        for i in numbers:
            self.cluster.nodes[i].kill9()
        machines.signal_all(etcds, signal.SIGKILL)
        time.sleep(0.5)
        for i in numbers:
            self.disks[i].cut_power()
        self.start(numbers)

    def faults(self):
        faults = {
            "kill -9 of the leader": lambda: self.kill([self.leader()]),
            "kill -9 of a follower": lambda: self.kill([self.follower()]),
            "kill -9 of two nodes": lambda: self.kill(random.sample(range(3), 2)),
            "kill -9 of all": lambda: self.kill(range(3)),
            "kill -9 of the leader's etcd": lambda: machines.signal_all(
                [etcd_of(self.cluster.nodes[self.leader()])], signal.SIGKILL),
            "the leader stands still": lambda: self.freeze(self.leader(), 6),
            "a follower stands still": lambda: self.freeze(self.follower(), 6),
            "SIGTERM of the leader": lambda: self.stop(self.leader()),
        }
        if self.network is None:
            return faults
        return faults | {
            "network: the leader is alone": lambda: self.cut_off(self.leader()),
            "network: a follower is alone": lambda: self.cut_off(self.follower()),
            "network: nobody hears the leader": lambda: self.nobody_hears(self.leader()),
            "network: the leader hears nobody": lambda: self.hears_nobody(self.leader()),
            "network: two nodes are apart": lambda: self.cut_pair(*random.sample(range(3), 2)),
            "network: the leader's peer ports": lambda: self.cut_off(self.leader(), self.peer_ports),
            "network: the leader's ledger": lambda: self.cut_off(self.leader(), self.ledger_ports),
            "disk: the leader's is full": lambda: self.fill(self.leader()),
            "disk: a follower's is full": lambda: self.fill(self.follower()),
            "power: all nodes": lambda: self.cut_power(range(3)),
            "power: the leader": lambda: self.cut_power([self.leader()]),
            "power: a follower": lambda: self.cut_power([self.follower()]),
        }


def run_round(rig, name, fault):
    """The writers, after all nodes were found equal."""
    with Writers(rig.cluster, name) as writers:
        time.sleep(random.uniform(0.2, 1.5))
        fault()
        rig.cluster.wait_settled()
        time.sleep(1)
    writers.check()
    return writers


def work(soak):
    why_not = machines.why_none()
    if why_not:
        print(f"without faults of networks and disks: {why_not}")
    rig = Rig(soak.folder, with_machines=why_not is None)
    try:
        rig.cluster.start()
        faults = {name: fault for name, fault in rig.faults().items() if soak.args.fault in name}
        for number in soak.rounds():
            run_numbered(rig, soak, number, faults)
    finally:
        rig.close()


def run_numbered(rig, soak, number, faults):
    name = f"round{number % 5}"
    # The ledger may be slow to recover from the fault before: a change is refused then, and may be sent again.
    assert comes_true(lambda: rig.cluster.leader() and rig.cluster.leader().delete(f"/collections/{name}").status == 200)
    # On all nodes, or each shard on two of them.
    make(rig.cluster.leader(), name, **({"shard_number": 3, "replication_factor": 2} if number % 2 else {"shard_number": 2}))
    random.seed(f"{soak.state['seed']}/{number}")
    # Each fault once before any comes again.
    fewest = min(soak.total(fault) for fault in faults)
    fault = random.choice([each for each in faults if soak.total(each) == fewest])
    print(f"{number:4} {fault}: ", end="", flush=True)
    writers = run_round(rig, name, faults[fault])
    soak.add({fault: 1, "acknowledged": writers.n_acknowledged})
    soak.at_most({f"pause in s: {fault}": writers.longest_pause_s})
    print(f"{writers.n_acknowledged} acknowledged, {writers.failed} failed, longest pause "
          f"{writers.longest_pause_s:.1f} s", flush=True)


if __name__ == "__main__":
    soak = Soak("cluster", __doc__, bar=200)
    soak.parser.add_argument("--fault", default="", help="only faults whose names contain this")
    sys.exit(soak.run(work))
