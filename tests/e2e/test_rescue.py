"""Loss of each kind of file in a data directory: `quiver check` tells it, the server heals it or refuses the collection,
and `quiver rescue` takes the rest. docs/recovery.md has the same table."""
import json
import random
import shutil
import subprocess
import time
from dataclasses import dataclass

import pytest
from patience import comes_true, patience
from quiver_server import Server, binary

N_POINTS = 900
DIM = 300  # rows of more than 1 KiB: their values are in blob files
SETTINGS = {"QUIVER__OPTIMIZER__SEAL_ROWS": "300", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05"}
BIG = "collections/00000001/shard-0"


def run(*arguments):
    return subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True, timeout=patience(60))


def check(data_dir, *arguments):
    ran = run("check", data_dir, "--json", *arguments)
    assert ran.returncode in (0, 1), ran.stderr
    report = json.loads(ran.stdout)
    assert report["damaged"] == (ran.returncode == 1)
    return report


def rescue(data_dir, to, *arguments):
    ran = run("rescue", data_dir, to, "--json", *arguments)
    assert ran.returncode in (0, 1) and ran.stdout, ran.stderr
    report = json.loads(ran.stdout)
    assert bool(report["lost"]) == (ran.returncode == 1)
    return report


def vector(seed):
    numbers = random.Random(seed)
    return [round(numbers.gauss(0, 1), 3) for _ in range(DIM)]


def fill(server):
    server.put("/collections/big", {"vectors": {"size": DIM, "distance": "Dot"}, "sparse_vectors": {"words": {}},
                                    "optimizers_config": {"indexing_threshold": 1}}).result
    server.put("/collections/big/index?wait=true", {"field_name": "n", "field_schema": "integer"}).result
    server.put("/collections/small", {"vectors": {"tokens": {
        "size": 4, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}}}).result
    for begin in range(0, N_POINTS, 100):
        server.put("/collections/big/points?wait=true", {"points": [
            {"id": i, "vector": {"": vector(i), "words": {"indices": [i % 50, 60], "values": [1, 0.5]}},
             "payload": {"n": i}} for i in range(begin, begin + 100)]}).result
    server.put("/collections/small/points?wait=true",
               {"points": [{"id": i, "vector": {"tokens": [[i, 1, 2, 3]]}} for i in range(50)]}).result
    server.post("/collections/small/points/query", {"query": [[1, 2, 3, 4]], "using": "tokens"}).result
    server.post("/collections/big/points/delete?wait=true", {"points": [0, 1, 2]}).result
    server.post("/collections/aliases", {"actions": [
        {"create_alias": {"collection_name": "big", "alias_name": "other"}}]}).result
    server.post("/collections/small/snapshots").result


def ids(server, collection="big"):
    found = server.post(f"/collections/{collection}/points/scroll", {"limit": 2 * N_POINTS, "with_payload": False})
    return [point["id"] for point in found.result["points"]]


def wait_until_sealed(server):
    def is_sealed():
        info = server.get("/collections/big").result
        return info["status"] == "green" and info["indexed_vectors_count"] > 0

    assert comes_true(is_sealed, 60), server.get("/collections/big").result


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A directory of a stopped server, with every kind of file: tables and blob files come from a rescue."""
    root = tmp_path_factory.mktemp("sound")
    for step, then in (("first", fill), ("second", lambda server: None)):
        server = Server(root / step, SETTINGS).start()
        try:
            then(server)
            wait_until_sealed(server)
            if step == "second":
                server.post("/collections/small/points/query", {"query": [[1, 2, 3, 4]], "using": "tokens"}).result
                server.put("/collections/big/points?wait=true", {"points": [
                    {"id": 5000 + i, "vector": {"": vector(i)}, "payload": {"n": i}} for i in range(20)]}).result
                server.post("/collections/small/snapshots").result
                server.stop()
            else:
                server.stop()
                assert not rescue(root / "first", root / "second")["lost"]
        finally:
            server.close()
    report = check(root / "second")
    assert report["findings"] == [], report
    assert report["snapshots"] == 1
    return root / "second"


WHOLE = [*range(3, N_POINTS), *range(5000, 5020)]


@dataclass
class Kind:
    """A kind of file, and what its loss means: the table of docs/recovery.md."""
    files: str  # a pattern below the data directory; the first match is damaged
    told: str = ""  # severity that a check gives; empty: it says nothing
    server: str = "heals"  # heals: same answers; refuses: the collection; later: same answers until the file is needed;
    # stops: does not start; serves: not concerned
    rescued: str = "all"  # points that a rescue takes: all, most (at least half), some
    only: str = ""  # flip or delete; empty: both


KINDS = {
    "catalog": Kind("catalog", "loss", "stops"),
    "copy of the catalog, damaged": Kind("catalog.copy", "rebuilt", "heals", only="flip"),
    "copy of the catalog, missing": Kind("catalog.copy", "", "heals", only="delete"),
    "lock": Kind("LOCK", "", "heals"),
    "name of the manifest": Kind(f"{BIG}/rows/CURRENT", "loss", "refuses"),
    "manifest": Kind(f"{BIG}/rows/MANIFEST-*", "loss", "refuses"),
    "log": Kind(f"{BIG}/rows/*.log", "loss", "refuses", "most"),
    "synced sizes": Kind(f"{BIG}/rows/SYNCED", "missing", "heals", only="delete"),
    "options": Kind(f"{BIG}/rows/OPTIONS-*", "", "heals"),
    "identity": Kind(f"{BIG}/rows/IDENTITY", "", "heals"),
    "table": Kind(f"{BIG}/rows/*.sst", "loss", "later", "most"),
    "blob file": Kind(f"{BIG}/rows/*.blob", "loss", "later", "most"),
    "segment": Kind(f"{BIG}/segments/*/rows.qvs", "rebuilt"),
    "attributes, damaged": Kind(f"{BIG}/segments/*/attributes.qva", "rebuilt", only="flip"),
    "attributes, missing": Kind(f"{BIG}/segments/*/attributes.qva", "missing", only="delete"),
    "column, damaged": Kind(f"{BIG}/segments/*/column-*.qvc", "rebuilt", only="flip"),
    "column, missing": Kind(f"{BIG}/segments/*/column-*.qvc", "missing", only="delete"),
    "dense index": Kind(f"{BIG}/segments/*/index-0-*/lists.qvx", "rebuilt"),
    "second codes": Kind(f"{BIG}/segments/*/index-0-*/rows.qvx", "rebuilt", only="flip"),
    "sparse index": Kind(f"{BIG}/segments/*/index-1-*/*.qvx", "rebuilt"),
    "sample of queries, damaged": Kind("collections/00000002/queries-0", "rebuilt", only="flip"),
    "sample of queries, missing": Kind("collections/00000002/queries-0", "", only="delete"),
    "manifest of a snapshot, damaged": Kind("snapshots/*/*/manifest.json", "loss", "serves", only="flip"),
    "file of a snapshot": Kind("snapshots/*/*/files/shard-0/rows/*.sst", "loss", "serves"),
}
CASES = [(name, how) for name, kind in KINDS.items() for how in ("flip", "delete") if kind.only in ("", how)]


def damage(path, how):
    if how == "delete":
        path.unlink()
        return
    data = bytearray(path.read_bytes())
    for at in (len(data) // 3, len(data) // 2, 2 * len(data) // 3):
        if data:
            data[at] ^= 0x10
    path.write_bytes(data)


def tree(root):
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name,how", CASES)
def test_loss_of_a_file(sound, tmp_path, name, how):
    kind = KINDS[name]
    damaged = tmp_path / "damaged"
    shutil.copytree(sound, damaged)
    paths = sorted(damaged.glob(kind.files))
    assert paths, f"the directory has no {kind.files}"
    if kind.files.endswith((".sst", ".blob", ".log")):
        paths.sort(key=lambda path: path.stat().st_size, reverse=True)
    damage(paths[0], how)
    before = tree(damaged)

    report = check(damaged)
    severities = {finding["severity"] for finding in report["findings"]}
    assert (kind.told in severities) if kind.told else not report["damaged"], report
    assert report["damaged"] == (kind.told in ("loss", "rebuilt"))
    assert {k: v for k, v in tree(damaged).items() if k.name != "LOCK"} == {
        k: v for k, v in before.items() if k.name != "LOCK"}, "a check changes nothing"

    rescued = rescue(damaged, tmp_path / "new")
    assert tree(damaged).keys() == before.keys(), "a rescue changes nothing where it reads"
    assert check(tmp_path / "new")["damaged"] is False
    new = Server(tmp_path / "new", SETTINGS).start()
    try:
        found = ids(new)
        wanted = {"all": N_POINTS + 17, "most": N_POINTS // 2}[kind.rescued]
        assert len(found) >= wanted, rescued
        assert set(found) <= set(range(N_POINTS)) | set(WHOLE)
        if kind.rescued == "all":
            assert set(WHOLE) <= set(found)
        assert sorted(ids(new, "small")) == list(range(50))
        assert len(ids(new, "other")) == len(found), "the alias is there"
        new.stop()
    finally:
        new.close()
    serve_damaged(damaged, kind)


def serve_damaged(damaged, kind):
    server = Server(damaged, SETTINGS)
    try:
        server.start(wait=False)
        if kind.server == "stops":
            assert server.process.wait(patience(30)) != 0
            assert "catalog" in server.log_tail()
            assert "taken from catalog.copy" in json.dumps(check(damaged, "--repair"))
            server.start()
        else:
            server.wait_ready("/livez")
        assert sorted(ids(server, "small")) == list(range(50)), "others are served"
        answer = server.post("/collections/big/points/scroll", {"limit": 2 * N_POINTS, "with_vector": True})
        allowed = {"refuses": (503,), "later": (200, 503)}.get(kind.server, (200,))
        assert answer.status in allowed, answer.text[:300]
        if answer.status == 200:
            assert [point["id"] for point in answer.result["points"]] == WHOLE
            assert all(point["vector"][""] == vector(point["id"] % 5000) for point in answer.result["points"][::97])
    finally:
        server.close()


def test_a_repair_is_made_only_when_asked_and_keeps_what_is_damaged(sound, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(sound, damaged)
    log = max((damaged / BIG / "rows").glob("*.log"), key=lambda path: path.stat().st_size)
    damage(log, "flip")
    bytes_before = log.read_bytes()
    assert check(damaged)["damaged"] and check(damaged)["damaged"], "a check repairs nothing"
    report = check(damaged, "--repair")
    assert not report["damaged"] and report["repairs"], report
    assert (damaged / BIG / "rows.damaged-1" / log.name).read_bytes() == bytes_before
    leftovers = {f["path"] for f in report["findings"] if f["severity"] == "leftover"}
    assert leftovers == {f"{BIG}/rows.damaged-1", f"{BIG}/segments.replaced-1"}


def test_a_shard_that_is_gone_is_told_and_the_rest_is_taken(sound, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(sound, damaged)
    shutil.rmtree(damaged / BIG)
    assert check(damaged)["damaged"]
    report = rescue(damaged, tmp_path / "new")
    assert any("collection big, shard 0" in line for line in report["lost"])
    server = Server(tmp_path / "new", SETTINGS).start()
    try:
        assert ids(server) == [] and len(ids(server, "small")) == 50
        server.stop()
    finally:
        server.close()


def test_refusals(sound, tmp_path):
    full = run("rescue", sound, sound.parent)
    assert full.returncode == 1 and "is not empty" in full.stderr
    missing = run("check", tmp_path / "nothing")
    assert missing.returncode == 1 and "nothing" in missing.stderr
    copy = tmp_path / "copy"
    shutil.copytree(sound, copy)
    server = Server(copy, SETTINGS).start()
    try:
        for command in (["check", copy], ["rescue", copy, tmp_path / "new"]):
            refused = run(*command)
            assert refused.returncode == 1 and "is in use by a server" in refused.stderr
        assert run("inspect", copy).returncode == 0, "it only reads"
        server.stop()
    finally:
        server.close()


def test_only_one_collection_is_rescued(sound, tmp_path):
    report = rescue(sound, tmp_path / "new", "--collection", "small")
    assert [shard["collection"] for shard in report["shards"]] == ["small"] and not report["lost"]
    assert run("rescue", sound, tmp_path / "other", "--collection", "none").returncode == 1


def test_rows_that_differ_from_segments_are_told(sound, tmp_path):
    """Two directories went on from one: each file of the same segment is sound, and was written for its place."""
    for name, first in (("one", 6000), ("two", 7000)):
        shutil.copytree(sound, tmp_path / name)
        server = Server(tmp_path / name, SETTINGS).start()
        try:
            server.put("/collections/big/points?wait=true", {"points": [
                {"id": first + i, "vector": {"": vector(i)}} for i in range(20)]}).result
            comes_true(lambda: server.get("/collections/big").result["status"] == "green", 30)
            time.sleep(1)
            server.stop()
        finally:
            server.close()
        assert not check(tmp_path / name)["damaged"]
    one, two = (set(path.name for path in (tmp_path / name / BIG / "segments").iterdir()) for name in ("one", "two"))
    same = max(one & two, key=int)
    shutil.rmtree(tmp_path / "one" / BIG / "segments" / same)
    shutil.copytree(tmp_path / "two" / BIG / "segments" / same, tmp_path / "one" / BIG / "segments" / same)
    report = check(tmp_path / "one")
    problems = " ".join(finding["problem"] for finding in report["findings"])
    assert "sealed, but without a row: 20 points (7000, " in problems, report
    assert "have a row, but no segment has them: 20 points (6000, " in problems, report
    assert not check(tmp_path / "one", "--repair")["damaged"]
    server = Server(tmp_path / "one", SETTINGS).start()
    try:
        assert ids(server) == [*WHOLE, *range(6000, 6020)]
    finally:
        server.close()


def test_inspect_names_and_explains_every_file(sound):
    ran = run("inspect", sound, "--json")
    assert ran.returncode == 0, ran.stderr
    files = {file["path"]: file for file in map(json.loads, ran.stdout.splitlines())}
    assert files.keys() == {str(path.relative_to(sound)) for path in sound.rglob("*") if path.is_file()}
    for path, file in files.items():
        assert file["kind"] != "unknown" and file["about"] and file["if_lost"], path
        assert file["bytes"] == (sound / path).stat().st_size
        assert "problem" not in file, file
    assert files["catalog"]["counts"] == {"collections": 2, "aliases": 1}
    [segment] = {f["version"] for p, f in files.items() if p.endswith("rows.qvs") and p.startswith(BIG)}
    assert segment == 2
    one = run("inspect", sound / "catalog")
    assert one.returncode == 0 and "QVCATLOG version 2, 2 collections, 1 aliases" in one.stdout
    (stranger := sound.parent / "stranger").write_text("what is this")
    assert "unknown" in run("inspect", stranger).stdout
    assert run("inspect").returncode == 2
