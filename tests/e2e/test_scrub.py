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


def test_writes_to_files_are_noticed_without_a_pass(new_server):
    """Nothing is answered from bytes that another program writes, from the moment its call ends."""
    server = new_server(env=flips.ENV)
    damage, rng = Flips(server, 6, 1200), random.Random(2)
    for kind in damage.model.segment_files():
        paths = damage.model.segment_files()[kind]
        if not paths:  # of a build that has ended
            continue
        flips.overwrite(rng.choice(paths), rng)
        assert damage.model.look()[0] == 0, kind
        assert flips.wait_healed(damage.model) == 0, kind
        damage.model.wait_for_rest()
    assert server.get("/v1/scrub").result["passes"] == 0 and server.metric("scrub_damages_total") > 5
    assert "somebody wrote to it" in server.log_tail(100_000)
    damage.check_other()


def test_random_flips_and_cuts(new_server):
    damage = Flips(new_server(env=flips.ENV), 11, 1200)
    for _ in range(3):
        damage.running_round()
    damage.stopped_round()
    damage.rows_round()
    damage.server.stop()


def test_one_flip_in_each_section(new_server):
    """A round changes the next section of every file of a stopped server. tests/engine/shard/damage_test.cc: of a running one."""
    damage = Flips(new_server(env=flips.ENV), 12, 300)
    number = 0
    while damage.section_round(number):
        number += 1
    assert number > 20 and damage.counts["sections"] > 60, damage.counts
    damage.server.stop()


def test_status_without_a_pass(new_server):
    server: Server = new_server(env=flips.ENV).start()
    assert server.get("/v1/scrub").result == {"status": "idle", "pass_bytes": 0, "pass_bytes_expected": 0, "bytes": 0,
                                              "passes": 0, "damages": 0, "last_pass_age_seconds": None}
