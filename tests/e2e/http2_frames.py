"""A bare HTTP/2 client: it can do what no library for gRPC would do."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without compression (RFC 7541, 6.2.2)."""
    assert len(name) < 127 and len(value) < 127
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(stream, path="/grpc.health.v1.Health/Check", end=False, **headers):
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers",
              "content-type": "application/grpc"} | {name.replace("_", "-"): value for name, value in headers.items()}
    if "method" in headers:
        fields[":method"] = fields.pop("method")
    block = b"".join(literal(name, value) for name, value in fields.items())
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block)


def message(text=b"", compressed=0):
    return bytes([compressed]) + struct.pack(">I", len(text)) + text


def body(stream, payload, end=True):
    pieces = [payload[i:i + 16384] for i in range(0, len(payload), 16384)] or [b""]
    return b"".join(frame(DATA, END_STREAM if end and i + 1 == len(pieces) else 0, stream, piece)
                    for i, piece in enumerate(pieces))


class Connection:
    def __init__(self, port, timeout, settings=b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def frames(self):
        """The frames that arrive, until the server closes the connection."""
        while True:
            while len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) < 9 + size:
                    break
                kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
                payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
                yield kind, flags, stream, payload
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return
            self.buffer += more

    def until_end_of(self, stream):
        """All frames up to the end of this stream."""
        seen = []
        for found in self.frames():
            seen.append(found)
            kind, flags, number, _ = found
            if number == stream and (kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM)):
                return seen
        raise AssertionError(f"the connection ended before stream {stream}: {seen}")
