"""Reading, choosing and comparing the JSON lines of `quiver bench ann`; drawing them, where matplotlib is."""
import importlib.util
import io
import json
import shlex
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import cold  # noqa: E402
import compare  # noqa: E402
import points  # noqa: E402
import table  # noqa: E402

CALIBRATION = {"read_gb_per_s": 10.0, "clock_ghz": 3.5}


def point(recall=1.0, qps=100.0, index="flat", **more):
    us = 1e6 / qps
    return {"data": "set/dense", "index": index, "params": {}, "k": 10, "recall": recall, "qps": qps, "qps_spread": 0.01,
            "p50_us": us, "p95_us": us, "p99_us": us, "p999_us": 2 * us, "cpu_us": us, "bytes_per_vector": 1.0,
            "exact_bytes_per_vector": 1536.0, "commit": "0123456789abcdef", "cpu": "a CPU", "isa": "avx512",
            "date": "2026-01-02T03:04:05Z", "disturbed": False, "build_params": {}, "work_per_query": {"bytes": 1e6},
            "calibration_before": CALIBRATION, "calibration_after": CALIBRATION, **more}


def served(**more):
    """As `quiver bench load` writes it."""
    mine = point(index="server", recall=None, recall_p5=None, short=None, cpu_us=None, background=True, connections=1, pipeline=1)
    for key in ("bytes_per_vector", "exact_bytes_per_vector", "qps_spread", "build_params", "work_per_query"):
        del mine[key]
    return mine | more


class Points(unittest.TestCase):
    def test_front_keeps_what_nothing_beats(self):
        made = [point(r, q) for r, q in ((0.8, 900), (0.9, 500), (0.85, 400), (0.95, 500), (0.99, 100), (0.9, 450))]
        self.assertEqual([(p["recall"], p["qps"]) for p in points.front(made)], [(0.8, 900), (0.95, 500), (0.99, 100)])
        self.assertEqual([p["recall"] for p in points.front(made, "p99_us", False)], [0.8, 0.95, 0.99])
        self.assertEqual(points.front([]), [])

    def test_series_is_all_but_the_search_parameters(self):
        self.assertEqual(points.series(point(params={"x": 1})), "flat")
        self.assertEqual(points.series(point(index="ivf", build_params={"lists": 8}, dtype="f16", batch=4, threads=2)),
                         "ivf lists=8 f16 batch 4 2 threads")

    def test_an_engine_has_one_type_of_rows_and_as_many_threads(self):
        names = [points.engine(p) for p in (point(build_params={"lists": 8}), point(dtype="f16"), point(threads=4), point(batch=1000),
                                            served(), served(connections=8, pipeline=2, rate=50.0))]
        self.assertEqual(names, ["flat", "flat f16", "flat, 4 threads", "flat, 1,000 a call", "server, 1 connection",
                                 "server, 8 connections of 2 requests at 50/s"])

    def test_a_line_that_is_no_json_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(json.dumps(point()) + "\n{\n")
            file.flush()
            with self.assertRaisesRegex(SystemExit, ":2: no JSON"):
                points.read([file.name])


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, name, made):
        path = self.folder / name
        path.write_text("".join(json.dumps(p) + "\n" for p in made))
        return str(path)

    def run_main(self, module, *words):
        out = io.StringIO()
        with mock.patch.object(sys, "argv", [module.__name__, *words]), redirect_stdout(out), \
             redirect_stderr(io.StringIO()):
            module.main()
        return out.getvalue()


class Table(Folder):
    def test_one_row_a_point(self):
        made = [point(qps=1234.5), point(qps=10, disturbed=True, data="other")]
        lines = self.run_main(table, self.write("a.jsonl", made)).splitlines()
        self.assertIn("a CPU, avx512", lines[0])
        self.assertRegex(lines[4], r"^set/dense flat +1\.0000 +1,234 ")
        self.assertRegex(lines[5], r"^other flat .* disturbed$")


    def test_what_a_server_does_not_tell_is_a_dash(self):
        lines = self.run_main(table, self.write("a.jsonl", [served(params={"hnsw_ef": 64}), served(recall=0.5, cpu_us=12)])).splitlines()
        self.assertRegex(lines[4], r"^set/dense server 1 connection hnsw_ef=64 +– +100 +– .* background$")
        self.assertRegex(lines[5], r"^set/dense server 1 connection +0\.5000 +100 +– .* 12\.0 +– +– +– +background$")


class Compare(Folder):
    def command(self, name, rates):
        """A program that gives one rate after the other, and counts its runs in a file."""
        script = self.folder / f"{name}.py"
        log = self.folder / "log"
        base = point()
        script.write_text(
            f"import json, sys\nfrom pathlib import Path\nlog = Path({str(log)!r})\n"
            f"runs = log.read_text() if log.exists() else ''\nlog.write_text(runs + {name!r})\n"
            f"qps = {rates!r}[runs.count({name!r})]\npoint = json.loads({json.dumps(base)!r})\n"
            f"points = [point | dict(params=dict(x=x), qps=qps / x) for x in (1, 2)]\n"
            f"assert '--base' in sys.argv\n"
            f"Path(sys.argv[sys.argv.index('--json') + 1]).write_text(''.join(json.dumps(p) + chr(10) for p in points))\n")
        return shlex.join([sys.executable, "-B", str(script)])

    def test_takes_turns_and_compares_round_by_round(self):
        a, b = self.command("A", [100, 200, 50]), self.command("B", [110, 240, 55])
        out = self.run_main(compare, a, b, "--rounds", "3", "--cpus", "", "--", "--base", "x y")
        self.assertEqual((self.folder / "log").read_text(), "ABABAB")
        self.assertRegex(out, r"x=1 +QPS +100 +150\.0 % +110 +168\.2 % +1\.100 +1\.100–1\.200")
        self.assertRegex(out, r"x=2 +QPS +50\.0 ")

    def test_a_command_that_fails_is_shown(self):
        failing = shlex.join([sys.executable, "-c", "import sys; sys.exit('no such index')"])
        with self.assertRaisesRegex(SystemExit, "no such index"):
            self.run_main(compare, failing, failing, "--cpus", "", "--", "--base", "x")


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
class Cold(Folder):
    def round(self, qps):
        phase = {"qps": qps, "p50_us": 1e6 / qps, "p99_us": 2e6 / qps}
        return {"bytes": 5e6, "left": 0, "ready": 0.5, "first": 1.25, "dropped: the first": phase, "warm": phase}

    def test_a_row_a_phase_with_medians_and_ranges(self):
        rounds = [self.round(qps) for qps in (100, 400, 200)]
        lines = list(cold.table("quiver", rounds))
        self.assertEqual(lines[0], "| quiver | dropped: the first |  | 5,000 (2,500–10,000) |  |")
        self.assertEqual(lines[1], "| quiver | warm | 200 (100–400) | 5,000 (2,500–10,000) | 10,000 (5,000–20,000) |")
        self.assertIn("5 MB of files, of which 0.0 MB", cold.said("quiver", rounds, "ready after"))
        self.assertIn("ready after 0.50 (0.50–0.50) s; the first answer 1.25", cold.said("quiver", rounds, "ready after"))

    def test_all_files_below_a_folder_are_dropped(self):
        (self.folder / "a").mkdir()
        (self.folder / "a" / "b").write_bytes(bytes(3 * cold.PAGE))
        bytes_, left = cold.drop(self.folder)
        self.assertEqual(bytes_, 3 * cold.PAGE)
        self.assertLessEqual(left, bytes_)  # file systems in memory keep them


class Plot(Folder):
    def test_draws_both_kinds(self):
        import plot
        curve = [point(r, q, "ivf", disturbed=q == 500) for r, q in ((0.8, 900), (0.9, 500), (0.99, 100), (0.85, 400))]
        file = self.write("a.jsonl", [*curve, point(qps=20), point(data="other", qps=5)])
        for what, name in (("curves", "a.svg"), ("curves", "a.png"), ("exact", "b.svg")):
            self.run_main(plot, what, file, "--out", str(self.folder / name), "--title", "a title")
        drawn = (self.folder / "a.svg").read_text()
        for text in ("recall@10", "queries per second", "latency of a call", ">ivf<", ">flat<", "a title", "1 of 6 hollow"):
            self.assertIn(text, drawn)
        self.assertIn("p99.9", (self.folder / "b.svg").read_text())

    def test_axes_say_what_the_points_say(self):
        import plot
        one = [point(recall=r, qps=q) for r, q in ((0.9, 500), (0.99, 100))]
        cases = ((one, "queries per second, one thread<"), ([p | {"threads": 4} for p in one], "queries per second, 4 threads<"),
                 ([*one, point(threads=4)], "queries per second<"),
                 ([served(), *(served(recall=p["recall"]) for p in one)], "queries per second, 1 connection<"))
        for made, label in cases:
            file = self.write("a.jsonl", made)
            for what in ("rates", "exact"):
                self.run_main(plot, what, file, "--out", str(self.folder / "a.svg"))
                self.assertIn(label, (self.folder / "a.svg").read_text())
        self.run_main(plot, "curves", file, "--out", str(self.folder / "a.svg"))


if __name__ == "__main__":
    unittest.main()
