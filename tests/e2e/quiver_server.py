"""A `quiver serve` process for tests: start, wait until ready, stop, kill -9, talk to it."""
import contextlib
import glob
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Servers are forked off while clients' threads run: gRPC must not try to take them over to the child.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from patience import patience  # noqa: E402
from ports import free_port  # noqa: E402
from qdrant_client import QdrantClient  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
# Settings with which little data makes many segments, so that sealing, merging and vacuuming run during the tests.
SMALL_SEGMENTS = {"QUIVER__OPTIMIZER__SEAL_ROWS": "40", "QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05",
                  "QUIVER__OPTIMIZER__MAX_SEGMENTS": "3", "QUIVER__OPTIMIZER__VACUUM_MIN_ROWS": "10"}
START_TIMEOUT_S = patience(60)
STOP_TIMEOUT_S = patience(30)
ANSWER_TIMEOUT_S = patience(60)
MAX_IDLE_S = 20


def clients_use_grpc():
    """Whether clients talk gRPC where they can: scripts/conformance sets it."""
    transport = os.environ.get("QUIVER_TEST_TRANSPORT", "rest")
    assert transport in ("rest", "grpc"), f"QUIVER_TEST_TRANSPORT is {transport}, must be rest or grpc"
    return transport == "grpc"


def binary():
    """The server under test: $QUIVER_BINARY, or the release build."""
    named = os.environ.get("QUIVER_BINARY")
    candidates = [Path(named)] if named else [REPOSITORY / "build/release" / p for p in ("quiver", "bin/quiver")]
    for path in candidates:
        if path.is_file():
            return path.resolve()
    raise FileNotFoundError(f"no server at {' or '.join(map(str, candidates))}: build it, or set QUIVER_BINARY")


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def result(self):
        """The `result` of a successful answer."""
        assert self.status == 200, f"{self.status} {self.text[:500]}"
        return self.json["result"]

    @property
    def error(self):
        """The text of an error answer."""
        return self.json["status"]["error"]


class Server:
    """One process on one data directory and one port. Restarting keeps both."""

    def __init__(self, data_dir, env=None, args=(), max_open_files=None, grpc=False, host="127.0.0.1", prefix=()):
        self.data_dir = Path(data_dir)
        self.host = host
        self.prefix = list(prefix)  # of the command
        self.port = free_port()
        grpc = grpc or clients_use_grpc()
        self.grpc_port = free_port() if grpc else None
        self.log = self.data_dir.with_name(self.data_dir.name + ".log")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("QUIVER__", "OTEL_"))} | (env or {})
        if grpc:
            self.env["QUIVER__GRPC__PORT"] = str(self.grpc_port)
        self.args = [str(a) for a in args]
        self.max_open_files = max_open_files  # hard limit; None: this process's limit
        self.process = None
        self.answer_timeout_s = ANSWER_TIMEOUT_S
        self._local = threading.local()

    def start(self, wait=True):
        command = self.prefix + [str(binary()), "serve", "--data-dir", str(self.data_dir),
                                 "--http", f"{self.host}:{self.port}"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command + self.args, env=self.env, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, preexec_fn=self._limit)
        if wait:
            self.wait_ready()
        return self

    def _limit(self):
        if self.max_open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.max_open_files, self.max_open_files))

    def wait_ready(self, path="/readyz"):
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"server ended with {self.process.returncode}:\n{self.log_tail()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", path).status == 200:
                    return
            time.sleep(0.02)
        raise AssertionError(f"not ready after {START_TIMEOUT_S} s:\n{self.log_tail()}")

    def stop(self):
        """Sends SIGTERM and checks that the exit status is 0."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP_TIMEOUT_S)
        assert status == 0, f"exit status {status} after SIGTERM:\n{self.log_tail()}"

    def kill9(self):
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def close(self):
        """Ends the process, whatever its state. For the end of a test."""
        if self.process is not None and self.process.poll() is None:
            self.kill9()

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def connect(self):
        """A raw socket, to send any bytes."""
        return socket.create_connection((self.host, self.port), timeout=self.answer_timeout_s)

    def metric(self, name, **labels):
        """The sum of the samples of `name` that have `labels`; 0 if there are none."""
        total = 0.0
        for line in self.get("/metrics").text.splitlines():
            if re.match(re.escape(name) + r"[ {]", line) and all(f'{k}="{v}"' in line for k, v in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def files(self, pattern):
        """Paths below the data directory that match `pattern`. The server may create and remove files meanwhile."""
        return glob.glob(pattern, root_dir=self.data_dir, recursive=True)

    def log_tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _connection(self):
        """This thread's connection; reopened after a pause, because servers close idle connections."""
        local, now = self._local, time.monotonic()
        if getattr(local, "connection", None) is None:
            local.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.answer_timeout_s)
        elif now - local.used > MAX_IDLE_S:
            local.connection.close()
        local.used = now
        return local.connection

    def request(self, method, path, body=None, headers=None):
        """Sends `body` (bytes as they are, anything else as JSON) over this thread's keep-alive connection."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | (headers or {}) if data is not None else headers or {}
        connection = self._connection()
        reused = connection.sock is not None
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException) as e:
            connection.close()
            # A server may close an idle connection at any time, so a request on a reused one is retried once,
            # but only if repeating it changes nothing.
            if reused and method == "GET" and not isinstance(e, TimeoutError):
                return self.request(method, path, body, headers)
            raise

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def put(self, path, body=None, **kwargs):
        return self.request("PUT", path, body, **kwargs)

    def post(self, path, body=None, **kwargs):
        return self.request("POST", path, body, **kwargs)

    def patch(self, path, body=None, **kwargs):
        return self.request("PATCH", path, body, **kwargs)

    def delete(self, path, **kwargs):
        return self.request("DELETE", path, **kwargs)

    def client(self, **kwargs):
        """An unmodified qdrant-client that talks to this server."""
        if clients_use_grpc():
            kwargs = {"prefer_grpc": True, "grpc_port": self.grpc_port} | kwargs
        return QdrantClient(url=f"http://{self.host}:{self.port}", check_compatibility=False, timeout=int(ANSWER_TIMEOUT_S), **kwargs)
