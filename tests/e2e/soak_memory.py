"""A load that wants more memory than the limit, in a control group of 1.2 times the limit, on one server for all rounds.

A round is a minute of load on a new collection, whose points are then compared with what was acknowledged.
Usage: scripts/soak memory [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh]
"""
import os
import sys
import time

from memory_load import LIMIT_MB, SETTINGS, check_load, check_recovery, group_of, n_killed
from quiver_server import Server
from soak import Soak

ROUND_S = float(os.environ.get("QUIVER_SOAK_ROUND_S", "60"))
ROOM = 1.2  # of the limit


def work(soak):
    with group_of(int(ROOM * LIMIT_MB * (1 << 20))) as (prefix, group):
        server = Server(soak.folder / "data", env=SETTINGS, prefix=prefix)
        try:
            server.start()
            for number in soak.rounds():
                began = time.monotonic()
                load = check_load(server, ROUND_S, ROOM)
                check_recovery(server, load)
                assert server.delete("/collections/c").result
                assert n_killed(group) == 0, "the system killed the server"
                answers = {f"{kind} {status}": n for (kind, status), n in load.seen.items()}
                soak.add(answers | {"minutes of load": ROUND_S / 60})
                soak.at_most({"private MiB": load.most_private})
                print(f"{number:5} {time.monotonic() - began:.0f} s, {load.most_private} MiB, {answers}", flush=True)
            server.stop()
        finally:
            server.close()


if __name__ == "__main__":
    sys.exit(Soak("memory", __doc__, bar=60, of="minutes of load").run(work))
