"""Every configuration key has an effect that is visible from outside: CHECKS has an entry for each.

A check compares a server with the key's default and one with another value. The output of `--print-config` does
not count. Keys that do not affect each other share a server.
"""
import base64
import contextlib
import copy
import functools
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import tomllib
from pathlib import Path

import grpc
import pytest
from patience import comes_true, patience
from ports import free_port, three_free_ports
from quiver_cluster import HAS_ETCD
from quiver_server import Server, binary
from test_access import Certificates, TlsServer, token
from trace_collector import Collector

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("QUIVER__", "OTEL_"))}
VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}

# Settings of the shared servers; all others have their defaults.
GROUPS = {
    "usual": {},
    "changed": {
        "storage.max_shard_number": 2,
        "storage.max_open_collections": 1,
        "storage.strict_mode": '{"enabled": true, "search_max_batchsize": 100}',
        "service.enable_cors": "true",
        "service.io_threads": 3,
        "service.max_request_size_mb": 1,
        "service.max_header_kb": 1,
        "service.metrics_prefix": "mine_",
        "service.compress_above_kb": 1,
        "console.enabled": "false",
        "threads.compute": 3,
        "threads.background": 5,
        "compat.identity": "qdrant",
    },
    "impatient": {"service.max_connections": 3, "service.keep_alive_timeout_s": 0.5, "service.read_timeout_s": 0.5},
    "hurried": {"service.query_timeout_s": 0.001},
    "keys": {"service.api_key": "writer", "service.alt_api_key": "other", "service.read_only_api_key": "reader", "service.jwt_rbac": "true"},
}
# Segments are sealed only by their number of rows.
BY_ROWS = {"optimizer.idle_seal_s": 1e6, "optimizer.seal_rows": 300}


class Servers:
    """Shared servers by group, started at first use, and servers that a check makes for itself."""

    def __init__(self, root):
        self.root = root
        self.shared = {}
        self.all = []

    def new(self, settings):
        args = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        self.all.append(Server(self.root / f"data{len(self.all)}", args=args))
        return self.all[-1].start()

    def __getitem__(self, group):
        if group not in self.shared:
            self.shared[group] = self.new(GROUPS[group])
        return self.shared[group]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    servers = Servers(tmp_path_factory.mktemp("keys"))
    yield servers
    for server in servers.all:
        server.close()


def threads(server, name):
    """Ids of the threads with this name."""
    tasks = Path(f"/proc/{server.process.pid}/task")
    return [task.name for task in tasks.iterdir() if (task / "comm").read_text().startswith(name)]


def cpu_s(server, name):
    ids = threads(server, name)
    return sum(int(Path(f"/proc/{server.process.pid}/task/{i}/schedstat").read_text().split()[0]) for i in ids) / 1e9


def ask(connection, request):
    """All bytes until the server ends the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        connection.sendall(request)
        while part := connection.recv(1 << 16):
            received += part
    return received


def upsert(server, name, first, last, size=2, text=""):
    points = [{"id": i, "vector": [float(i)] * size, "payload": {"text": text} if text else {}} for i in range(first, last)]
    answer = server.put(f"/collections/{name}/points?wait=true", {"points": points})
    assert answer.status == 200, answer.text


def segments(server):
    """The sealed segments on disk, of all collections."""
    return server.files("collections/*/shard-0/segments/*")


def rows_of_segments(server, name):
    """Row counts of the sealed segments, once no optimization runs."""
    path = f"/collections/{name}/optimizations?with=idle_segments,completed,queued"
    assert comes_true(lambda: server.get(f"/collections/{name}").result["status"] == "green")
    return sorted(segment["points_count"] for segment in server.get(path).result["idle_segments"])


def work(server, name):
    """Names of the optimizer's finished work."""
    return {done["optimizer"] for done in server.get(f"/collections/{name}/optimizations?with=completed").result["completed"]}


# Storage.


def check_place(servers):
    """storage.data_dir, service.host, service.http_port: flags of other tests set them too."""
    directory, port = servers.root / "elsewhere", free_port()
    settings = {"storage.data_dir": directory, "service.host": "127.0.0.2", "service.http_port": port}
    command = [str(binary()), "serve"] + [f"--set={key}={value}" for key, value in settings.items()]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert f"http://127.0.0.2:{port}" in process.stdout.readline()
        assert str(directory) in process.stdout.readline()
        with socket.create_connection(("127.0.0.2", port), timeout=patience(10)) as connection:
            assert b"healthz check passed" in ask(connection, b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=patience(10))
        assert (directory / "LOCK").exists()
    finally:
        process.kill()
        process.communicate()


def check_block_cache(servers):
    """Rows that are replayed after a restart are read through the cache."""
    held = {}
    for size in (1, 64):
        server = servers.new({"storage.block_cache_mb": size, "storage.write_buffer_mb": 1})
        server.put("/collections/c", VECTORS)
        for first in range(0, 4000, 500):
            upsert(server, "c", first, first + 500, text="x" * 2000)
        server.stop()
        server.start()
        assert server.get("/collections/c").result["points_count"] == 4000
        held[size] = server.metric("storage_block_cache_bytes")
        server.close()
    assert held[1] < 2 << 20 < 4 << 20 < held[64], held


def check_write_buffer(servers):
    tables = {}
    for size in (1, 64):
        server = servers.new({"storage.write_buffer_mb": size})
        server.put("/collections/c", VECTORS)
        for first in range(0, 2000, 500):
            upsert(server, "c", first, first + 500, text="x" * 2000)
        if size == 64:
            assert server.metric("storage_write_buffer_bytes") > 3 << 20
        else:  # full buffers are written in the background
            assert comes_true(lambda: server.metric("storage_write_buffer_bytes") < 3 << 20)
        tables[size] = len(server.files("collections/**/*.sst"))
        server.close()
    assert tables[1] > 0 and tables[64] == 0


def check_max_queued(servers):
    """When many updates arrive at once, some find the queue full."""
    def statuses(size):
        server = servers.new({"storage.max_queued_mb": size})
        server.put("/collections/c", VECTORS)
        body = json.dumps({"points": [{"id": 1, "vector": [1, 2], "payload": {"text": "x" * 900_000}}]}).encode()
        found = set()

        def write():
            deadline = time.monotonic() + patience(3)
            for _ in range(20):
                if 429 not in found and time.monotonic() < deadline:
                    found.add(server.request("PUT", "/collections/c/points?wait=true", body).status)

        writers = [threading.Thread(target=write) for _ in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        server.close()
        return found

    assert statuses(1) == {200, 429}
    assert statuses(64) == {200}


def check_max_open_collections(servers):
    """Metrics show the open collections."""
    for group, prefix, n_open in ("usual", "", 3), ("changed", "mine_", 1):
        server = servers[group]
        for i in range(3):
            server.put(f"/collections/open{i}", VECTORS)
        is_open = [server.metric(f"{prefix}collection_segments", id=f"open{i}") for i in range(3)]
        text = server.get("/metrics").text
        assert sum(f'id="open{i}"' in text for i in range(3)) == n_open, is_open


def check_close_idle(servers):
    """Of more collections than always stay open, those that nobody asks for are closed, soon or after a minute."""
    def is_open(settings):
        server = servers.new(settings)
        for i in range(68):
            server.put(f"/collections/idle{i:02}", VECTORS)
        return server, lambda: server.get("/metrics").text.count('collection_points{id="idle')
    _, n_open = is_open({"storage.close_idle_s": 0.5})
    assert comes_true(lambda: n_open() == 64)
    server, n_open = is_open({"storage.close_idle_s": 0})
    time.sleep(2)
    assert n_open() == 68
    server.stop()


def check_memory_limit(servers):
    assert servers["usual"].metric("memory_limit_bytes") > 64 << 20
    server = servers.new({"memory.limit_mb": 100})
    assert server.metric("memory_limit_bytes") == 100 << 20
    server.put("/collections/c", {"vectors": {"size": 4096, "distance": "Dot"}})
    # As one update, several copies of 17 MiB do not fit.
    points = [{"id": i, "vector": [i % 7] * 4096} for i in range(1100)]
    answer = server.put("/collections/c/points?wait=true", {"points": points})
    assert answer.status == 507, f"{answer.status} {answer.text[:300]}"
    assert "no memory for" in answer.error and "`memory.limit_mb` is 100.0 MiB" in answer.error
    # Free memory is returned to the system at most twice a second.
    answers = []

    def takes_few():
        answers.append(server.put("/collections/c/points?wait=true", {"points": points[:10]}))
        return answers[-1].status == 200

    assert comes_true(takes_few), answers[-1].text


def check_huge_pages(servers):
    """Second codes of 4,096 x 2,200 are larger than 8 MiB."""
    def held(changes):
        server = servers.new({"optimizer.idle_seal_s": 0.05} | changes)
        server.put("/collections/c", {"vectors": {"size": 4096, "distance": "Dot"}})
        for first in range(0, 2200, 550):
            points = [{"id": i, "vector": [(i * j) % 7 for j in range(4096)]} for i in range(first, first + 550)]
            assert server.put("/collections/c/points?wait=true", {"points": points}).status == 200
        assert comes_true(lambda: server.get("/collections/c").result["indexed_vectors_count"] == 2200)
        n_bytes = server.metric("memory_held_bytes")
        server.stop()
        return n_bytes

    modes = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    has_huge_pages = modes.exists() and "[never]" not in modes.read_text()
    assert (held({}) > 8 << 20) == has_huge_pages
    # Room for one copy: that of the build has ended when the index is opened for searches.
    assert (held({"memory.huge_pages_mb": 14}) > 8 << 20) == has_huge_pages
    assert held({"memory.huge_pages_mb": 0}) == 0


def check_strict_mode(servers):
    for group, expected in ("usual", None), ("changed", {"enabled": True, "search_max_batchsize": 100}):
        servers[group].put("/collections/strict", VECTORS)
        assert servers[group].get("/collections/strict").result["config"].get("strict_mode_config") == expected


def check_max_shard_number(servers):
    body = VECTORS | {"shard_number": 3}
    assert servers["usual"].put("/collections/shards", body).status == 200
    refused = servers["changed"].put("/collections/shards", body)
    assert refused.status == 422 and "from 1 to 2; `storage.max_shard_number`" in refused.error


def check_record_queries(servers):
    kept = {}
    for value in ("true", "false"):
        server = servers.new({"storage.record_queries": value})
        server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}})
        server.put("/collections/c/points?wait=true", {"points": [{"id": 1, "vector": [[1, 2], [3, 4]]}]})
        assert len(server.post("/collections/c/points/query", {"query": [[1, 2]]}).result["points"]) == 1
        server.stop()
        kept[value] = server.files("collections/*/queries-*")
    assert kept["true"] and not kept["false"]


def check_watch_recall(servers):
    for value in ("true", "false"):
        server = servers.new({"storage.watch_recall": value})
        server.put("/collections/c", VECTORS)
        server.post("/collections/c/points/query", {"query": [1, 2], "params": {"recall": .9}}).result
        [field] = server.get("/v1/collections/c/recall").result["fields"]
        assert (field["watch"]["next"]["state"] == "never") == (value == "false")


def check_snapshots_dir(servers):
    server = servers.new({"storage.snapshots_dir": str(servers.root / "snapshots")})
    server.put("/collections/c", VECTORS)
    name = server.post("/collections/c/snapshots").result["name"]
    assert (servers.root / "snapshots/c" / name / "manifest.json").is_file()
    assert server.put("/collections/d/snapshots/recover",
                      {"location": f"file://{servers.root}/snapshots/c/{name}"}).result is True


def check_scrub(servers):
    server = servers.new({"scrub.period_s": 0.05, "optimizer.idle_seal_s": 0.05})
    assert comes_true(lambda: server.get("/v1/scrub").result["passes"] >= 3)
    server.stop()
    slow = servers.new({"scrub.period_s": 0, "scrub.mb_per_s": 4, "optimizer.idle_seal_s": 0.05})
    slow.put("/collections/c", {"vectors": {"size": 1024, "distance": "Dot"}})
    slow.put("/collections/c/points?wait=true",
             {"points": [{"id": i, "vector": [float(i)] * 1024} for i in range(1100)]}).result
    assert comes_true(lambda: slow.get("/collections/c").result["indexed_vectors_count"] == 1100)
    assert slow.get("/v1/scrub").result["passes"] == 0
    began = time.monotonic()
    wanted = slow.post("/v1/scrub").result["done_after_passes"]
    assert comes_true(lambda: slow.get("/v1/scrub").result["passes"] >= wanted)
    read = slow.get("/v1/scrub").result["pass_bytes"]
    assert read > 4 << 20 and time.monotonic() - began >= read / (4 << 20) - 0.5


# Service.


def check_snapshot_urls(servers):
    body = {"location": "http://localhost:1/x"}
    server = servers.new({"service.enable_snapshot_url_recovery": "false"})
    assert server.put("/collections/c/snapshots/recover", body).status == 403
    assert servers["usual"].put("/collections/c/snapshots/recover", body).status == 400


def check_snapshot_url_hosts(servers):
    body = {"location": "http://quiver.invalid/x"}
    server = servers.new({"service.snapshot_url_hosts": "a,quiver.invalid"})
    assert server.put("/collections/c/snapshots/recover", body).status == 400
    assert servers["usual"].put("/collections/c/snapshots/recover", body).status == 403


def check_api_key(servers):
    assert servers["usual"].get("/collections").status == 200
    assert servers["keys"].get("/collections").status == 401
    assert servers["keys"].put("/collections/key", VECTORS, headers={"api-key": "writer"}).status == 200


def check_alt_api_key(servers):
    assert servers["keys"].delete("/collections/none", headers={"api-key": "other"}).status == 200


def check_jwt_rbac(servers):
    headers = {"api-key": token({"access": "r"}, "writer")}
    assert servers["keys"].get("/collections", headers=headers).status == 200
    assert servers.new({"service.api_key": "writer"}).get("/collections", headers=headers).status == 401


def check_compress_above(servers):
    asks = {"accept-encoding": "gzip"}
    assert "content-encoding" in servers["changed"].get("/metrics", headers=asks).headers
    assert "content-encoding" not in servers["usual"].get("/aliases", headers=asks).headers


@functools.cache
def check_tls(servers):
    """Files are demanded and used: test_access.py looks closer."""
    certificates = Certificates(servers.root / "certificates")
    certificates.sign("server")
    certificates.sign("client")
    settings = {"service.verify_https_client_certificate": "true", "tls.ca_cert": certificates.path("ca.pem"), "tls.cert_ttl_s": 0}
    server = TlsServer(servers.root / "tls", certificates, settings, client="client")
    servers.all.append(server.start())
    serial = server.serial()
    certificates.sign("server")
    assert server.serial() == serial, "0: changed files are not loaded"


@functools.cache
def check_audit(servers):
    folder = servers.root / "audit"
    folder.mkdir()
    for year in range(1990, 1999):
        (folder / f"audit-{year}-01-01.jsonl").write_text("")
    servers.new({"audit.enabled": "true", "audit.dir": folder, "audit.max_log_files": 2}).get("/collections")
    assert len(list(folder.iterdir())) == 2 and (folder / "audit-1998-01-01.jsonl").exists()
    assert any('"GET /collections"' in file.read_text() for file in folder.iterdir())
    assert not servers["usual"].files("audit/*")


def check_read_only_api_key(servers):
    reader = {"api-key": "reader"}
    assert servers["keys"].get("/collections", headers=reader).status == 200
    assert servers["keys"].put("/collections/other", VECTORS, headers=reader).status == 403


def check_enable_cors(servers):
    assert "access-control-allow-origin" in servers["changed"].get("/healthz").headers
    assert "access-control-allow-origin" not in servers["usual"].get("/healthz").headers


def check_console(servers):
    assert servers["usual"].get("/dashboard/").status == 200
    assert servers["changed"].get("/dashboard/").status == 404


def check_io_threads(servers):
    assert len(threads(servers["changed"], "http-io-")) == 3
    assert len(threads(servers["usual"], "http-io-")) == max(1, os.cpu_count() // 2)


def check_max_request_size(servers):
    body = b" " * ((1 << 20) + 1)
    assert servers["changed"].request("POST", "/collections/none/points/count", body).status == 413
    assert servers["usual"].request("POST", "/collections/none/points/count", body).status == 404


def check_max_header(servers):
    headers = {"x": "y" * 2000}
    assert servers["changed"].get("/healthz", headers=headers).status == 431
    assert servers["usual"].get("/healthz", headers=headers).status == 200


def check_max_connections(servers):
    for group, refused in ("impatient", True), ("usual", False):
        with contextlib.ExitStack() as stack:
            last = [stack.enter_context(servers[group].connect()) for _ in range(6)][-1]
            answer = ask(last, b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 503" if refused else b"HTTP/1.1 200"), answer


def is_closed_within(server, seconds, request=b""):
    with server.connect() as connection:
        connection.settimeout(seconds)
        connection.sendall(request)
        try:
            return connection.recv(1) == b""
        except TimeoutError:
            return False


def is_closed_at_last(server, request=b""):
    """The server may have refused the connection: it had not seen yet that those of another test are closed."""
    return comes_true(lambda: is_closed_within(server, patience(5), request), 5)


def check_keep_alive_timeout(servers):
    assert is_closed_at_last(servers["impatient"])
    assert not is_closed_within(servers["usual"], 2.5)


def check_read_timeout(servers):
    assert is_closed_at_last(servers["impatient"], b"GET /healthz")
    assert not is_closed_within(servers["usual"], 2.5, b"GET /healthz")


def check_query_timeout(servers):
    vectors = {"size": 256, "distance": "Dot"}
    batch = {"searches": [{"query": [0.5] * 256, "limit": 10, "params": {"exact": True}}] * 200}
    for group, status in ("hurried", 408), ("usual", 200):
        servers[group].put("/collections/slow", {"vectors": vectors})
        upsert(servers[group], "slow", 0, 1000, size=256)
        assert servers[group].post("/collections/slow/points/query/batch", batch).status == status
        assert servers[group].post("/collections/slow/points/query/batch?timeout=60", batch).status == 200


def check_max_wait(servers):
    """One thread, and more batches at once than ten: a part of them is refused unless any wait is allowed."""
    vectors = {"size": 256, "distance": "Dot"}
    # Clients must be faster than the server, so all of them send the same bytes, and few for the work that they make.
    batch = json.dumps({"searches": [{"query": [0.5] * 256, "limit": 1, "params": {"exact": True}}] * 50}).encode()

    def statuses(settings):
        server = servers.new({"threads.compute": 1} | settings)
        server.put("/collections/slow", {"vectors": vectors})
        for first in range(0, 8000, 2000):
            upsert(server, "slow", first, first + 2000, size=256)
        found, barrier = [], threading.Barrier(48)

        def send():
            barrier.wait()
            for _ in range(3):
                found.append(server.request("POST", "/collections/slow/points/query/batch", batch).status)

        clients = [threading.Thread(target=send) for _ in range(48)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        return set(found)

    assert statuses({"service.max_wait_ms": 1}) == {200, 429}
    assert statuses({"service.max_wait_ms": 0}) == {200}


def check_shutdown_grace(servers):
    """The server waits, or does not wait, for a client that does not read its answer."""
    def stop_beside_a_slow_reader(grace_s):
        server = servers.new({"service.shutdown_grace_s": grace_s})
        server.put("/collections/c", VECTORS)
        upsert(server, "c", 1, 2, text="x" * (20 << 20))
        with server.connect() as slow:
            slow.sendall(b"GET /collections/c/points/1 HTTP/1.1\r\n\r\n")
            assert slow.recv(1) == b"H"
            server.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(1.5)
            ended = server.process.poll() is not None
            rest = ask(slow, b"")
        assert server.process.wait(patience(10)) == 0
        return ended, len(rest) > 20 << 20

    assert stop_beside_a_slow_reader(60) == (False, True)
    assert stop_beside_a_slow_reader(0) == (True, False)


def check_inline_body(servers):
    """A large body is decoded on the thread that read it, or on another."""
    body = json.dumps({"points": list(range(10, 300_000))}).encode()
    share = {}
    for limit_kb in (64, 1 << 20):
        server = servers.new({"service.inline_body_kb": limit_kb, "service.io_threads": 1})
        server.put("/collections/c", VECTORS)
        upsert(server, "c", 1, 2)
        for _ in range(5):
            assert server.request("POST", "/collections/c/points/delete", body).status == 200
        inline, other = cpu_s(server, "http-io-"), cpu_s(server, "compute") + cpu_s(server, "expensive")
        share[limit_kb] = inline / (inline + other)
        server.close()
    assert share[64] < 0.6 < share[1 << 20], share


def check_metrics_prefix(servers):
    assert "\nmine_rest_open_connections " in servers["changed"].get("/metrics").text
    assert "\nrest_open_connections " in servers["usual"].get("/metrics").text


# gRPC.


@functools.cache
def check_grpc(servers):
    port = free_port()
    server = servers.new({"grpc.port": port, "grpc.host": "127.0.0.2", "grpc.reflection": "true"})
    with socket.create_connection(("127.0.0.2", port)):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    name = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    with grpc.insecure_channel(f"127.0.0.2:{port}") as channel:
        listed = b"".join(channel.stream_stream(name)(iter([b"\x3a\x00"]), timeout=patience(10)))
    assert b"qdrant.Points" in listed and server.alive()


# Threads.


def check_compute_threads(servers):
    assert len(threads(servers["changed"], "compute")) == 3
    assert len(threads(servers["usual"], "compute")) == os.cpu_count()


def check_background_threads(servers):
    assert len(threads(servers["changed"], "background")) == 5
    assert len(threads(servers["usual"], "background")) == max(2, os.cpu_count())


# The optimizer.


def optimized(servers, settings, fill):
    """A server with one collection, filled by `fill`."""
    server = servers.new(settings)
    server.put("/collections/c", VECTORS)
    fill(server)
    return server


def check_seal_rows(servers):
    def fill(server):
        upsert(server, "c", 0, 250)

    few = optimized(servers, {"optimizer.idle_seal_s": 1e6, "optimizer.seal_rows": 100}, fill)
    assert comes_true(lambda: segments(few))
    many = optimized(servers, BY_ROWS, fill)
    assert segments(many) == [] and work(many, "c") == set()


def check_seal_mb(servers):
    def fill(server):
        upsert(server, "c", 0, 1000, text="x" * 2000)

    small = optimized(servers, {"optimizer.idle_seal_s": 1e6, "optimizer.seal_mb": 1}, fill)
    assert comes_true(lambda: segments(small))
    large = optimized(servers, {"optimizer.idle_seal_s": 1e6, "optimizer.seal_mb": 64}, fill)
    assert segments(large) == []


def check_idle_seal(servers):
    def fill(server):
        upsert(server, "c", 0, 1000)

    soon = optimized(servers, {"optimizer.idle_seal_s": 0.01}, fill)
    assert comes_true(lambda: segments(soon))
    late = optimized(servers, {"optimizer.idle_seal_s": 1e6}, fill)
    time.sleep(1.5)
    assert segments(late) == []


def check_max_segments(servers):
    def fill(server):
        for first in (0, 300):
            upsert(server, "c", first, first + 300)

    for most, sizes in (1, [600]), (8, [300, 300]):
        server = optimized(servers, BY_ROWS | {"optimizer.max_segments": most}, fill)
        assert comes_true(lambda: rows_of_segments(server, "c") == sizes), rows_of_segments(server, "c")


def fill_four(server):
    """Makes four segments of equal size, which merge."""
    for first in range(0, 1200, 300):
        upsert(server, "c", first, first + 300)


def check_max_segment_rows(servers):
    for most, sizes in (1000, [300, 900]), (5000, [1200]):
        server = optimized(servers, BY_ROWS | {"optimizer.max_segment_rows": most}, fill_four)
        assert comes_true(lambda: rows_of_segments(server, "c") == sizes), rows_of_segments(server, "c")


def check_max_threads(servers):
    for n, sizes in (0, [300] * 4), (-1, [1200]):
        server = optimized(servers, BY_ROWS | {"optimizer.max_threads": n}, fill_four)
        assert comes_true(lambda: rows_of_segments(server, "c") == sizes), rows_of_segments(server, "c")
        assert ("merge" in work(server, "c")) == (n != 0)


def fill_and_delete(server):
    """Deletes a third of a sealed segment. The seal of the next segment shows that the optimizer has seen the deletes."""
    upsert(server, "c", 0, 300)
    assert comes_true(lambda: work(server, "c") == {"seal"})
    server.post("/collections/c/points/delete?wait=true", {"points": list(range(100))})
    upsert(server, "c", 300, 600)


def check_vacuum(servers, key, often, seldom):
    usual = BY_ROWS | {"optimizer.vacuum_min_rows": 10}
    cleaned = optimized(servers, usual | {key: often}, fill_and_delete)
    assert comes_true(lambda: rows_of_segments(cleaned, "c") == [200, 300]) and "vacuum" in work(cleaned, "c")
    left = optimized(servers, usual | {key: seldom}, fill_and_delete)
    assert comes_true(lambda: len(rows_of_segments(left, "c")) == 2) and work(left, "c") == {"seal"}


def check_deleted_threshold(servers):
    check_vacuum(servers, "optimizer.deleted_threshold", 0.1, 0.9)


def check_vacuum_min_rows(servers):
    check_vacuum(servers, "optimizer.vacuum_min_rows", 10, 1000)


# The log and the server's identity.


def log_of_stop(servers, settings):
    server = servers.new(settings)
    server.stop()
    return server.log.read_text()


def check_log_level(servers):
    assert "stopping" not in log_of_stop(servers, {"log.level": "error"})
    assert "stopping" in log_of_stop(servers, {"log.level": "info"})


def check_log_format(servers):
    def is_json(line):
        return line.startswith("{") and "stopping" in json.loads(line)["message"]

    assert any(is_json(line) for line in log_of_stop(servers, {"log.format": "json"}).splitlines())
    assert not any(is_json(line) for line in log_of_stop(servers, {"log.format": "text"}).splitlines())


def check_log_requests(servers):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requests.jsonl"
        server = servers.new({"log.requests": str(file)})
        server.get("/collections")
        server.stop()
        assert any(json.loads(line)["endpoint"] == "/collections" for line in file.read_text().splitlines())


def check_log_slow(servers):
    def log_of(slow_ms):
        server = servers.new({"log.slow_ms": slow_ms})
        server.get("/collections")
        server.stop()
        return server.log.read_text()

    assert "slow request: GET /collections" in log_of("0.00001")
    assert "slow request" not in log_of("60000")


@functools.cache
def check_tracing(servers):
    """Keys of `tracing` with a collector in this process; more is in test_tracing.py."""
    def traced(collector, **settings):
        server = servers.new({"tracing.endpoint": collector.url} | {f"tracing.{key}": value for key, value in settings.items()})
        for _ in range(200):
            server.get("/collections")
        return server

    with Collector() as collector:
        server = traced(collector, interval_s=0.02, service_name="mine", headers="api-key=x")
        assert comes_true(lambda: len(collector.named("GET /collections")) == 200)
        assert collector.spans[0].resource["service.name"] == "mine" and collector.posts[0][1]["api-key"] == "x"
        server.stop()
    with Collector() as collector:
        traced(collector, interval_s=3600, sample_ratio=0.5).stop()
        assert 20 < len(collector.named("GET /collections")) < 180 and collector.spans[0].resource["service.name"] == "quiver"
        assert len(collector.posts) == 1, "they waited for the end"
    with Collector(status=None) as collector:
        server = traced(collector, interval_s=0.02, timeout_s=0.1, max_queued_spans=10)
        assert comes_true(lambda: server.metric("tracing_posts_failed_total") > 0), "the timeout is usually 10 s"
        assert server.metric("tracing_spans_dropped_total", reason="queue_full") > 100
    assert "no PEM file with certificates" in log_of_tracing(servers, {"tracing.ca_cert": "/no/such.pem"})
    assert "no PEM file with certificates" not in log_of_tracing(servers, {})


def log_of_tracing(servers, settings):
    """What the log says of a collector that speaks no TLS."""
    with Collector() as collector:
        server = servers.new({"tracing.endpoint": collector.url.replace("http:", "https:"), "tracing.interval_s": 0.02} | settings)
        assert comes_true(lambda: server.metric("tracing_posts_failed_total") > 0)
        return server.log.read_text()


def check_identity(servers):
    assert servers["changed"].get("/").json["title"].startswith("qdrant ")
    assert servers["usual"].get("/").json["title"].startswith("quiver ")


@functools.cache
def check_gpu(servers):
    """All keys of `gpu`, over an emulated device; see test_gpu.py."""
    def devices(settings):
        server = servers.new({"optimizer.seal_rows": 300, "optimizer.idle_seal_s": 0.05} | settings)
        return server, server.get("/v1/gpu").result

    server, report = devices({"gpu.module": "/no/such/module.so"})
    assert report["devices"] == [] and "/no/such/module.so" in report["reason"]
    server, report = devices({"gpu.devices": "off"})
    assert "off" in report["reason"]
    checked = {}
    for share in (0, 1):
        server, report = devices({"gpu.devices": "emulated", "gpu.min_mb": 0, "gpu.check_share": share})
        server.put("/collections/c", VECTORS)
        upsert(server, "c", 0, 1000)

        def is_checked(server=server):
            server.post("/collections/c/points/query", {"query": [1, 2], "params": {"exact": True}})
            device = server.get("/v1/gpu").result["devices"][0]
            assert device["different_queries"] == 0
            return device["checked_queries"] > 0

        checked[share] = comes_true(is_checked, idle_s=10 if share == 1 else 0.2)
    assert checked == {0: False, 1: True}
    loaded = {}
    for smallest in (0, 1):
        server, report = devices({"gpu.devices": "emulated", "gpu.memory_mb": 3 + smallest, "gpu.min_mb": smallest})
        assert report["devices"][0]["memory_bytes"] == (3 + smallest) << 20
        server.put("/collections/c", VECTORS)
        upsert(server, "c", 0, 1000)
        query = {"query": [1, 2], "params": {"exact": True}}

        def is_loaded(server=server):
            server.post("/collections/c/points/query", query)
            return server.get("/v1/gpu").result["devices"][0]["resident_parts"] > 0

        loaded[smallest] = comes_true(is_loaded, idle_s=10 if smallest == 0 else 0.2)
    assert loaded == {0: True, 1: False}
    for build in (False, True):
        server, _ = devices({"gpu.devices": "emulated", "gpu.min_mb": 0, "gpu.build": str(build).lower(),
                             "optimizer.seal_rows": 3000, "optimizer.idle_seal_s": 3600})
        server.put("/collections/c", {"vectors": {"size": 16, "distance": "Cosine"}, "shard_number": 1,
                                      "hnsw_config": {"full_scan_threshold": 1}})
        server.patch("/v1/collections/c/indexes", {"build": {"": {"graph": "always"}}})
        rng = random.Random(5)
        points = [{"id": i, "vector": [rng.gauss(0, 1) for _ in range(16)]} for i in range(3000)]
        server.put("/collections/c/points?wait=true", {"points": points})

        def has_graph(server=server):
            indexes = server.get("/v1/collections/c/indexes").result["indexes"]
            return any("links" in index.get("facts", index) for index in indexes)

        assert comes_true(has_graph, idle_s=60), server.get("/v1/collections/c/indexes").result
        n_queries = server.get("/v1/gpu").result["devices"][0]["queries"]
        assert (n_queries > 0) == build, n_queries


@functools.cache
def check_cluster(servers):
    """Two clusters of one node: one brings the ledger of both. What needs several nodes is in test_cluster*.py."""
    if not HAS_ETCD:
        pytest.skip("etcd is not installed")
    peer, client_port, other = three_free_ports(), three_free_ports(), three_free_ports()
    address = f"127.0.0.1:{peer}"
    first = servers.new({"cluster.peers": address, "cluster.advertise": address, "cluster.secret": "s", "cluster.name": "mine",
                         "cluster.advertise_http": "http://127.0.0.1:1", "cluster.ledger_client_port": client_port,
                         "cluster.ledger_peer_port": client_port + 1, "cluster.lease_s": 7, "cluster.ca_cert": "none",
                         "cluster.apply_timeout_s": 1, "cluster.log_keep_entries": 100, "cluster.replace_after_s": 60})
    second = servers.new({"cluster.peers": f"127.0.0.1:{other}", "cluster.ledger": f"http://127.0.0.1:{client_port}"})
    member, = first.get("/cluster").result["nodes"]
    assert member["peer"] == address and member["http"] == "http://127.0.0.1:1"
    assert servers["usual"].get("/cluster").result == {"status": "disabled"}
    for port in client_port, client_port + 1:
        socket.create_connection(("127.0.0.1", port), timeout=patience(10)).close()
    for port, status in (peer, 403), (other, 500):
        answer = at_port(second, port).post("/internal/v1/no-verb", b"x")
        assert answer.status == status, answer.text
    ledger = at_port(first, client_port)
    for name in "mine", "quiver":
        keys = [base64.b64encode(f"/quiver/{name}{end}".encode()).decode() for end in "/0"]
        assert int(ledger.post("/v3/kv/range", {"key": keys[0], "range_end": keys[1]}).json["count"]) > 0
    leases = [lease["ID"] for lease in ledger.post("/v3/lease/leases", {}).json["leases"]]
    assert {ledger.post("/v3/lease/timetolive", {"ID": lease}).json["grantedTTL"] for lease in leases} == {"7", "3"}


def at_port(server, port):
    """Talks to another port of a server's process."""
    other = copy.copy(server)
    other.port, other._local = port, threading.local()
    return other


CHECKS = {
    "storage.data_dir": check_place,
    "storage.block_cache_mb": check_block_cache,
    "storage.write_buffer_mb": check_write_buffer,
    "storage.max_queued_mb": check_max_queued,
    "storage.max_open_collections": check_max_open_collections,
    "storage.close_idle_s": check_close_idle,
    "storage.max_shard_number": check_max_shard_number,
    "storage.record_queries": check_record_queries,
    "storage.watch_recall": check_watch_recall,
    "storage.strict_mode": check_strict_mode,
    "storage.snapshots_dir": check_snapshots_dir,
    "memory.limit_mb": check_memory_limit,
    "memory.huge_pages_mb": check_huge_pages,
    "scrub.mb_per_s": check_scrub,
    "scrub.period_s": check_scrub,
    "service.host": check_place,
    "service.http_port": check_place,
    "service.api_key": check_api_key,
    "service.alt_api_key": check_alt_api_key,
    "service.read_only_api_key": check_read_only_api_key,
    "service.jwt_rbac": check_jwt_rbac,
    "service.enable_tls": check_tls,
    "service.verify_https_client_certificate": check_tls,
    "service.compress_above_kb": check_compress_above,
    "grpc.port": check_grpc,
    "grpc.host": check_grpc,
    "grpc.reflection": check_grpc,
    "tls.cert": check_tls,
    "tls.key": check_tls,
    "tls.ca_cert": check_tls,
    "tls.cert_ttl_s": check_tls,
    "audit.enabled": check_audit,
    "audit.dir": check_audit,
    "audit.max_log_files": check_audit,
    "service.enable_cors": check_enable_cors,
    "service.io_threads": check_io_threads,
    "service.max_request_size_mb": check_max_request_size,
    "service.max_header_kb": check_max_header,
    "service.max_connections": check_max_connections,
    "service.keep_alive_timeout_s": check_keep_alive_timeout,
    "service.read_timeout_s": check_read_timeout,
    "service.query_timeout_s": check_query_timeout,
    "service.max_wait_ms": check_max_wait,
    "service.shutdown_grace_s": check_shutdown_grace,
    "service.enable_snapshot_url_recovery": check_snapshot_urls,
    "service.snapshot_url_hosts": check_snapshot_url_hosts,
    "service.inline_body_kb": check_inline_body,
    "service.metrics_prefix": check_metrics_prefix,
    "threads.compute": check_compute_threads,
    "threads.background": check_background_threads,
    "optimizer.deleted_threshold": check_deleted_threshold,
    "optimizer.vacuum_min_rows": check_vacuum_min_rows,
    "optimizer.seal_mb": check_seal_mb,
    "optimizer.seal_rows": check_seal_rows,
    "optimizer.max_segment_rows": check_max_segment_rows,
    "optimizer.max_segments": check_max_segments,
    "optimizer.idle_seal_s": check_idle_seal,
    "optimizer.max_threads": check_max_threads,
    "gpu.build": check_gpu,
    "gpu.check_share": check_gpu,
    "gpu.devices": check_gpu,
    "gpu.module": check_gpu,
    "gpu.memory_mb": check_gpu,
    "gpu.min_mb": check_gpu,
    "log.level": check_log_level,
    "log.format": check_log_format,
    "log.requests": check_log_requests,
    "log.slow_ms": check_log_slow,
    "tracing.endpoint": check_tracing,
    "tracing.sample_ratio": check_tracing,
    "tracing.service_name": check_tracing,
    "tracing.headers": check_tracing,
    "tracing.ca_cert": check_tracing,
    "tracing.timeout_s": check_tracing,
    "tracing.interval_s": check_tracing,
    "tracing.max_queued_spans": check_tracing,
    "console.enabled": check_console,
    "compat.identity": check_identity,
    "cluster.peers": check_cluster,
    "cluster.advertise": check_cluster,
    "cluster.advertise_http": check_cluster,
    "cluster.secret": check_cluster,
    "cluster.ca_cert": check_cluster,
    "cluster.ledger": check_cluster,
    "cluster.ledger_client_port": check_cluster,
    "cluster.ledger_peer_port": check_cluster,
    "cluster.name": check_cluster,
    "cluster.lease_s": check_cluster,
    "cluster.apply_timeout_s": check_cluster,
    "cluster.log_keep_entries": check_cluster,
    "cluster.replace_after_s": check_cluster,
}


def test_every_key_has_a_check():
    printed = subprocess.run([binary(), "serve", "--print-config"], capture_output=True, check=True, text=True, env=ENVIRONMENT)
    keys = {f"{section}.{key}" for section, values in tomllib.loads(printed.stdout).items() for key in values}
    assert keys == set(CHECKS)
    assert len({key.split(".")[0] for key in keys}) == 15


@pytest.mark.parametrize("key", CHECKS)
def test_a_key_changes_something(servers, key):
    CHECKS[key](servers)
