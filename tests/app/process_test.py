"""Tests the `quiver` binary as a process: output and exit status. usage: process_test.py BINARY"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from patience import patience  # noqa: E402

BINARY = None
TIMEOUT_S = patience(30)
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("QUIVER__")}


def run(*arguments, env=None):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env=ENVIRONMENT | (env or {}), check=False)


def write_npy(path, rows, letter="f"):
    """f32 (`f`) or i32 (`i`), two-dimensional."""
    header = f"{{'descr': '<{letter}4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header = header.ljust(64 * 2 - 11) + "\n"
    data = b"".join(struct.pack("<" + letter, value) for row in rows for value in row)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


class Serving:
    """A server on a free port, until the end of the `with` block."""

    def __init__(self, data_dir, *arguments):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--data-dir", str(data_dir), "--http", "127.0.0.1:0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.lines = [self.process.stdout.readline().strip() for _ in range(2)]
        match = re.search(r"http://127\.0\.0\.1:(\d+)", self.lines[0])
        assert match, (self.lines, self.process.stderr.read() if self.process.poll() is not None else "")
        self.port = int(match.group(1))
        self.url = match.group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, body

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


class CommandLine(unittest.TestCase):
    def test_version(self):
        answer = run("version")
        self.assertEqual(answer.returncode, 0)
        self.assertRegex(answer.stdout, r"^quiver \d+\.\d+\.\d+ \(git ([0-9a-f]{12}|unknown), isa .*generic, cuda no\)\n$")
        self.assertEqual(run("--version").stdout, answer.stdout)

    def test_completions_and_the_manual_name_every_command_and_flag(self):
        words = set(re.findall(r"^  ([a-z]+) {2,}", run("--help").stdout, re.M)) | {"--data-dir", "--repair", "--json"}
        self.assertIn("rescue", words)
        for arguments in (("completions", "bash"), ("completions", "zsh"), ("completions", "fish"), ("manual",)):
            answer = run(*arguments)
            self.assertEqual(answer.returncode, 0)
            plain = answer.stdout.replace("\\-", "-")
            for word in words:
                self.assertIn(word.removeprefix("--"), plain, arguments)
        self.assertEqual(run("completions", "csh").returncode, 2)
        self.assertIn("--ingest", run("completions", "bash").stdout)  # of a group of options
        for shell in filter(shutil.which, ("bash", "zsh", "fish")):
            with self.subTest(shell), tempfile.NamedTemporaryFile("w") as script:
                script.write(run("completions", shell).stdout)
                script.flush()
                checked = subprocess.run([shell, "-n", script.name], text=True, capture_output=True)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_doctor_prints_a_line_for_each_thing(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = run("doctor", "--data-dir", folder, "--json")
            self.assertEqual([], os.listdir(folder))
        checks = json.loads(answer.stdout)["checks"]
        self.assertEqual(answer.returncode, 1 if any(one["health"] == "bad" for one in checks) else 0)
        self.assertEqual([one["what"] for one in checks], ["cpu", "memory", "huge pages", "open files", "mappings",
                                                           "disk space", "disk sync", "clock"])

    def test_help_names_every_command_and_flag(self):
        self.assertEqual(run("--help").returncode, 0)
        for word in ("serve", "version", "bench"):
            self.assertIn(word, run("--help").stdout)
        for word in ("--data-dir", "--http", "--config", "--set", "--print-config", "--config-docs"):
            self.assertIn(word, run("serve", "--help").stdout)
        for word in ("--queries", "--ingest", "--connections", "--pipeline", "--json", "--duration"):
            self.assertIn(word, run("bench", "load", "--help").stdout)

    def test_wrong_usage(self):
        for arguments in ((), ("no-such-command",), ("serve", "--no-such-flag"), ("bench",),
                          ("bench", "load", "--collection", "c")):
            answer = run(*arguments)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertTrue(answer.stderr)

    def test_unknown_commands_are_named(self):
        for arguments, wanted in ((("imprt", "--collection", "c"), "quiver: there is no command `imprt`, wanted one of serve, "),
                                  (("bench", "lod"), "bench: there is no command `lod`, wanted one of ann, load"),
                                  ((), "A subcommand is required"),
                                  (("import", "--url", "http://h"), "--collection is required")):
            answer = run(*arguments)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertIn(wanted, answer.stderr)

    def test_slips_of_flags_are_usage_errors(self):
        ann = ("bench", "ann", "--base", "b.npy", "--queries", "q.npy")
        load = ("bench", "load", "--collection", "c", "--queries", "q.npy")
        export = ("export", "--collection", "c", "--out")
        for arguments, wanted in (
                ((*ann, "--sweep", "ef=1"), "--sweep: search parameters of index `flat`: unknown parameter `ef`: there are none"),
                ((*ann, "--build", "m=1"), "--build: build parameters of index `flat`: unknown parameter `m`"),
                ((*ann, "--sweep", "ef"), "`ef` is not of the form key=a,b,c"),
                ((*ann, "--index", "flatt"), "no index type `flatt`; one of "),
                ((*ann, "--rows", "5:5"), "rows `5:5`: wanted FIRST:END"),
                ((*load, "--rows", "x"), "rows `x`: wanted FIRST:END"),
                ((*load, "--url", "localhost"), "\"localhost\" is no http://HOST:PORT"),
                ((*export, "x.csv"), "--out x.csv: wanted FILE.jsonl, FILE.jsonl.zst, or a directory"),
                ((*export, "x.npy"), "--out x.npy: wanted FILE.jsonl"),
                ((*export, "x", "--url", "h:1"), "\"h:1\" is no http://HOST:PORT"),
                (("import", "--collection", "c"), "nothing to import"),
                (("import", "--collection", "c", "--vectors", "a.npy", "--metric", "l2"), "--metric l2: wanted cosine, dot"),
                (("import", "--collection", "c", "--vectors", "a.npy", "--data-dir", "d", "--state", "s"), "--state goes with --url")):
            answer = run(*arguments)
            self.assertEqual(answer.returncode, 2, (arguments, answer.stderr))
            self.assertIn(wanted, answer.stderr)
        # Errors that only files or a server reveal have exit status 1.
        for arguments in ((*ann,), (*export, "x", "--data-dir", "/no-such-directory"), (*export, "x.csv/", "--data-dir", "/no-such"),
                          ("import", "--collection", "c", "--vectors", "a.npy", "--url", "http://127.0.0.1:1")):
            self.assertEqual(run(*arguments).returncode, 1, arguments)

    def test_print_config(self):
        answer = run("serve", "--print-config", "--http", "localhost:1", env={"QUIVER__LOG__FORMAT": "json"})
        self.assertEqual(answer.returncode, 0)
        self.assertRegex(answer.stdout, r'host = "localhost" +# flag --http')
        self.assertRegex(answer.stdout, r'format = "json" +# environment QUIVER__LOG__FORMAT')

    def test_unknown_keys_end_it(self):
        answer = run("serve", "--set", "service.prot=1")
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertIn("unknown key `service.prot`", answer.stderr)
        answer = run("serve", env={"QUIVER__SERVICE__NO_SUCH": "1"})
        self.assertEqual(answer.returncode, 1)
        self.assertIn("QUIVER__SERVICE__NO_SUCH", answer.stderr)


class Serve(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.data = self.folder / "data"

    def test_says_where_and_stops(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Serving(self.data) as server:
                self.assertIn(f"data in {self.data}", server.lines[1])
                self.assertEqual(server.get("/readyz")[0], 200)
                self.assertEqual(server.stop(number), 0)

    def test_our_own_name_and_the_other(self):
        with Serving(self.data) as server:
            self.assertIn("quiver", json.loads(server.get("/")[1])["title"])
        with Serving(self.data, "--set", "compat.identity=qdrant") as server:
            self.assertIn("qdrant", json.loads(server.get("/")[1])["title"])

    def test_a_second_process_is_refused(self):
        with Serving(self.data) as server:
            answer = run("serve", "--data-dir", self.data, "--http", "127.0.0.1:0")
            self.assertEqual(answer.returncode, 1)
            self.assertIn(str(server.process.pid), answer.stderr)

    def test_a_taken_port_is_refused(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            answer = run("serve", "--data-dir", self.data, "--http", f"127.0.0.1:{port}")
        self.assertEqual(answer.returncode, 1)
        self.assertIn(str(port), answer.stderr)

    def test_a_data_dir_that_is_a_file_is_refused(self):
        self.data.write_text("")
        answer = run("serve", "--data-dir", self.data, "--http", "127.0.0.1:0")
        self.assertEqual(answer.returncode, 1)
        self.assertIn(str(self.data), answer.stderr)

    def test_bench_load(self):
        rows = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.5, 0.25], [-1.0, 3.0]] * 20
        vectors, payload = self.folder / "v.npy", self.folder / "p.jsonl"
        write_npy(vectors, rows)
        payload.write_text("".join(f'{{"n":{i}}}\n' for i in range(len(rows))))
        with Serving(self.data) as server:
            common = ("--url", server.url, "--collection", "c", "--json")
            answer = run("bench", "load", *common, "--ingest", vectors, "--payload", payload, "--batch", 7,
                         "--connections", 2, "--create", '{"vectors":{"size":2,"distance":"Dot"}}')
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = json.loads(answer.stdout)
            self.assertEqual((report["points"], report["errors"]), (100, 0))
            self.assertEqual(json.loads(server.get("/collections/c")[1])["result"]["points_count"], 100)

            answer = run("bench", "load", *common, "--queries", vectors, "--requests", 300, "--connections", 3,
                         "--pipeline", 2, "--rows", "10:20")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = json.loads(answer.stdout)
            self.assertEqual((report["requests"], report["errors"]), (300, 0))
            self.assertGreater(report["cpu_us"], 0)
            self.assertLessEqual(report["p50_us"], report["p999_us"])

            truth = self.folder / "truth.npy"  # of tied rows the last; the server returns the first
            scores = [[a * c + b * d for c, d in rows] for a, b in rows]
            write_npy(truth, [sorted(range(len(rows)), key=lambda i: (-s[i], -i))[:10] for s in scores], "i")
            answer = run("bench", "load", *common, "--queries", vectors, "--requests", 5, "--rows", "10:20", "--with-payload",
                         "--params", '{"exact":\n true}', "--ground-truth", truth)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            report = json.loads(answer.stdout)
            self.assertEqual((report["recall"], report["recall_p5"], report["short"]), (1, 1, 0))
            self.assertEqual((report["data"], report["index"], report["params"]), ("c", "server", {"exact": True}))
            self.assertIn(report["background"], (False, True))
            self.assertEqual("its CPU per query contains" in answer.stderr, report["background"])
            for key in ("commit", "cpu", "isa", "date", "disturbed", "calibration_before", "calibration_after"):
                self.assertIn(key, report)
            wrong = self.folder / "wrong.npy"  # half of the truth is at the other end
            write_npy(wrong, [sorted(range(len(rows)), key=lambda i: -s[i])[:5] +
                              sorted(range(len(rows)), key=lambda i: s[i])[:5] for s in scores], "i")
            answer = run("bench", "load", *common, "--queries", vectors, "--requests", 5, "--ground-truth", wrong)
            self.assertEqual(json.loads(answer.stdout)["recall"], 0.5)

            answer = run("bench", "load", "--url", server.url, "--collection", "none", "--queries", vectors,
                         "--requests", 5, "--warmup", 0)
            self.assertEqual(answer.returncode, 1)
            self.assertIn("404", answer.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
