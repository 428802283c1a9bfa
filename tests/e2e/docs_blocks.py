"""The code blocks of the documentation, and how each is run. test_docs.py runs them.

A comment on the line before a block says how, where its language does not:

    <!-- run: no: REASON -->          it is not run
    <!-- run: POST /path -->          JSON: it is the body of this request
    <!-- run: answer -->              JSON: the last answer has these members, whatever their values
    <!-- run: equal -->               JSON: the result of the last answer is this
    <!-- given: NAME, NAME -->        what must be there before: a function of docs_states.py

Blocks of `sh` are run by bash, where `curl` fails at an error of the server and `quiver serve` stops when it is ready;
of `python` in one session for each page; of `toml` as a configuration; of `http` as a request line, a body, and, behind
an empty line, an answer as for `run: answer`.
"""
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from patience import patience
from ports import free_port
from quiver_server import REPOSITORY, binary

MARK = re.compile(r"<!-- (run|given): (.*?) -->")
# The README has no room for marks: its blocks by how they begin.
MARKS_OF_README = {"make demo": "no: it builds for minutes; scripts/demo is run by hand"}
LANGUAGES = ("sh", "json", "python", "toml", "http")
BLOCK_TIMEOUT_S = patience(60)


@dataclass
class Block:
    page: str
    line: int  # of the first line of its text
    language: str
    text: str
    run: str = ""
    given: list = field(default_factory=list)

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def reason_not_to_run(self):
        return self.run.removeprefix("no:").strip() if self.run.startswith("no") else None


def blocks_of(page):
    """The fenced blocks of a Markdown file, in order."""
    blocks, marks, language = [], {}, None
    for number, line in enumerate((REPOSITORY / page).read_text(encoding="utf-8").splitlines(), 1):
        if language is None and (mark := MARK.fullmatch(line.strip())):
            marks[mark[1]] = mark[2]
        elif line.startswith("```") and language is None:
            language, first, lines = line[3:].strip(), number + 1, []
        elif line.startswith("```"):
            given = [name.strip() for name in marks.get("given", "").split(",") if name.strip()]
            run = marks.get("run", "")
            if page == "README.md":
                run = next((how for start, how in MARKS_OF_README.items() if lines[0].startswith(start)), run)
            blocks.append(Block(page, first, language, "\n".join(lines) + "\n", run, given))
            marks, language = {}, None
        elif language is not None:
            lines.append(line)
        elif line.strip():
            assert not marks, f"{page}:{number}: a mark must stand right before its block"
    assert language is None, f"{page}: a block has no end"
    return blocks


def pages():
    """All pages with blocks, as paths in the repository."""
    files = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [p.relative_to(REPOSITORY).as_posix() for p in files if "\n```" in p.read_text(encoding="utf-8")]


def check_shape(wanted, found, place):
    """Each member of `wanted` is in `found`, with a value of the same kind."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), f"{place}: wanted an object, found {found!r}"
        for name, value in wanted.items():
            assert name in found, f"{place}: no member {name!r} in {sorted(found)}"
            check_shape(value, found[name], f"{place}.{name}")
    elif isinstance(wanted, list):
        assert isinstance(found, list), f"{place}: wanted an array, found {found!r}"
        for value, other in zip(wanted, found):
            check_shape(value, other, place + "[]")
    else:
        kinds = [float if isinstance(v, int) and not isinstance(v, bool) else type(v) for v in (wanted, found)]
        assert kinds[0] == kinds[1], f"{place}: wanted {wanted!r} or the like, found {found!r}"


CURL = """#!/bin/bash
set -o pipefail
/usr/bin/curl -sS --fail-with-body "$@" | tee {last}
"""
# `serve` ends when the server is ready, with its exit status after SIGTERM. Others ask the page's server by default.
QUIVER = """#!/bin/bash
if [[ "$1" == import || "$1" == export ]] && [[ " $* " != *" --url "* && " $* " != *" --data-dir "* ]]; then
  exec {binary} "$@" --url {url}
fi
[[ "$1" == serve ]] || exec {binary} "$@"
shift
{binary} serve --http 127.0.0.1:{port} "$@" > {log} 2>&1 &
for _ in $(seq 200); do
  grep -q 'http://' {log} && break
  sleep 0.05
done
kill -TERM $!
wait $! || {{ cat {log} >&2; exit 1; }}
"""
# Runs blocks that come as JSON strings, a line each, and answers "" or the error.
SESSION = """
import io, json, sys, traceback, contextlib
names = {"__name__": "__main__"}
for line in sys.stdin:
    place, text = json.loads(line)
    error = ""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, place, "exec"), names)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps(error), flush=True)
"""


class Sandbox:
    """A folder, a server and a Python session for the blocks of one page."""

    def __init__(self, folder, server, python=sys.executable, python_path=""):
        self.folder, self.server = Path(folder), server
        self.python, self.python_path = python, python_path
        self.last = self.folder / "last-answer"
        self.words = {}  # in blocks, to be replaced: set by docs_states.py
        self.session = None
        self._make()

    def _make(self):
        bin_folder = self.folder / "build/release"
        bin_folder.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        for name in ("examples", "bench"):
            (self.folder / name).symlink_to(REPOSITORY / name)
        (self.folder / ".venv").symlink_to(Path(sys.prefix))
        self._script("curl", CURL.format(last=self.last))
        self._script("quiver", QUIVER.format(binary=binary(), port=free_port(), url=f"http://127.0.0.1:{self.server.port}",
                                              log=self.folder / "serve.log"))
        (bin_folder / "quiver").symlink_to(self.folder / "bin/quiver")

    def _script(self, name, text):
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def close(self):
        if self.session is not None:
            self.session.stdin.close()
            self.session.wait()

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("QUIVER__", "OTEL_"))}
        return env | {"PATH": f"{self.folder}/bin:{env['PATH']}", "TMPDIR": f"{self.folder}/tmp",
                      "PYTHONPATH": self.python_path, "PYTHONDONTWRITEBYTECODE": "1"}

    def adapted(self, text):
        """The block with this server's ports, and with the folder's paths for those of the documentation."""
        text = re.sub(r"\b(localhost|127\.0\.0\.1):6333\b", f"127.0.0.1:{self.server.port}", text)
        text = re.sub(r"\b6334\b", str(self.server.grpc_port), text)
        text = re.sub(r"(?<![\w.])/(tmp|mnt)/", f"{self.folder}/tmp/", text)
        for word, value in self.words.items():
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", str(value), text)
        return text

    def run(self, block):
        how = block.run or block.language
        text = self.adapted(block.text)
        if how in ("answer", "equal"):
            self._compare(block, how, json.loads(text))
        elif block.language == "json":
            self._send(block, *self.adapted(how).split(" "), text)
        else:
            getattr(self, "_run_" + block.language)(block, text)

    def _compare(self, block, how, wanted):
        found = json.loads(self.last.read_text())
        if "result" not in wanted:
            found = found["result"]
        if how == "equal":
            assert found == wanted, f"{block.place}: found {found}"
        else:
            check_shape(wanted, found, block.place)

    def _send(self, block, method, path, text):
        answer = self.server.request(method, path, text.encode(), headers={"Content-Type": "application/json"})
        assert answer.status == 200, f"{block.place}: {answer.status} {answer.text}"
        self.last.write_text(answer.text)

    def _run_http(self, block, text):
        request, _, answer = text.partition("\n\n")
        line, _, body = request.partition("\n")
        self._send(block, *line.split(" "), body)
        if answer.strip():
            check_shape(json.loads(answer), self._first_answer(), block.place)

    def _first_answer(self):
        result = json.loads(self.last.read_text())["result"]
        return result["points"][0] if "points" in result else result

    def _run_sh(self, block, text):
        # The page's own server has that port.
        text = re.sub(r"(quiver serve .*grpc\.port=)\d+", lambda m: f"{m[1]}{free_port()}", text)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BLOCK_TIMEOUT_S)
        assert done.returncode == 0, f"{block.place}: exit status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"

    def _run_toml(self, block, text):
        path = self.folder / "block.toml"
        path.write_text(text)
        done = subprocess.run([binary(), "serve", "--config", path, "--print-config"], env=self.environment(),
                              capture_output=True, text=True, timeout=BLOCK_TIMEOUT_S)
        assert done.returncode == 0, f"{block.place}: {done.stdout}\n{done.stderr}"

    def _run_python(self, block, text):
        self.in_python(text, block.place)

    def in_python(self, text, place="state"):
        if self.session is None:
            self.session = subprocess.Popen([self.python, "-c", SESSION], cwd=self.folder, env=self.environment(),
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.session.stdin.write(json.dumps([place, text]) + "\n")
        self.session.stdin.flush()
        answer = self.session.stdout.readline()
        assert answer, f"{place}: the Python session ended"
        error = json.loads(answer)
        assert not error, f"{place}:\n{error}"
