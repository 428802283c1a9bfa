"""Servers for the scripts of this folder: one that runs at a URL, or one of a script's own."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
from pathlib import Path

BINARY = Path(os.environ.get("QUIVER_BINARY", Path(__file__).resolve().parent.parent / "build/release/quiver"))
TIMEOUT_S = 1800


def import_vectors(binary, data_dir, collection, vectors, metrics=(), more=()):
    """Creates a collection in a directory that no server has open. `vectors`, `metrics`: as `quiver import` takes them."""
    command = [binary, "import", "--data-dir", data_dir, "--collection", collection, "--create", "--quiet", *more]
    for flag, values in (("--vectors", vectors), ("--metric", metrics)):
        command += [word for value in values for word in (flag, value)]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)


class Connection:
    """A connection that is kept, and opened again when it broke. One thread."""

    def __init__(self, url):
        self.url = url
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=TIMEOUT_S)

    def ask(self, method, path, body=None):
        """Returns (status, bytes). `body`: bytes as they are, anything else as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body)
        try:
            self.http.request(method, path, data, {} if data is None else {"Content-Type": "application/json"})
            answer = self.http.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.http.close()
            raise

    def raw(self, method, path, body=None):
        """The bytes of a successful answer."""
        status, found = self.ask(method, path, body)
        if status != 200:
            raise SystemExit(f"{method} {path}: {status} {found[:500]}")
        return found

    def __call__(self, method, path, body=None):
        """The `result` of a successful answer."""
        return json.loads(self.raw(method, path, body))["result"]

    def wait_until_green(self, collection):
        while self("GET", f"/collections/{collection}")["status"] != "green":
            time.sleep(.1)


class Server(Connection):
    """A process on `data_dir`, which need not exist, and a free port. Its log lies beside the directory."""

    def __init__(self, binary, data_dir, settings=(), prefix=(), env=None):
        """`settings`: section.key=value. `prefix`: words before the command, as `taskset -c 0`. `env`: more variables."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        super().__init__(f"http://127.0.0.1:{self.port}")
        command = [*prefix, str(binary), "serve", "--data-dir", str(data_dir), "--http", f"127.0.0.1:{self.port}"]
        for setting in settings:
            command += ["--set", setting]
        self.log = Path(f"{data_dir}.log")
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | (env or {}))
        while not self.is_ready():
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended: {self.said()}")
            time.sleep(.002)
        self.ready_s = time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def is_ready(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/readyz")[0] == 200
        return False

    def said(self):
        return self.log.read_text(errors="replace")[-2000:]

    def cpu_s(self):
        """CPU time of all its threads, also of those that have ended."""
        kernels_clock_of_a_process = ~self.process.pid << 3 | 2
        return time.clock_gettime(kernels_clock_of_a_process)

    def private_kib(self):
        return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def stop(self):
        """Ends the process by SIGTERM and returns how many seconds that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(120) != 0:
            raise SystemExit(f"exit status {self.process.returncode}: {self.said()}")
        return time.monotonic() - began
