"""`quiver import --faiss` and `quiver export --faiss`: ids and vectors survive the way through FAISS."""
import subprocess
from pathlib import Path

import numpy as np
import pytest

from patience import patience
from quiver_server import Server, binary

N, DIM = 800, 12
PROGRAM = Path(binary()).resolve().parent / "quiver-faiss"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="quiver-faiss is built where libfaiss-dev is installed")


def quiver(*args, cwd, status=0):
    done = subprocess.run([binary(), *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=patience(120))
    assert done.returncode == status, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def url(server):
    return f"http://127.0.0.1:{server.port}"


def stored(server, name):
    body = {"limit": N + 1, "with_vector": True, "with_payload": False}
    points = server.post(f"/collections/{name}/points/scroll", body).result["points"]
    return {p["id"]: p["vector"] for p in points}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("faiss") / "data").start()
    server.put("/collections/some", {"vectors": {"v": {"size": DIM, "distance": "Euclid"},
                                                 "other": {"size": 2, "distance": "Dot"}}}).result
    rows = np.random.default_rng(4).standard_normal((N, DIM)).astype("f4")
    points = [{"id": 3 * i + 5, "vector": {} if i % 50 == 7 else {"v": row}} for i, row in enumerate(rows.tolist())]
    server.put("/collections/some/points?wait=true", {"points": points}).result
    yield server
    server.stop()


@pytest.mark.parametrize("factory", ["Flat", "IVF8,Flat", "HNSW16"])
def test_there_and_back(server, tmp_path, factory):
    said = quiver("export", "--url", url(server), "--collection", "some", "--faiss", factory, "--vectors", "v",
                  "--out", "some.faiss", cwd=tmp_path)
    assert factory in said
    assert [p.name for p in tmp_path.iterdir()] == ["some.faiss"]
    name = "back-" + factory.split(",")[0]
    said = quiver("import", "--url", url(server), "--collection", name, "--faiss", "v=some.faiss", cwd=tmp_path)
    assert "as they were added" in said
    assert [p.name for p in tmp_path.iterdir()] == ["some.faiss"]
    wanted = {id: {"v": v["v"]} for id, v in stored(server, "some").items() if v}
    assert len(wanted) == N - N // 50
    assert stored(server, name) == wanted
    info = server.get(f"/collections/{name}").result["config"]["params"]["vectors"]["v"]
    assert (info["size"], info["distance"]) == (DIM, "Euclid")


def test_lossy_indexes_say_so(server, tmp_path):
    quiver("export", "--url", url(server), "--collection", "some", "--faiss", "SQ8", "--vectors", "v", "--out", "x.faiss",
           cwd=tmp_path)
    said = quiver("import", "--url", url(server), "--collection", "lossy", "--faiss", "v=x.faiss", cwd=tmp_path)
    assert "codes" in said
    some, lossy = stored(server, "some"), stored(server, "lossy")
    worst = max(abs(a - b) for id, v in lossy.items() for a, b in zip(v["v"], some[id]["v"]))
    assert 0 < worst < 0.05


def test_errors_name_what_is_wrong(server, tmp_path):
    target = ["--url", url(server), "--collection"]
    (tmp_path / "bad.faiss").write_text("no index")
    said = quiver("import", *target, "bad", "--faiss", "bad.faiss", cwd=tmp_path, status=1)
    assert "bad.faiss" in said and "FAISS cannot read" in said
    assert "missing.faiss" in quiver("import", *target, "bad", "--faiss", "missing.faiss", cwd=tmp_path, status=1)
    said = quiver("export", *target, "some", "--faiss", "Nonsense9", "--vectors", "v", "--out", "y.faiss", cwd=tmp_path,
                  status=1)
    assert "Nonsense9" in said
    said = quiver("export", *target, "some", "--faiss", "Flat", "--vectors", "w", "--out", "y.faiss", cwd=tmp_path, status=1)
    assert '"w"' in said and '"v"' in said
    assert not (tmp_path / "y.faiss").exists()
    (tmp_path / "z.faiss").write_text("mine")
    said = quiver("export", *target, "some", "--faiss", "Flat", "--vectors", "v", "--out", "z.faiss", cwd=tmp_path, status=1)
    assert "--force" in said and (tmp_path / "z.faiss").read_text() == "mine"
    said = quiver("import", *target, "bad", "--faiss", "z.faiss", "--from-export", ".", cwd=tmp_path, status=2)
    assert "--faiss" in said


def test_folders_of_others_are_kept(server, tmp_path):
    quiver("export", "--url", url(server), "--collection", "some", "--faiss", "Flat", "--vectors", "v", "--out", "x.idx",
           cwd=tmp_path)
    (tmp_path / "mine.faiss-import").mkdir()
    (tmp_path / "mine.faiss-import" / "note").write_text("mine")
    said = quiver("import", "--url", url(server), "--collection", "mine", "--faiss", "x.idx", cwd=tmp_path, status=1)
    assert "mine.faiss-import exists" in said
    assert (tmp_path / "mine.faiss-import" / "note").read_text() == "mine"


def test_uuids_become_row_numbers_if_asked(server, tmp_path):
    server.put("/collections/uuids", {"vectors": {"size": 2, "distance": "Euclid"}}).result
    points = [{"id": f"00000000-0000-4000-8000-00000000000{i}", "vector": [i, 1]} for i in range(3)]
    server.put("/collections/uuids/points?wait=true", {"points": points}).result
    export = ["export", "--url", url(server), "--collection", "uuids", "--faiss", "Flat", "--out", "u.faiss"]
    assert "--row-numbers" in quiver(*export, cwd=tmp_path, status=1)
    assert not list(tmp_path.iterdir()), "nothing was exported before that was found"
    quiver(*export, "--row-numbers", cwd=tmp_path)
    quiver("import", "--url", url(server), "--collection", "numbers", "--faiss", "u.faiss", cwd=tmp_path)
    assert stored(server, "numbers") == {i: [i, 1] for i in range(3)}
    said = quiver("export", "--url", url(server), "--collection", "uuids", "--row-numbers", "--out", "x.jsonl", cwd=tmp_path, status=2)
    assert "--faiss" in said


def test_a_wrong_number_of_vectors_is_told(server, tmp_path):
    quiver("export", "--url", url(server), "--collection", "some", "--faiss", "IVF8,Flat", "--vectors", "v",
           "--out", "n.faiss", cwd=tmp_path)
    file = tmp_path / "n.faiss"
    bytes_ = bytearray(file.read_bytes())
    bytes_[8:16] = (12345).to_bytes(8, "little")  # behind four letters and the dimension
    file.write_bytes(bytes_)
    said = quiver("import", "--url", url(server), "--collection", "n", "--faiss", "v=n.faiss", cwd=tmp_path, status=1)
    assert "states 12345 vectors and holds 784" in said
