"""kill -9 under load over the network (kills.py). `make soak-kill9` is longer."""
import kills

SEED, ROUNDS = 20260101, 5


def test_kill9_under_load(new_server):
    server = new_server(env=kills.ENV)
    load = kills.Kills(server, SEED)
    for number in range(ROUNDS):
        counts = load.round(number)
        print(f"seed {SEED}, round {number}: {counts}")
        assert counts["acknowledged"] > kills.THREADS, "the load was no load"
    server.stop()
