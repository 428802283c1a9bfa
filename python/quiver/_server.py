"""A server process of its own: `quiver serve`, on a free port."""
from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from ._errors import QuiverError
from ._library import find

_POLL_S = 0.02
_STOP_S = 60


def binary() -> Path:
    """The server that this package brings along, or the one that QUIVER_BINARY names."""
    return find("quiver", "QUIVER_BINARY", "build/release/quiver")


class Server:
    """Starts a server and waits until it is ready; stops it at the end of a `with` block.

    data_dir: its data directory, which is created; None: a temporary one, removed when the server stops. settings: keys of
    docs/configuration.md, such as {"service.api_key": "secret"}. grpc: also listen for gRPC. port: 0 is any free one.
    log: a file that gets what the server prints; None: `server.log` in a temporary directory.
    """

    def __init__(self, data_dir: Union[None, str, os.PathLike[str]] = None, *,
                 settings: Optional[Mapping[str, Any]] = None, host: str = "127.0.0.1", port: int = 0, grpc: bool = False,
                 log: Union[None, str, os.PathLike[str]] = None, start_timeout: float = 60) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="quiver-")
        self.data_dir = Path(data_dir) if data_dir is not None else Path(self._temporary.name) / "data"
        self.log = Path(log) if log is not None else Path(self._temporary.name) / "server.log"
        self.host = host
        self.grpc_port: Optional[int] = _free_port(host) if grpc else None
        chosen = dict(settings or {})
        if grpc:
            chosen["grpc.port"] = self.grpc_port
        command = [str(binary()), "serve", "--data-dir", str(self.data_dir), "--http", f"{host}:{port}"]
        for name, value in chosen.items():
            command += ["--set", f"{name}={_text_of(value)}"]
        with open(self.log, "ab") as out:
            self._log_begin = out.tell()
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            self.url = self._wait(start_timeout)
        except BaseException:
            self.kill()
            self._temporary.cleanup()
            raise

    @property
    def port(self) -> int:
        """The port of HTTP."""
        return int(self.url.rsplit(":", 1)[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"quiver.Server({self.url!r})"

    def stop(self) -> None:
        """Ends the server in order: requests in flight are answered. Stopping again does nothing."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._temporary.cleanup()

    def kill(self) -> None:
        """Ends the server at once. Nothing that it acknowledged is lost."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _printed(self) -> str:
        with open(self.log, "rb") as file:
            file.seek(self._log_begin)
            return file.read().decode("utf-8", "replace")

    def _wait(self, timeout: float) -> str:
        """The URL, once the server answers that it is ready."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise QuiverError(f"the server ended with {self.process.returncode}:\n{self._printed()}")
            url = _listening_url(self._printed())
            if url is not None and _is_ready(url):
                return url
            time.sleep(_POLL_S)
        raise QuiverError(f"the server is not ready after {timeout} s:\n{self._printed()}")


def _listening_url(printed: str) -> Optional[str]:
    for line in printed.splitlines():
        if line.startswith("quiver ") and " listens on " in line:
            return line.rsplit(" ", 1)[1]
    return None


def _is_ready(url: str) -> bool:
    with contextlib.suppress(OSError, urllib.error.URLError):
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    return False


def _text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host.strip("[]"), 0))
        return int(probe.getsockname()[1])
