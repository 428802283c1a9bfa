"""Too many clients, too many shards, clients that never finish: the server keeps serving the others."""
import contextlib
import re
import time

from patience import comes_true

VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}


def read_all(connection):
    """All bytes until the server ends the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            received += part
    return received


def test_idle_clients_leave_storage_its_files(new_server, name):
    sizes = {"QUIVER__STORAGE__WRITE_BUFFER_MB": "1", "QUIVER__OPTIMIZER__SEAL_MB": "1", "QUIVER__OPTIMIZER__SEAL_ROWS": "200"}
    server = new_server(env=sizes, max_open_files=256).start()
    assert server.metric("process_max_fds") == 256
    assert "service.max_connections is 64 in place of 10000" in server.log_tail()
    server.put(f"/collections/{name}", VECTORS)
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(300)]
        assert comes_true(lambda: server.metric("rest_open_connections") == 64)
        refusal = read_all(idle[-1])
        assert refusal.startswith(b"HTTP/1.1 503 ") and b"too many open connections" in refusal
        assert server.metric("process_open_fds") < 256 - 64
        for first in range(0, 4000, 200):
            points = [{"id": i, "vector": [i, 1], "payload": {"text": "x" * 1000}} for i in range(first, first + 200)]
            answer = server.put(f"/collections/{name}/points?wait=true", {"points": points})
            assert answer.status == 200, answer.text
        assert comes_true(lambda: server.files("collections/*/shard-0/segments/*"))
        assert comes_true(lambda: server.files("collections/**/*.sst"))
        info = server.get(f"/collections/{name}").result
        assert (info["points_count"], info["optimizer_status"]) == (4000, "ok")
        time.sleep(1)  # a log line every 50 ms would be noticed
    lines = server.log.read_text().splitlines()
    assert len(lines) < 20, lines[:40]
    assert len([line for line in lines if "turned away" in line]) == 1
    assert comes_true(lambda: server.metric("rest_open_connections") == 1)
    with server.connect() as again:
        again.sendall(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")
        assert read_all(again).startswith(b"HTTP/1.1 200 ")
    server.stop()


def test_a_stop_does_not_wait_for_what_has_not_arrived(new_server, name):
    server = new_server(args=["--set", "service.shutdown_grace_s=60"]).start()
    server.put(f"/collections/{name}", VECTORS)
    path = f"/collections/{name}/points/count".encode()
    with server.connect() as half_head, server.connect() as half_body, server.connect() as idle:
        half_head.sendall(b"POST " + path)
        half_body.sendall(b"POST " + path + b" HTTP/1.1\r\ncontent-length: 10\r\n\r\n{")
        assert comes_true(lambda: server.metric("rest_open_connections") == 4)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 50
        for connection in half_head, half_body:
            assert b"the server is closing" in read_all(connection)
        assert read_all(idle) == b""


def memory_mb(server):
    """Private memory of the process, without mapped files."""
    status = open(f"/proc/{server.process.pid}/status").read()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024


def test_shards_are_bounded_and_give_their_memory_back(new_server, name):
    server = new_server(args=["--set", "storage.max_shard_number=48"]).start()
    refused = server.put(f"/collections/{name}", VECTORS | {"shard_number": 49})
    assert refused.status == 422
    assert "shard_number: value 49 invalid, must be from 1 to 48; `storage.max_shard_number`" in refused.error
    server.put(f"/collections/{name}", VECTORS)
    assert server.delete(f"/collections/{name}").result is True
    before = memory_mb(server)
    assert server.put(f"/collections/{name}", VECTORS | {"shard_number": 48}).result is True
    grown = memory_mb(server) - before
    assert server.delete(f"/collections/{name}").result is True
    assert grown > 5
    assert memory_mb(server) - before < grown / 3
    # Collections from before the limit still work.
    assert server.put(f"/collections/{name}", VECTORS | {"shard_number": 2}).result is True
    server.stop()
    server.args = ["--set", "storage.max_shard_number=1"]
    server.start()
    assert server.get(f"/collections/{name}").result["config"]["params"]["shard_number"] == 2
    server.stop()
