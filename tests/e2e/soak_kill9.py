"""kill -9 of a server under load over the network, for as many rounds as asked (kills.py says what a round is).

Usage: scripts/soak kill9 [--minutes M] [--rounds N] [--seed S] [--first N] [--fresh]
"""
import sys

import kills
from quiver_server import Server
from soak import Soak


def work(soak):
    server = Server(soak.folder / "data", env=kills.ENV)
    try:
        load = kills.Kills(server, soak.state["seed"])
        for number in soak.rounds():
            counts = load.round(number)
            soak.add(counts | {"killed starts": load.n_killed_starts})
            load.n_killed_starts = 0
            print(f"{number:5} {counts}", flush=True)
        server.stop()
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(Soak("kill9", __doc__, bar=500).run(work))
