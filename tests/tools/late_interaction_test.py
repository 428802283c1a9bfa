"""The page of late interaction beside its exhaustive scans, from points as `quiver bench ann` gives them. Wants numpy."""
import json
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("needs numpy (scripts/setup puts it into .venv): skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "peers")]
import late_interaction  # noqa: E402
import late_table  # noqa: E402
from data import find  # noqa: E402

DOCUMENTS, TOKENS, QUERIES, DIM = 20, 4, 8, 16

# Instead of `quiver bench ann`: a point for each setting; the more effort, the slower and the better. No stage `fde`.
STAND_IN = """
import itertools, json, sys
words = sys.argv[1:]
values = lambda flag: [b for a, b in zip(words, words[1:]) if a == flag]
if "stage=fde" in values("--build"):
    sys.exit("stage: found fde, wanted mean\\nRun with --help or --help-all for more information.")
first, end = map(int, values("--query-rows")[0].split(":"))
grid = dict(v.split("=", 1) for v in values("--sweep"))
lines = []
for chosen in itertools.product(*(v.split(",") for v in grid.values())):
    params = {k: v if v.isalpha() else int(v) for k, v in zip(grid, chosen)}
    effort = params.get("effort", 1000)
    qps = 100000 / effort
    lines.append({"data": "d", "index": "multi", "params": params, "build_params": dict(v.split("=") for v in values("--build")),
        "recall": 1 - 1 / effort, "recall_p5": 0, "short": 0, "better_than_truth": 0, "qps": qps, "p50_us": effort, "p95_us": 1,
        "p99_us": 2, "p999_us": 3, "cpu_us": effort, "cpu_share": 1, "build_s": 1.5, "build_peak_bytes": 2000000,
        "bytes_per_vector": 100 if values("--build") else 1, "exact_bytes_per_vector": 256, "commit": "c", "isa": "i",
        "date": "2020-01-01", "disturbed": False, "dtype": values("--dtype")[0], "queries": end - first})
open(values("--json")[0], "w").write("".join(json.dumps(p) + "\\n" for p in lines))
"""


class Undisturbed:
    """Instead of the loops over memory and clock."""
    all = [{"read_gb_per_s": 1.0}]

    def measure(self):
        return self.all[0]

    def disturbed(self, point):
        return not point.pop("calibrations")


class Page(unittest.TestCase):
    def setUp(self):
        patched = mock.patch.object(late_interaction.runs, "Calibrator", Undisturbed)
        patched.start()
        self.addCleanup(patched.stop)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        random = np.random.default_rng(5)
        for prefix, n in (("tokens", DOCUMENTS), ("query_tokens", QUERIES)):
            np.save(self.folder / f"{prefix}.indptr.npy", np.arange(n + 1, dtype=np.uint64) * TOKENS)
            np.save(self.folder / f"{prefix}.values.npy", random.standard_normal((n * TOKENS, DIM)).astype(np.float16))
        program = self.folder / "quiver"
        program.write_text(f"#!{sys.executable}\n{STAND_IN}")
        program.chmod(0o755)
        self.o = SimpleNamespace(quiver=program, cache=self.folder, stages=["mean", "fde"], efforts="5,10,20,40", dtype="f16", k=10,
                                 repeats=2, targets=[.9, .95], seconds=0, cpu=0, tune_queries=100, report_queries=100, exact_queries=2)

    def test_rates_ratios_and_sizes(self):
        run, found = late_interaction.measure(self.o, find(self.folder)[0])
        self.assertEqual([p["queries"] for p in found if p["exact"]], [2, 2])
        self.assertTrue(all(p["queries"] == QUERIES // 2 for p in found if not p["exact"]))
        text = late_interaction.page(run, found)
        self.assertIn("exact tokens in f16", text)
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        of_mean = [r for r in rows if r[1:2] == ["mean"] and len(r) > 7]
        self.assertEqual([r[:4] for r in of_mean], [[".9", "mean", "effort=10", "0.9000"], [".95", "mean", "effort=20", "0.9500"]])
        self.assertEqual(of_mean[0][4:9], ["100.00 (100.00–100.00)"] * 4 + ["10,000"])
        self.assertEqual([r[1] for r in rows if r[0] == "all"], ["exhaustive exact", "exhaustive codes"])
        codes = TOKENS * DIM  # a byte each
        self.assertIn(["mean", "1.5", "2.0", "100", f"{codes:.1f}", f"{100 - codes:.1f}", "256"], rows)
        self.assertIn("not measured: quiver fde: stage: found fde, wanted mean", text)

    def test_points_are_json(self):
        _, found = late_interaction.measure(self.o, find(self.folder)[0].first(10))
        self.assertEqual(len([json.dumps(p) for p in found]), len(found))


class Table(unittest.TestCase):
    """What the table reads out of what programs print."""

    def test_kernels(self):
        text = ("                          in cache  of peak   at random  of peak     prepare     Gop/s\n"
                " 32 x  80 x 128    8 bits     2.02 us     60 %     2.53 us     48 %     37.0 us       536\n"
                " 32 x  80 x 128    4 bits     2.72 us     45 %     3.04 us     40 %     36.9 us       539\n")
        cells = [row.cells() for row in late_table.kernel_rows(text)]
        self.assertEqual([c[1:] for c in cells], [["2.02 us", "≤ 1.82", "no"], ["60 %", "≥ 60", "yes"], ["2.53 us", "≤ 2.6", "yes"]])

    def test_encodings(self):
        text = ("avx512\n\n| repetitions, planes, dimensions of a block | dimensions | document us |\n|---|---|---|\n"
                "| 20, 5, 16 | 10240 | 45.5 | 12.7 | 22.8 | 5.1 |\n| 20, 5, 16, renormalize 0 | 10240 | 1 | 2 | 3 | 4 |\n")
        self.assertEqual([row.measured for row in late_table.encoding_rows(text)], [45.5, 22.8])

    def test_candidates(self):
        text = "registers alone\n| first stage | dims | N = 20 | make s | document us | query us |\n| mean | 128 | 0.5 | 1 | 2 | 3 |\n"
        self.assertEqual(late_table.candidate_lines(text), ["| first stage | dims | N = 20 |", "| mean | 128 | 0.5 |"])

    def test_rates(self):
        def point(name, qps, targets):
            return {"index": f"quiver {name}", "qps": qps, "chosen_for": targets, "recall": .96}

        found = [point("exhaustive codes", 10, []), point("fde", 150, [.95]), point("mean", 260, [.9, .95])]
        rows = late_table.rate_rows(found)
        self.assertEqual([(row.measured, row.cells()[3]) for row in rows], [(26, "no"), (26, "yes"), (15, "yes")])
        self.assertEqual(late_table.rate_rows(found[1:]), [])

    def test_what_fails_is_named(self):
        missing = []
        self.assertEqual(late_table.attempt(lambda: late_table.kernel_rows(""), missing, "kernels"), [])
        self.assertEqual(len(missing), 1)


if __name__ == "__main__":
    unittest.main()
