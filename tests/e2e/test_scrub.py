"""Bytes that change in files of a running or a stopped server: found, told, healed or refused. `make soak-flips` is longer."""
import random

import flips
from quiver_server import Server
from soak_flips import Flips


def test_changed_bytes_are_found_told_and_healed(new_server):
    server = new_server(env=flips.ENV)
    damage = Flips(server, 5, 1200)
    rows = damage.model.segment_files()["rows.qvs"][0]
    flips.flip(rows, random.Random(1))
    assert server.get("/v1/scrub").result["damages"] == 0
    flips.scrub(server)
    assert server.get("/v1/scrub").result["damages"] == 1
    assert server.metric("scrub_damages_total") == 1 and server.metric("scrub_passes_total") == 1
    assert server.metric("scrub_bytes_total") > 0
    assert "collection `soak`: a file is damaged while it is in use" in server.log_tail() and rows in server.log_tail()
    assert flips.wait_healed(damage.model) == 0
    damage.check_other()
    damage.model.wait_for_rest()
    flips.scrub(server)
    assert server.get("/v1/scrub").result["damages"] == 1


def test_random_flips_and_cuts(new_server):
    damage = Flips(new_server(env=flips.ENV), 11, 1200)
    for _ in range(3):
        damage.running_round()
    damage.stopped_round()
    damage.rows_round()
    damage.server.stop()


def test_one_flip_in_each_section(new_server):
    """A round changes the next section of every file: first while the server runs, then while it is stopped."""
    damage = Flips(new_server(env=flips.ENV), 12, 300)
    number, n_changed = 0, 1
    while n_changed:
        for is_running in (True, False):
            n_changed = damage.section_round(number, is_running)
        number += 1
    assert number > 20 and damage.counts["sections"] > 120, damage.counts
    damage.server.stop()


def test_status_without_a_pass(new_server):
    server: Server = new_server(env=flips.ENV).start()
    assert server.get("/v1/scrub").result == {"status": "idle", "pass_bytes": 0, "pass_bytes_expected": 0, "bytes": 0,
                                              "passes": 0, "damages": 0, "last_pass_age_seconds": None}
