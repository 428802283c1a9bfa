"""System calls of a server that fail with EIO, ENOSPC, EMFILE or ENOMEM, once or for ever (failing_calls.py).

Usage: scripts/soak system-calls [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh]
"""
import sys

import failing_calls
import kills
from quiver_server import Server
from soak import Soak


def work(soak):
    calls = failing_calls.Calls(soak.folder)
    server = Server(soak.folder / "data")
    server.env |= kills.ENV | calls.environment(server.data_dir)
    try:
        scripts = failing_calls.Scripts(server, calls, soak.state["seed"])
        for number in soak.rounds():
            scripts.sites.clear()
            scripts.statuses.clear()
            what, n_failed = scripts.run(soak.random(number))
            soak.add({"scripts with a failed call": int(n_failed > 0), "failed calls": n_failed})
            soak.add(scripts.sites)
            soak.add({f"status {status}": n for status, n in scripts.statuses.items()})
            print(f"{number:5} {what}: {n_failed} failed", flush=True)
        server.stop()
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(Soak("system-calls", __doc__, bar=5000, of="scripts with a failed call", in_memory=True).run(work))
