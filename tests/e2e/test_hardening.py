"""Backups that fail, are killed or meet damage; names that are not UTF-8; what strangers are told."""
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from patience import comes_true, patience
from quiver_server import binary

CONFIG = {"vectors": {"size": 2, "distance": "Dot"}}


def fill(server, name, first=0, n=50):
    if first == 0:
        server.put(f"/collections/{name}", CONFIG).result
    points = [{"id": i, "vector": [i, 1], "payload": {"n": i}} for i in range(first, first + n)]
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result


def backup(folder, *args, **kwargs):
    return subprocess.run([str(binary()), "backup", str(folder), *map(str, args)], capture_output=True, text=True,
                          timeout=patience(30), **kwargs)


def url_of(server):
    return f"http://127.0.0.1:{server.port}"


def names(server):
    return [s["name"] for s in server.get("/snapshots").result]


def test_a_snapshot_that_cannot_be_made_ends_the_backup(new_server, tmp_path):
    server = new_server().start()
    fill(server, "a")
    [segments] = (server.data_dir / "collections").glob("*/shard-0/segments")
    assert comes_true(lambda: server.post("/snapshots").status == 200)
    server.delete(f"/snapshots/{names(server)[0]}").result
    shelf = server.data_dir / "snapshots"
    for path in shelf.glob("*"):
        path.rmdir()
    shelf.rmdir()
    shelf.write_text("a file, not a folder")
    done = backup(tmp_path / "backups", "--url", url_of(server))
    assert done.returncode == 1 and "POST /snapshots" in done.stderr
    assert segments.is_dir()


def test_a_backup_takes_no_snapshot_of_others(new_server, tmp_path):
    server = new_server().start()
    fill(server, "a")
    made, stop = [], threading.Event()

    def make():
        while not stop.is_set():
            made.append(server.post("/snapshots").result["name"])
            time.sleep(0.02)

    other = threading.Thread(target=make)
    other.start()
    try:
        for _ in range(3):
            done = backup(tmp_path / "backups", "--url", url_of(server))
            assert done.returncode == 0, done.stderr
    finally:
        stop.set()
        other.join()
    assert sorted(made) == sorted(names(server))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_backup_leaves_no_snapshot(new_server, tmp_path, number):
    server = new_server().start()
    fill(server, "a", n=2000)
    folder = tmp_path / "backups"
    hit = False
    for _ in range(20):
        process = subprocess.Popen([str(binary()), "backup", str(folder), "--url", url_of(server)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not hit:
            hit = bool(names(server)) and (folder / ".snapshot").exists()
        process.send_signal(number)
        process.communicate(timeout=patience(30))
        if hit and (number == signal.SIGTERM or names(server)):
            break
        hit = False
    assert hit
    if number == signal.SIGKILL:
        done = backup(folder, "--url", url_of(server))
        assert done.returncode == 0, done.stderr
    assert names(server) == [] and not (folder / ".snapshot").exists()


def test_the_note_of_a_killed_backup_of_a_directory(new_server, tmp_path):
    server = new_server().start()
    fill(server, "a")
    left = server.post("/snapshots").result["name"]
    kept = server.post("/snapshots").result["name"]
    server.stop()
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / ".snapshot").write_text(json.dumps({"place": str(server.data_dir.resolve()), "name": left}))
    done = backup(folder, "--data-dir", server.data_dir)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in (server.data_dir / "snapshots").iterdir() if p.name.endswith(".snapshot")] == [kept]
    assert not (folder / ".snapshot").exists()


def test_damage_in_a_backup_does_not_enter_the_next(new_server, tmp_path):
    server = new_server().start()
    fill(server, "a")
    server.stop()
    folder = tmp_path / "backups"
    assert backup(folder, "--data-dir", server.data_dir).returncode == 0
    [file] = [p for p in folder.glob("*/files/**/*.sst")][:1] or [
        p for p in folder.glob("*/files/**/MANIFEST*")][:1]
    bytes = bytearray(file.read_bytes())
    bytes[len(bytes) // 2] ^= 1
    file.unlink()  # links elsewhere keep their bytes
    file.write_bytes(bytes)
    time.sleep(1.1)  # another name
    done = backup(folder, "--data-dir", server.data_dir)
    assert done.returncode == 0, done.stderr
    assert f"{file}` is damaged" in done.stderr
    restored = subprocess.run([str(binary()), "restore", str(folder), "--data-dir", str(tmp_path / "restored")],
                              capture_output=True, text=True)
    assert restored.returncode == 0, restored.stderr


def test_the_rest_of_a_failed_removal_does_not_hinder_the_next(new_server):
    server = new_server().start()
    fill(server, "a")
    made = server.post("/collections/a/snapshots").result["name"]
    rest = server.data_dir / "snapshots/a" / f"{made}*removed"
    rest.mkdir()
    (rest / "file").write_text("left")
    assert server.delete(f"/collections/a/snapshots/{made}").result is True
    assert not rest.exists() and server.get("/collections/a/snapshots").result == []


def test_long_names_have_snapshots(server):
    name = "n" * 255
    fill(server, name)
    made = server.post(f"/collections/{name}/snapshots").result
    assert [s["name"] for s in server.get(f"/collections/{name}/snapshots").result] == [made["name"]]
    assert len(server.get(f"/collections/{name}/snapshots/{made['name']}").body) == made["size"]
    assert server.put(f"/collections/{name}/snapshots/recover", {"location": made["name"]}).result is True
    assert server.delete(f"/collections/{name}/snapshots/{made['name']}").result is True
    server.delete(f"/collections/{name}").result


def raw(server, head, body=b""):
    with server.connect() as s:
        s.sendall(head + b"\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = b""
        while piece := s.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("name", [b"\xff", b"a\xc3", b"%ff", b"\xed\xa0\x80"])
def test_names_are_utf8(server, name):
    body = json.dumps(CONFIG).encode()
    status, answer = raw(server, b"PUT /collections/" + name + b" HTTP/1.1", body)
    assert status == 400 and "UTF-8" in json.loads(answer)["status"]["error"]
    status, answer = raw(server, b"GET /nowhere/" + name + b" HTTP/1.1")
    assert status == 404
    json.loads(answer)
    server.get("/collections").result


def test_control_characters_in_a_key_for_a_recovery(server, name):
    answer = server.put(f"/collections/{name}/snapshots/recover",
                        {"location": "http://127.0.0.1:1/x", "api_key": "a\r\nX-Evil: 1"})
    assert answer.status in (400, 422) and "control characters" in answer.error


def test_strangers_learn_no_names_from_readiness(new_server):
    env = {"QUIVER__SERVICE__API_KEY": "secret", "QUIVER__SERVICE__READ_ONLY_API_KEY": "reader"}
    server = new_server().start()
    fill(server, "hidden")
    server.stop()
    [log] = (server.data_dir / "collections/00000001/shard-0/rows").glob("*.log")
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    log.write_bytes(damaged)
    server.env.update(env)
    server.start(wait=False)
    server.wait_ready("/livez")
    assert comes_true(lambda: server.get("/readyz").status == 503)
    stranger = server.get("/readyz").text
    assert stranger == "some shards are not ready"
    assert server.get("/readyz", headers={"api-key": "wrong"}).text == stranger
    for key in ("secret", "reader"):
        assert "collection `hidden`" in server.get("/readyz", headers={"api-key": key}).text
    assert "hidden" in server.log.read_text() and os.path.exists(log)
