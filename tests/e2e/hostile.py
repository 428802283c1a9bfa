"""Requests that no honest client would send, over REST and gRPC, and what a server must do about them.

It answers each of them, or closes the connection of one that is not HTTP. No answer says that the fault is the
server's: no status from 500 on but 501 (not built), 503 and 507, and no INTERNAL or UNKNOWN. A collection that nobody
names keeps its answers, and the process its size.
"""
import json
import os
import random
import re
import socket
import string
import threading

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from http2_frames import Connection, body, frame, head, message
from qdrant_client.grpc import collections_service_pb2, points_service_pb2, snapshots_service_pb2

from patience import comes_true, patience
from quiver_server import REPOSITORY
from test_bad_input import CASES

VICTIM, WITNESS = "victim", "witness-of-all-this"
# Everything is small, so that clean-ups between the rounds find what must go.
ENV = {"QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.2", "QUIVER__LOG__LEVEL": "error", "QUIVER__STORAGE__MAX_SHARD_NUMBER": "4"}
ALLOWED = {501, 503, 507}
FORBIDDEN_CODES = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
SEARCHES = [f"/collections/{{collection_name}}/points/{what}" for what in ("query", "query/batch", "scroll", "count", "query/groups")]
NAMES = ["plain", "0", "1", "x1", "%2e%2e", "%00", "~" * 256, "%FF"]
NUMBERS = [0, -1, 1, 2, 0.5, -0.0, 1e38, 1e39, 1e308, -1e308, 5e-324, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1,
           2**64, -2**63, -2**63 - 1]
PIECES = [b"null", b"true", b"-", b"1e999", b"NaN", b"\xff", b"\x00", b"\\ud800", b"[[[[", b"]", b"{", b"}", b'"', b"\\", b",", b":",
          b"18446744073709551616", b"-1", b"0.1e-400", b'{"$sum":[', b"\xed\xa0\x80"]
N_POINTS_METHODS = len(points_service_pb2.DESCRIPTOR.services_by_name["Points"].methods)
BATCH = 16  # requests on a connection before their answers are read


def routes():
    """(method, path) of the server's handlers; any method for paths of which it is not told at once."""
    text = "".join(path.read_text() for path in sorted((REPOSITORY / "service/handlers").glob("*.cc")))
    named = [(method.upper(), path) for method, path in re.findall(r'Method::k(\w+),\s*"(/[^"\s]*)"', text)]
    paths = {path for _, path in named}
    others = [(method, path) for path in sorted(set(re.findall(r'"(/[^"\s]*)"', text)) - paths) for method in sorted(set(METHODS))]
    # Snapshots copy files, and take a hundred times as long as anything else.
    slow = [(method, path) for method, path in named + others if "snapshot" in path]
    return [each for each in named if each not in slow] * 8 + [each for each in others if each not in slow] + slow


def keys_of(value):
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in keys_of(item)}
    return {key for item in value for key in keys_of(item)} if isinstance(value, list) else set()


ROUTES = routes()
REQUESTS = [(method, path, body) for (method, path, body), _, _ in CASES.values() if not isinstance(body, bytes)]
KEYS = sorted(set().union(*(keys_of(body) for _, _, body in REQUESTS)) | {
    "formula", "sum", "mult", "div", "sqrt", "pow", "exp", "abs", "neg", "exp_decay", "geo_distance", "aggregate", "group_by",
    "bool", "text", "phrase", "text_any", "mmr", "diversity", "candidates_limit", "recommend", "positive", "negative", "strategy",
    "discover", "target", "context", "feedback", "rerank", "location", "checksum", "priority", "ttl", "shard_key",
    "with_lookup", "group_size", "hits", "datatype", "hnsw_config", "quantization", "optimizers_config", "wal_config"})
SEEDS = sorted(path.read_bytes()[1:] for path in (REPOSITORY / "tests/fuzz/corpus/body").iterdir())
TEXTS = [VICTIM, "", "image", "words", "tokens", "city", "n", "a[].b", "a..b", "x" * 300, "é", "\x00", "../..", "$score", "2024-01-01T00:00:00Z",
         "max_sim", "Cosine", "Dot", "keyword", "integer", "rrf", "dbsf", "550e8400-e29b-41d4-a716-446655440000", "asc", "uint8"]


class Rest:
    """Hostile requests, each as bytes."""

    def __init__(self, draw):
        self.draw = draw

    def value(self, depth=0):
        draw, kind = self.draw, self.draw.random()
        if depth > 5 or kind < 0.35:
            return draw.choice([None, True, False, draw.choice(NUMBERS), draw.choice(TEXTS), draw.random(), draw.randrange(40)])
        if kind < 0.6:
            return [self.value(depth + 1) for _ in range(draw.randrange(5))]
        return {draw.choice(KEYS): self.value(depth + 1) for _ in range(draw.randrange(6))}

    def changed(self, value):
        """The value with some parts replaced."""
        if self.draw.random() < 0.08:
            return self.value(3)
        if isinstance(value, dict):
            return {self.draw.choice(KEYS) if self.draw.random() < 0.04 else key: self.changed(item) for key, item in value.items()
                    if self.draw.random() > 0.03}
        if isinstance(value, list):
            items = [self.changed(item) for item in value if self.draw.random() > 0.03]
            return items * self.draw.choice([2, 50]) if self.draw.random() < 0.02 else items
        return value

    def request(self):
        draw, kind = self.draw, self.draw.random()
        if kind < 0.4:
            method, path, body = draw.choice(REQUESTS)
            body = json.dumps(self.changed(body)).encode() if body is not None else b""
        elif kind < 0.6:
            method, path = self.target()
            body = draw.choice(SEEDS)
        else:
            method, path = self.target()
            body = json.dumps(self.value()).encode()
        if draw.random() < 0.3:
            body = bitten(draw, body)
        if method == "DELETE" and path.count("/") == 2 and draw.random() < 0.98:
            method = "GET"  # or nearly all other requests would find nothing
        if draw.random() < 0.05:
            path += draw.choice(["?wait=true", "?timeout=1", "?timeout=-1", "?wait=%00", "?ordering=x", "?a=b&wait=maybe", "?%", "#x"])
        return method, path, with_head(method, path, body)

    def target(self):
        """Method and path."""
        method, path = self.draw.choice(ROUTES) if self.draw.random() < 0.6 else ("POST", self.draw.choice(SEARCHES))
        if self.draw.random() < 0.05:
            method = self.draw.choice(METHODS)
        return method, re.sub(r"{[^}]*}", lambda _: self.draw.choice([VICTIM] * 12 + NAMES), path)

    def not_http(self):
        """Bytes after which the server may do nothing but answer 4xx or close."""
        draw = self.draw
        good = with_head("POST", f"/collections/{VICTIM}/points/query", b'{"limit":1}')
        return draw.choice([
            lambda: draw.randbytes(draw.randrange(1, 400)),
            lambda: bitten(draw, good),
            lambda: good[:draw.randrange(len(good))],
            lambda: b"GET /" + b"a" * draw.randrange(100_000) + b" HTTP/1.1\r\n\r\n",
            lambda: b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * draw.randrange(5000) + b"\r\n",
            lambda: b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % draw.randrange(2**70),
            lambda: b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\nxy" % draw.randrange(-5, 2**66),
            lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + draw.randbytes(60)])()


def with_head(method, path, body):
    path = "".join(c if c in string.printable and not c.isspace() else "%20" for c in path)
    return (f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body


def bitten(draw, text):
    """Bytes changed, cut, doubled, exchanged with pieces."""
    text = bytearray(text)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice([1, 3, 20]))
        kind = draw.random()
        if kind < 0.3:
            text[at:end] = draw.randbytes(end - at)
        elif kind < 0.5:
            del text[at:end]
        elif kind < 0.7:
            text[at:at] = text[at:end] * draw.choice([1, 2, 30])
        else:
            text[at:end] = draw.choice(PIECES)
    return bytes(text)


class Answers:
    """Reads answers of pipelined requests from a socket."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")

    def next(self):
        """(status, body); None if the connection was closed."""
        try:
            line = self.file.readline()
            if not line:
                return None
            status, length, is_chunked = int(line.split(b" ")[1]), 0, False
            while (header := self.file.readline().strip().lower()):
                if header.startswith(b"content-length:"):
                    length = int(header[15:])
                is_chunked |= header.startswith(b"transfer-encoding:") and b"chunked" in header
            return status, self._chunks() if is_chunked else self.file.read(length)
        except ConnectionError:
            return None

    def _chunks(self):
        body = b""
        while size := int(self.file.readline(), 16):
            body += self.file.read(size)
            self.file.readline()
        self.file.readline()
        return body


class Grpc:
    """Random messages of every method, some of them bitten."""

    def __init__(self, draw):
        self.draw = draw
        # Methods of points first.
        files = (points_service_pb2, collections_service_pb2, snapshots_service_pb2)
        self.methods = [(f"/{service.full_name}/{method.name}", method.input_type) for file in files
                        for service in file.DESCRIPTOR.services_by_name.values() for method in service.methods]

    def request(self):
        path, kind = self.draw.choice(self.methods)
        if not path.startswith("/qdrant.Points/") and self.draw.random() < 0.9:
            path, kind = self.draw.choice(self.methods[:N_POINTS_METHODS])  # others take a hundred times as long
        filled = GetMessageClass(kind)()
        self.fill(filled, 0)
        data = filled.SerializeToString()
        return path, bitten(self.draw, data) if self.draw.random() < 0.3 else data

    def fill(self, filled, depth):
        for field in filled.DESCRIPTOR.fields:
            if depth == 0 and field.name == "collection_name":
                setattr(filled, field.name, VICTIM if self.draw.random() < 0.9 else "plain")
            elif self.draw.random() < (0.7 if depth < 2 else 0.25) and depth < 6:
                self.fill_field(filled, field, depth)

    def fill_field(self, filled, field, depth):
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            entries, (key, value) = getattr(filled, field.name), field.message_type.fields
            for _ in range(self.draw.randrange(3)):
                if value.message_type is not None:
                    self.fill(entries[self.scalar(key)], depth + 1)
                else:
                    entries[self.scalar(key)] = self.scalar(value)
        elif field.is_repeated if hasattr(field, "is_repeated") else field.label == FieldDescriptor.LABEL_REPEATED:
            for _ in range(self.draw.randrange(4)):
                if field.message_type is not None:
                    self.fill(getattr(filled, field.name).add(), depth + 1)
                else:
                    getattr(filled, field.name).append(self.scalar(field))
        elif field.message_type is not None:
            part = getattr(filled, field.name)
            part.SetInParent()
            self.fill(part, depth + 1)
        else:
            setattr(filled, field.name, self.scalar(field))

    def scalar(self, field):
        draw, kind = self.draw, field.cpp_type
        if kind == FieldDescriptor.CPPTYPE_STRING:
            return draw.choice(TEXTS) if field.type == FieldDescriptor.TYPE_STRING else draw.randbytes(draw.randrange(20))
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return draw.random() < 0.5
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return draw.choice([value.number for value in field.enum_type.values] * 4 + [99])
        if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
            return draw.choice([0.0, 1.0, -1.0, 0.5, 1e38, float("nan"), float("inf"), -1e-45, draw.random()])
        n_bits = 32 if kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32) else 64
        if kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64):
            return draw.choice([0, 1, -1, draw.randrange(40), 2**(n_bits - 1) - 1, -2**(n_bits - 1)])
        return draw.choice([0, 1, 2, draw.randrange(40), 2**n_bits - 1, 2**(n_bits - 1)])


class Hostile:
    """A server and its enemies. Each round sends requests that depend on the given random numbers only."""

    def __init__(self, server):
        self.server, self.counts, self.errors = server, {}, []
        self.lock = threading.Lock()
        server.start()
        server.put(f"/collections/{WITNESS}", {"vectors": {"size": 4, "distance": "Dot"}}).result
        points = [{"id": i, "vector": [i, 1, 2, 3], "payload": {"n": i}} for i in range(1, 200)]
        server.put(f"/collections/{WITNESS}/points?wait=true", {"points": points}).result
        self.make_victims()
        self.right = self.testimony()

    def testimony(self):
        ask = lambda path, body: self.server.post(f"/collections/{WITNESS}/points/{path}", body).result
        return [ask("query", {"query": [1, 2, 3, 4], "limit": 50, "with_payload": True}), ask("count", {}),
                ask("scroll", {"limit": 500, "with_vector": True})]

    def make_victims(self):
        """Makes those that are missing, which the requests may have changed otherwise."""
        self.server.put(f"/collections/{VICTIM}", {
            "vectors": {"image": {"size": 4, "distance": "Cosine"},
                        "tokens": {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}},
            "sparse_vectors": {"words": {}}})
        points = [{"id": k, "vector": {"image": [1, 2, 3, k], "tokens": [[k, 1], [1, k]], "words": {"indices": [k, 100], "values": [1, 2]}},
                   "payload": {"city": "Berlin", "n": k}} for k in range(1, 40)]
        self.server.put(f"/collections/{VICTIM}/points?wait=true", {"points": points})
        self.server.put("/collections/plain", {"vectors": {"size": 4, "distance": "Dot"}})

    def tidy(self):
        """Removes what the requests have made."""
        self.server.put("/quotas", {})
        for each in self.server.get("/collections").result["collections"]:
            if each["name"] != WITNESS:
                self.server.delete(f"/collections/{self.quoted(each['name'])}").result
        for each in self.server.get("/snapshots").result:
            self.server.delete(f"/snapshots/{each['name']}").result

    @staticmethod
    def quoted(name):
        return "".join(f"%{byte:02X}" for byte in name.encode())

    def round(self, draw, n_requests):
        """Sends about as many requests. Returns the numbers of answers by kind."""
        self.counts = {}
        shares = ((self.send_rest, 0.62), (self.send_grpc, 0.35), (self.send_bytes, 0.02), (self.send_frames, 0.01))
        threads = [threading.Thread(target=self.guarded, args=(send, draw.random(), int(n_requests * share)), daemon=True)
                   for send, share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self.server.alive(), f"the server ended:\n{self.server.log_tail()}"
        assert not self.errors, self.errors
        self.tidy()
        assert self.testimony() == self.right, "the witness has changed"
        self.make_victims()
        return self.counts

    def guarded(self, send, seed, n):
        try:
            send(random.Random(seed), n)
        except Exception as error:
            self.errors.append(f"{send.__name__}: {error!r}")

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def send_rest(self, draw, n):
        rest, connection = Rest(draw), None
        while n > 0:
            if connection is None:
                connection = self.server.connect()
                answers = Answers(connection)
            if draw.random() < 0.05:
                self.make_victims()
            requests = [rest.request() for _ in range(min(n, BATCH))]
            n -= len(requests)
            try:
                connection.sendall(b"".join(sent for _, _, sent in requests))
            except ConnectionError:
                pass  # the answers say why
            for method, path, sent in requests:
                answer = answers.next()
                if answer is None:
                    connection.close()
                    connection = None
                    break
                self.check_rest(answer, sent)

    def check_rest(self, answer, sent):
        status, text = answer
        self.count("REST")
        self.count(f"REST {status // 100}xx" if status < 500 else f"REST {status}")
        assert status < 500 or status in ALLOWED, f"{status} {text[:500]!r} after {sent!r}"

    def send_bytes(self, draw, n):
        rest = Rest(draw)
        for _ in range(n):
            sent = rest.not_http()
            with self.server.connect() as connection:
                try:
                    connection.sendall(sent)
                    if draw.random() < 0.8:
                        connection.shutdown(socket.SHUT_WR)
                        answer = Answers(connection).next()
                        if answer is not None and answer[0] >= 500:
                            assert answer[0] in ALLOWED | {505}, f"{answer} after {sent!r}"
                except OSError:
                    pass  # closed before all was sent
            self.count("broken HTTP")

    def send_grpc(self, draw, n):
        made = Grpc(draw)
        with grpc.insecure_channel(f"127.0.0.1:{self.server.grpc_port}") as channel:
            while n > 0:
                requests = [made.request() for _ in range(min(n, BATCH))]
                n -= len(requests)
                calls = [(path, data, channel.unary_unary(path).future(data, timeout=patience(60))) for path, data in requests]
                for path, data, call in calls:
                    self.check_grpc(path, data, call)

    def check_grpc(self, path, data, call):
        code = call.code()
        self.count("gRPC")
        self.count(f"gRPC {code.name}")
        assert code not in FORBIDDEN_CODES and code != grpc.StatusCode.DEADLINE_EXCEEDED, f"{code} {call.details()} after {path} {data!r}"

    def send_frames(self, draw, n):
        """Frames of HTTP/2 in any order, and bodies that are no messages."""
        for _ in range(n):
            sent = [head(1, path=draw.choice(["/qdrant.Points/Query", "/x", "/qdrant.Points/Upsert", "x"]))]
            for _ in range(draw.randrange(5)):
                sent.append(draw.choice([
                    lambda: body(1, message(draw.randbytes(draw.randrange(50)), draw.randrange(3)), end=draw.random() < 0.5),
                    lambda: frame(draw.randrange(12), draw.randrange(256), draw.randrange(5), draw.randbytes(draw.randrange(30))),
                    lambda: body(1, draw.randbytes(draw.randrange(50))),
                    lambda: head(draw.choice([1, 2, 3, 5]), end=draw.random() < 0.5)])())
            if draw.random() < 0.3:
                sent = [bitten(draw, b"".join(sent))]
            with Connection(self.server.grpc_port, patience(60)) as connection:
                try:
                    connection.send(*sent)
                    if draw.random() < 0.8:
                        connection.socket.shutdown(socket.SHUT_WR)
                        for _ in connection.frames():
                            pass
                except (BrokenPipeError, ConnectionError):
                    pass  # closed before all was sent
            self.count("broken HTTP/2")


def n_requests(counts):
    return sum(counts.get(kind, 0) for kind in ("REST", "gRPC", "broken HTTP", "broken HTTP/2"))


def size_of(server):
    """Private memory in MiB, and open files, of a server that is at rest."""
    comes_true(lambda: not any(server.get(f"/collections/{name}/optimizations").json.get("result", {}).get("running")
                               for name in (VICTIM, "plain")), idle_s=5)
    status = dict(line.split(":", 1) for line in open(f"/proc/{server.process.pid}/status") if ":" in line)
    return int(status["RssAnon"].split()[0]) / 1024, len(os.listdir(f"/proc/{server.process.pid}/fd"))
