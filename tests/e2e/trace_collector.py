"""A collector of traces for tests: takes what a server posts in OTLP over HTTP and reads the protobuf by itself."""
import ssl
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KINDS = {1: "internal", 2: "server", 3: "client"}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a protobuf message: {number: [value, …]}, messages and texts as bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == BYTES:
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        else:
            assert kind in (FIXED64, FIXED32), kind
            size = 8 if kind == FIXED64 else 4
            value, at = struct.unpack("<Q" if size == 8 else "<I", data[at:at + size])[0], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def attributes(messages):
    """KeyValue: key 1, value 2; AnyValue: text 1, number 3."""
    found = {}
    for message in messages:
        pair = fields(message)
        value = fields(pair[2][0])
        found[pair[1][0].decode()] = value[1][0].decode() if 1 in value else value[3][0]
    return found


@dataclass
class Span:
    trace_id: str
    span_id: str
    parent_id: str
    trace_state: str
    name: str
    kind: str
    start_ns: int
    end_ns: int
    attributes: dict
    is_error: bool
    flags: int
    resource: dict = field(repr=False)


def span_of(data, resource):
    found = fields(data)
    one = {number: values[0] for number, values in found.items()}
    status = fields(one.get(15, b""))
    return Span(one[1].hex(), one[2].hex(), one.get(4, b"").hex(), one.get(3, b"").decode(), one[5].decode(), KINDS[one[6]],
                one[7], one[8], attributes(found.get(9, [])), status.get(3) == [2], one[16], resource)


def spans_of(body):
    """All spans of an ExportTraceServiceRequest."""
    spans = []
    for resource_spans in map(fields, fields(body).get(1, [])):
        resource = attributes(fields(resource_spans[1][0])[1])
        for scope_spans in map(fields, resource_spans[2]):
            spans += [span_of(data, resource) for data in scope_spans[2]]
    return spans


class Collector:
    """Listens on a free port. `status` is what it answers with; None: nothing, for as long as it runs.

    `certificate`: PEM files with its certificate and its key; then it speaks TLS.
    """

    def __init__(self, port=0, status=200, certificate=None):
        self.status = status
        self.posts = []  # path, headers, body
        self._over = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.posts.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                if collector.status is None:
                    collector._over.wait()
                    self.close_connection = True
                    return
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        class HttpServer(ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = HttpServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def spans(self):
        """The spans of all posts, whatever the answer was."""
        return [span for _, _, body in list(self.posts) for span in spans_of(body)]

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    def children(self, span):
        return [other for other in self.spans if other.parent_id == span.span_id]

    def close(self):
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
