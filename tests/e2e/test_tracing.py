"""Traces: spans of requests reach a collector of OpenTelemetry, and a collector that fails hurts no request."""
import contextlib
import json
import subprocess
import time
from pathlib import Path

import grpc
import pytest
from patience import comes_true
from ports import free_port
from quiver_cluster import HAS_ETCD, Cluster
from quiver_server import Server, binary
from test_access import Certificates
from trace_collector import Collector

VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, NOT_SAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
SECRET = "hidden-word"


def settings(url, **others):
    keys = {"endpoint": url, "interval_s": 0.02} | others
    return {f"QUIVER__TRACING__{key.upper()}": str(value) for key, value in keys.items()}


@pytest.fixture
def collector():
    with Collector() as collector:
        yield collector


def one(collector, name, **wanted):
    """The span of this name, once it is there, whose attributes are these."""
    def found():
        return [span for span in collector.named(name)
                if all(span.attributes.get(key.replace("__", ".")) == value for key, value in wanted.items())]

    assert comes_true(found), [span.name for span in collector.spans]
    span, = found()
    return span


def with_points(server):
    server.put("/collections/books", VECTORS).result
    server.put("/collections/books/points?wait=true", {"points": [{"id": i, "vector": [i, 1]} for i in range(100)]}).result
    return server


def test_a_request_is_a_span_of_its_callers_trace(new_server, collector, tmp_path):
    log = tmp_path / "requests.jsonl"
    env = settings(collector.url, service_name="shop", headers=f"api-key={SECRET},x-team=a%20b", sample_ratio=0)
    server = with_points(new_server(env=env | {"QUIVER__LOG__REQUESTS": str(log), "QUIVER__LOG__SLOW_MS": "0.0001"}).start())
    headers = {"traceparent": SAMPLED, "tracestate": "vendor=1", "content-type": "application/json"}
    body = json.dumps({"query": [1, 2], "params": {"exact": True}}).encode()
    answer = server.request("POST", "/collections/books/points/query?timeout=9", body, headers)
    assert answer.status == 200 and answer.headers["traceparent"] == SAMPLED
    span = one(collector, "POST /collections/{collection_name}/points/query")
    assert (span.trace_id, span.parent_id, span.trace_state, span.kind) == (TRACE, PARENT, "vendor=1", "server")
    assert span.attributes == {
        "http.request.method": "POST", "http.route": "/collections/{collection_name}/points/query",
        "url.path": "/collections/books/points/query", "url.scheme": "http", "http.response.status_code": 200,
        "server.address": "127.0.0.1", "server.port": server.port,
        "db.system.name": "quiver", "db.collection.name": "books"}
    assert not span.is_error and span.flags == 0x301
    assert 0 <= span.end_ns - span.start_ns and abs(time.time_ns() - span.end_ns) < 3600e9
    children = collector.children(span)
    assert "Search" in [child.name for child in children]
    for child in children:
        assert child.trace_id == TRACE and child.kind == "internal"
        assert span.start_ns <= child.start_ns <= child.end_ns <= span.end_ns
    assert span.resource["service.name"] == "shop" and span.resource["service.version"]
    assert {"service.instance.id", "host.name"} <= span.resource.keys()
    assert len(collector.named(span.name)) == 1, "sample_ratio is 0"
    path, sent, _ = collector.posts[0]
    assert path == "/v1/traces" and sent["content-type"] == "application/x-protobuf"
    assert sent["api-key"] == SECRET and sent["x-team"] == "a b"
    server.stop()
    line, = [line for line in map(json.loads, log.read_text().splitlines()) if line["endpoint"].endswith("/query")]
    assert line["trace_id"] == TRACE and f"trace {TRACE}" in server.log.read_text()
    assert SECRET not in server.log.read_text() + log.read_text()


def test_a_trace_that_begins_here_is_in_the_log(new_server, collector, tmp_path):
    log = tmp_path / "requests.jsonl"
    server = new_server(env=settings(collector.url) | {"QUIVER__LOG__REQUESTS": str(log)}).start()
    with_points(server)
    assert server.get("/collections/missing").status == 404
    assert server.get("/no/such").status == 404
    created = one(collector, "PUT /collections/{collection_name}")
    written = one(collector, "PUT /collections/{collection_name}/points")
    missing = one(collector, "GET /collections/{collection_name}", http__response__status_code=404)
    nowhere = one(collector, "GET", http__response__status_code=404)
    assert created.parent_id == "" and created.flags == 0x101 and len(created.trace_id) == 32
    assert created.trace_id != written.trace_id
    assert [child.name for child in collector.children(created)] == ["Wait", "Work"]
    assert "Write" in [child.name for child in collector.children(written)]
    assert not missing.is_error and "error.type" not in missing.attributes, "4xx is the caller's error"
    assert "http.route" not in nowhere.attributes and nowhere.attributes["url.path"] == "/no/such"
    server.stop()
    logged = {line["trace_id"] for line in map(json.loads, log.read_text().splitlines())}
    assert {created.trace_id, written.trace_id, missing.trace_id, nowhere.trace_id} <= logged


def test_hostile_headers_begin_a_new_trace(new_server, collector):
    server = new_server(env=settings(collector.url)).start()
    for text in "x", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE.upper()}-{PARENT}-01", "00-" + "a" * 9000:
        assert server.get("/collections", headers={"traceparent": text, "tracestate": "a=1"}).status == 200
    assert comes_true(lambda: len(collector.named("GET /collections")) == 5)
    assert not [span for span in collector.named("GET /collections") if span.trace_id == TRACE or span.parent_id or span.trace_state]
    assert server.get("/collections", headers={"traceparent": NOT_SAMPLED}).status == 200
    with server.connect() as connection:
        connection.sendall(b"GET /\xff\xfe" + b"x" * 5000 + b" HTTP/1.1\r\nhost: \xff:99999\r\nconnection: close\r\n\r\n")
        assert b" 404 " in connection.makefile("rb").readline()
    strange = one(collector, "GET").attributes  # its texts are UTF-8, or this collector would have failed
    assert strange["url.path"].startswith("/\ufffd\ufffdx") and len(strange["url.path"]) == 256
    assert strange["server.address"] == "\ufffd:99999" and "server.port" not in strange
    assert len(collector.named("GET /collections")) == 5


def test_errors_of_the_server_are_marked(new_server, collector):
    server = new_server(env=settings(collector.url)).start()
    assert server.get("/logger").status == 501
    assert comes_true(lambda: [span for span in collector.spans if span.is_error])
    span = next(span for span in collector.spans if span.is_error)
    assert span.attributes["error.type"] == "501" and span.attributes["http.response.status_code"] == 501


def test_grpc_calls_are_spans(new_server, collector):
    server = with_points(new_server(env=settings(collector.url, sample_ratio=0), grpc=True).start())
    metadata = (("traceparent", SAMPLED), ("tracestate", "vendor=1"))
    count = b"\x0a\x05books"  # CountPoints: collection_name 1
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary("/qdrant.Points/Count")
        assert call(count, metadata=metadata)
        with pytest.raises(grpc.RpcError) as refused:
            call(b"\x0a\x07missing", metadata=metadata)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND
        call(count, metadata=(("traceparent", "x"),))
    span = one(collector, "qdrant.Points/Count", rpc__grpc__status_code=0)
    assert (span.trace_id, span.parent_id, span.trace_state, span.kind) == (TRACE, PARENT, "vendor=1", "server")
    assert span.attributes == {
        "rpc.system": "grpc", "rpc.service": "qdrant.Points", "rpc.method": "Count", "rpc.grpc.status_code": 0,
        "server.address": "127.0.0.1", "server.port": server.grpc_port,
        "db.system.name": "quiver", "db.collection.name": "books"}
    assert "Count" in [child.name for child in collector.children(span)]
    missing = one(collector, "qdrant.Points/Count", rpc__grpc__status_code=5)
    assert not missing.is_error and missing.attributes["db.collection.name"] == "missing"
    assert len(collector.named("qdrant.Points/Count")) == 2


def test_a_traceparent_that_is_none_is_audited_over_grpc(new_server, tmp_path):
    env = {"QUIVER__AUDIT__ENABLED": "true", "QUIVER__AUDIT__DIR": str(tmp_path / "audit")}
    server = with_points(new_server(env=env, grpc=True).start())
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        channel.unary_unary("/qdrant.Points/Count")(b"\x0a\x05books", metadata=(("traceparent", "x"),))
    lines = [json.loads(line) for file in (tmp_path / "audit").iterdir() for line in file.read_text().splitlines()]
    event, = [line for line in lines if line["verb"].endswith("Points/Count")]
    assert not event.get("trace_id")


def test_nothing_is_sent_unless_asked(new_server, collector):
    environment = {"QUIVER__TRACING__INTERVAL_S": "0.02"}
    server = new_server(env=environment).start()
    assert server.get("/collections", headers={"traceparent": SAMPLED}).status == 200
    assert "tracing_" not in server.get("/metrics").text
    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    assert "trace-export\n" not in [(task / "comm").read_text() for task in tasks]
    server.stop()
    assert collector.posts == []


def test_the_variables_of_opentelemetry_are_known(new_server, collector):
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}/", "OTEL_SERVICE_NAME": "otel",
            "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}", "QUIVER__TRACING__INTERVAL_S": "0.02"}
    server = new_server(env=base).start()
    server.get("/collections")
    span = one(collector, "GET /collections")
    assert span.resource["service.name"] == "otel"
    assert collector.posts[0][0] == "/v1/traces" and collector.posts[0][1]["api-key"] == SECRET


def print_config(environment):
    ran = subprocess.run([binary(), "serve", "--print-config"], env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_the_configuration_hides_secrets_and_names_sources():
    status, text = print_config({
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://general:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:4318/in",
        "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={SECRET}", "QUIVER__TRACING__SERVICE_NAME": "mine", "OTEL_SERVICE_NAME": "theirs"})
    assert status == 0 and SECRET not in text
    assert 'endpoint = "http://traces:4318/in"' in text and "environment OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" in text
    assert 'service_name = "mine"' in text and 'headers = "(hidden)"' in text
    status, text = print_config({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://general:4318", "OTEL_SDK_DISABLED": "true"})
    assert status == 0 and "general" not in text
    status, text = print_config({"QUIVER__TRACING__ENDPOINT": "collector:4317"})
    assert status != 0 and "tracing.endpoint" in text and "collector:4317" in text
    status, text = print_config({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"})
    assert status != 0 and "tracing.endpoint (environment OTEL_EXPORTER_OTLP_ENDPOINT)" in text
    status, text = print_config({"QUIVER__TRACING__ENDPOINT": "http://c", "QUIVER__TRACING__HEADERS": f"{SECRET}"})
    assert status != 0 and "tracing.headers" in text and SECRET not in text


def test_a_collector_that_is_down_costs_spans_only(new_server):
    port = free_port()
    server = new_server(env=settings(f"http://127.0.0.1:{port}/v1/traces", max_queued_spans=20)).start()
    for _ in range(100):
        assert server.get("/collections").status == 200
    assert comes_true(lambda: server.metric("tracing_posts_failed_total") >= 1)
    assert comes_true(lambda: server.get("/collections").status == 200
                      and server.metric("tracing_spans_dropped_total", reason="queue_full") > 0)
    with Collector(port=port) as collector:
        assert comes_true(lambda: server.get("/collections").status == 200 and server.metric("tracing_spans_exported_total") > 0)
        assert collector.spans
        server.stop()
    log = server.log.read_text()
    assert log.count("spans do not reach") == 1 and log.count("again,") == 1, log


@pytest.mark.parametrize("status", [400, 401, 500])
def test_what_a_collector_refuses_is_not_sent_again(new_server, status):
    with Collector(status=status) as collector:
        server = new_server(env=settings(collector.url)).start()
        assert server.get("/collections", headers={"traceparent": SAMPLED}).status == 200
        assert comes_true(lambda: server.metric("tracing_spans_dropped_total", reason="not_sent") >= 1)
        server.stop()
        assert len([span for span in collector.named("GET /collections") if span.trace_id == TRACE]) == 1
        assert f"status {status}" in server.log.read_text() and "spans reach" not in server.log.read_text()


def test_what_a_collector_may_take_later_is_sent_again(new_server):
    with Collector(status=503) as collector:
        server = new_server(env=settings(collector.url)).start()
        assert server.get("/collections", headers={"traceparent": SAMPLED}).status == 200
        assert comes_true(lambda: collector.posts)
        collector.status = 200
        assert comes_true(lambda: server.metric("tracing_spans_exported_total") >= 1)
        assert server.metric("tracing_spans_dropped_total") == 0
        server.stop()


def test_a_collector_that_is_silent_holds_nobody_up(new_server):
    with Collector(status=None) as collector:
        server = new_server(env=settings(collector.url, timeout_s=600, max_queued_spans=50)).start()
        assert comes_true(lambda: server.get("/collections").status == 200 and collector.posts)
        for _ in range(100):
            assert server.get("/collections").status == 200
        assert server.metric("tracing_spans_dropped_total", reason="queue_full") > 0
        server.stop()  # in less than the 600 s of a post


def test_the_last_spans_are_sent_at_the_end(new_server, collector):
    server = new_server(env=settings(collector.url, interval_s=3600)).start()
    assert server.get("/collections", headers={"traceparent": SAMPLED}).status == 200
    assert collector.posts == []
    server.stop()
    assert [span for span in collector.named("GET /collections") if span.trace_id == TRACE]


def test_a_collector_may_speak_tls(new_server, tmp_path):
    certificates = Certificates(tmp_path / "certificates")
    certificates.sign("collector")
    files = certificates.path("collector.pem"), certificates.path("collector.key")
    with Collector(certificate=files) as collector:
        trusting = new_server(env=settings(collector.url, ca_cert=certificates.path("ca.pem"))).start()
        assert trusting.get("/collections").status == 200
        one(collector, "GET /collections")
        others = new_server(env=settings(collector.url)).start()
        assert comes_true(lambda: others.metric("tracing_posts_failed_total") > 0)
        assert others.metric("tracing_spans_exported_total") == 0


@pytest.mark.skipif(not HAS_ETCD, reason="etcd is not installed")
def test_a_trace_joins_over_nodes(tmp_path, collector):
    cluster = Cluster(tmp_path, env=settings(collector.url, sample_ratio=0), grpc=True).start()
    with contextlib.closing(cluster):
        follower = cluster.followers()[0]
        headers = {"traceparent": SAMPLED, "tracestate": "vendor=1", "content-type": "application/json"}
        created = follower.request("PUT", "/collections/books", json.dumps(VECTORS).encode(), headers)
        assert created.status == 200, created.text
        check_hop(collector, "PUT /collections/{collection_name}")
        delete = b"\x0a\x05books"  # DeleteCollection: collection_name 1
        with grpc.insecure_channel(f"127.0.0.1:{follower.grpc_port}") as channel:
            channel.unary_unary("/qdrant.Collections/Delete")(delete, metadata=(("traceparent", SAMPLED), ("tracestate", "vendor=1")))
        check_hop(collector, "qdrant.Collections/Delete")


def check_hop(collector, name):
    """The node that was asked and the one that leads have a span each; the second's parent is the way to it."""
    assert comes_true(lambda: len(collector.named(name)) == 2), collector.spans
    first, second = sorted(collector.named(name), key=lambda span: span.parent_id != PARENT)
    assert first.parent_id == PARENT
    forward, = [child for child in collector.children(first) if child.name == "Forward"]
    assert comes_true(lambda: second.parent_id == forward.span_id)
    assert {first.trace_id, second.trace_id, forward.trace_id} == {TRACE} and forward.kind == "client"
    assert first.resource["service.instance.id"] != second.resource["service.instance.id"]
    assert first.trace_state == second.trace_state == "vendor=1"


def test_servers_are_told_apart(tmp_path, collector):
    servers = [Server(tmp_path / f"data{i}", env=settings(collector.url)).start() for i in range(2)]
    for server in servers:
        server.get("/collections")
        server.stop()
    assert len({span.resource["service.instance.id"] for span in collector.named("GET /collections")}) == 2
