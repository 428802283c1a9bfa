"""Clients of gRPC that misbehave, and connections that end."""
import contextlib
import socket
import threading

import grpc
import numpy as np
import pytest
from http2_frames import (DATA, GOAWAY, HEADERS, PING, RST_STREAM, Connection, body, frame, head, message)
from patience import comes_true
from qdrant_client import grpc as messages
from quiver_server import ANSWER_TIMEOUT_S, Server

DIM = 256


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("grpc") / "data", grpc=True).start()
    fill(server)
    yield server
    server.stop()


def fill(server, n=2000):
    random = np.random.default_rng(3)
    server.put("/collections/c", {"vectors": {"size": DIM, "distance": "Dot"}})
    server.put("/collections/c/points?wait=true", {"points": [
        {"id": i, "vector": random.standard_normal(DIM).round(3).tolist(), "payload": {"text": "x" * 2000}} for i in range(n)]})


def connect(server, **kwargs):
    return Connection(server.grpc_port, ANSWER_TIMEOUT_S, **kwargs)


def works(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        return messages.PointsStub(channel).Count(messages.CountPoints(collection_name="c"),
                                                  timeout=ANSWER_TIMEOUT_S).result.count > 0


def ask(server, **headers):
    """What the server answers to a health check with these headers: the bytes of its last headers."""
    with connect(server) as client:
        client.send(head(1, **headers), body(1, message()))
        return [payload for kind, _, stream, payload in client.until_end_of(1) if stream == 1 and kind == HEADERS][-1]


def test_http1_gets_an_answer_that_it_can_read(server):
    with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=ANSWER_TIMEOUT_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = b""
        while piece := client.recv(4096):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400") and b"takes gRPC" in answer
    assert len(answer.split(b"\r\n\r\n")[1]) == int(answer.split(b"content-length: ")[1].split(b"\r\n")[0])


def test_a_plain_call(server):
    with connect(server) as client:
        client.send(head(1), body(1, message()), head(3), body(3, message()))
        seen = client.until_end_of(3)
    assert [payload for kind, _, stream, payload in seen if kind == DATA and stream == 1 and payload] == [message(b"\x08\x01")]


def test_requests_that_are_no_calls(server):
    assert b"415" in ask(server, content_type="text/plain") and b"405" in ask(server, method="GET")
    for good in ["application/grpc", "application/grpc+proto", "application/grpc;x=y"]:
        assert b"grpc-message" not in ask(server, content_type=good)


def test_bad_framing_is_told(server):
    two = message(b"") + message(b"")
    for request in [two, b"", message(b"\0" * 5)[:-1], b"\0\0"]:
        with connect(server) as client:
            client.send(head(1), body(1, request))
            kinds = [(kind, flags & 1) for kind, flags, stream, _ in client.until_end_of(1) if stream == 1]
        assert kinds[0] == (HEADERS, 1), request  # an error comes without a message
    assert works(server)


def test_other_errors_of_calls(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        big = messages.CountPoints(collection_name="x" * 5000).SerializeToString()
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/qdrant.Points/Count")(big, compression=grpc.Compression.Deflate, timeout=ANSWER_TIMEOUT_S)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED and "deflate" in refused.value.details()
    with connect(server) as client:
        client.send(head(1, grpc_timeout="soon"), body(1, message()))
        kinds = [(kind, flags & 1) for kind, flags, stream, _ in client.until_end_of(1) if stream == 1]
    assert kinds == [(HEADERS, 1)]


def test_an_upload_that_is_refused_ends_early(server):
    with connect(server) as client:
        client.send(head(1, path="/qdrant.Points/Upsert"), frame(DATA, 0, 1, b"\0" + (1 << 31).to_bytes(4, "big")))
        seen = client.until_end_of(1)
        assert any(kind == HEADERS for kind, *_ in seen)
        client.send(head(3), body(3, message()))
        client.until_end_of(3)


def test_clients_that_leave(server):
    upload = head(1, path="/qdrant.Points/Upsert") + frame(DATA, 0, 1, b"\0" + (30 << 20).to_bytes(4, "big") + b"x" * 16000)
    query = messages.ScrollPoints(collection_name="c", limit=2000).SerializeToString()
    scroll = b"".join(head(i, path="/qdrant.Points/Scroll") + body(i, message(query)) for i in range(1, 41, 2))
    for i in range(60):
        with connect(server) as client:
            client.send(upload if i % 2 else scroll)
    assert works(server)


def test_calls_that_are_cancelled_at_once(server):
    """As in the attack that is called rapid reset: at most 2000 calls of a connection are there at a time."""
    query = messages.ScrollPoints(collection_name="c", limit=500).SerializeToString()
    with connect(server) as client:
        for i in range(1, 8001, 2):
            try:
                client.send(head(i, path="/qdrant.Points/Scroll"), body(i, message(query)), frame(RST_STREAM, 0, i, b"\0\0\0\x08"))
            except OSError:  # the server, or its library, has had enough
                break
        assert works(server)
    assert works(server)


def test_a_client_that_does_not_read(new_server):
    server = new_server(grpc=True, env={"QUIVER__SERVICE__READ_TIMEOUT_S": "2"}).start()
    fill(server)
    query = messages.ScrollPoints(collection_name="c", limit=2000, with_payload=messages.WithPayloadSelector(enable=True)).SerializeToString()
    window = b"\0\x04\x7f\xff\xff\xff"  # SETTINGS_INITIAL_WINDOW_SIZE: no limit of a stream
    for settings in [b"", window]:
        with connect(server, settings=settings) as client:
            for i in range(1, 41, 2):
                client.send(head(i, path="/qdrant.Points/Scroll"), body(i, message(query)))
            assert works(server)
            assert comes_true(lambda: server.metric("grpc_open_connections") == 0)
    server.stop()


def test_a_silent_client_is_asked_for_a_sign_of_life(new_server):
    server = new_server(grpc=True, env={"QUIVER__SERVICE__KEEP_ALIVE_TIMEOUT_S": "1"}).start()
    with connect(server) as client:
        assert next(kind for kind, flags, *_ in client.frames() if kind == PING) == PING
        client.send(head(1), body(1, message()))
        client.until_end_of(1)
    server.stop()


def test_connections_have_a_limit_over_both_transports(new_server):
    server = new_server(grpc=True, env={"QUIVER__SERVICE__MAX_CONNECTIONS": "3"}).start()
    with contextlib.ExitStack() as stack:
        served = 0
        for _ in range(5):
            client = stack.enter_context(connect(server))
            try:
                client.send(head(1), body(1, message()))
                client.until_end_of(1)
                served += 1
            except (AssertionError, OSError):
                pass
        assert 1 <= served <= 3  # the test's own connection by HTTP may be open
    assert comes_true(lambda: server.request("GET", "/collections").status == 200)
    server.stop()


def test_a_stop_lets_calls_end(new_server):
    server = new_server(grpc=True).start()
    fill(server)
    answers = []
    batch = messages.QueryBatchPoints(collection_name="c", query_points=[messages.QueryPoints(
        collection_name="c", query=messages.Query(nearest=messages.VectorInput(dense=messages.DenseVector(data=[1.0] * DIM))),
        params=messages.SearchParams(exact=True))] * 3000)
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel, connect(server) as idle:
        idle.send(head(1), body(1, message()))
        idle.until_end_of(1)
        stub = messages.PointsStub(channel)
        stub.Count(messages.CountPoints(collection_name="c"))
        n_begun = server.metric("request_wait_seconds_count", work="expensive")
        thread = threading.Thread(target=lambda: answers.append(len(stub.QueryBatch(batch).result)))
        thread.start()
        assert comes_true(lambda: server.metric("request_wait_seconds_count", work="expensive") > n_begun)
        server.stop()
        thread.join()
        assert GOAWAY in [kind for kind, *_ in idle.frames()]
    assert answers == [3000]
