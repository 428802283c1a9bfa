"""Generated data sets: the same for the same seed, of the stated shape, whatever the size of a block."""
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("needs numpy (scripts/setup puts it into .venv): skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import datasets  # noqa: E402
import generators  # noqa: E402
import text_vectors  # noqa: E402
from ragged import Ragged  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def sub(self, name):
        (self.folder / name).mkdir()
        return self.folder / name

    def contents(self, folder):
        return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


class Writer(Folder):
    def test_numpy_reads_what_was_written_in_pieces(self):
        for dtype, tail in ((np.float16, (3,)), (np.uint64, ()), (np.uint16, ())):
            values = np.arange(30).reshape(-1, *tail).astype(dtype)
            path = self.folder / f"{np.dtype(dtype)}.npy"
            with generators.NpyWriter(path, dtype, tail) as writer:
                for first in range(0, len(values), 4):
                    writer.write(values[first:first + 4])
            read = np.load(path)
            self.assertEqual(read.dtype, values.dtype)
            np.testing.assert_array_equal(read, values)


class Generators(Folder):
    CASES = {"clustered": dict(rows=300, queries=20, dim=16, clusters=10),
             "splade_like": dict(rows=120, queries=30),
             "ragged": dict(rows=60, queries=10, dim=8, tokens=12, words=50)}

    def test_same_seed_same_bytes(self):
        for name, parameters in self.CASES.items():
            made = {}
            for run, seed in (("a", 1), ("b", 1), ("c", 2)):
                made[run] = self.sub(f"{name}-{run}")
                getattr(generators, name)(made[run], seed=seed, **parameters)
            self.assertEqual(self.contents(made["a"]), self.contents(made["b"]), name)
            self.assertNotEqual(self.contents(made["a"]), self.contents(made["c"]), name)

    def test_more_rows_begin_with_the_same_blocks(self):
        with mock.patch.object(generators, "BLOCK", 64):
            generators.clustered(small := self.sub("small"), rows=128, queries=1, dim=8, clusters=5)
            generators.clustered(large := self.sub("large"), rows=300, queries=1, dim=8, clusters=5)
        rows = np.load(large / "dense.npy")
        self.assertEqual(rows.shape, (300, 8))
        np.testing.assert_array_equal(np.load(small / "dense.npy"), rows[:128])

    def test_sparse_rows_are_sorted_and_as_heavy_as_stated(self):
        generators.splade_like(self.folder, rows=600, queries=600)
        for name, n, mean, top, share in (("sparse", 600, 121.8, 50, 0.73), ("queries.sparse", 600, 39.8, 10, 0.78)):
            indptr, indices, values = (np.load(self.folder / f"{name}.{p}.npy") for p in ("indptr", "indices", "values"))
            self.assertEqual((len(indptr), int(indptr[-1])), (n + 1, len(indices)))
            counts = np.diff(indptr.astype(np.int64))
            self.assertAlmostEqual(counts.mean() / mean, 1, delta=0.05)
            for a, b in zip(indptr[:-1].astype(int), indptr[1:].astype(int)):
                self.assertTrue((np.diff(indices[a:b].astype(np.int64)) > 0).all())
            self.assertTrue((values > 0).all() and indices.max() < generators.SPARSE_DIM)
            self.assertAlmostEqual(datasets.heaviest_share(counts, values, top), share, delta=0.05)

    def test_tokens_are_unit_and_ragged(self):
        generators.ragged(self.folder, **self.CASES["ragged"])
        indptr, values = (np.load(self.folder / f"tokens.{p}.npy") for p in ("indptr", "values"))
        self.assertEqual((len(indptr), int(indptr[-1])), (61, len(values)))
        self.assertGreater(len(set(np.diff(indptr.astype(np.int64)))), 5)
        np.testing.assert_allclose(np.linalg.norm(values.astype(np.float32), axis=1), 1, atol=2e-3)

    def test_jitter_moves_rows_as_far_as_neighbours_are_apart(self):
        real = generators.unit(np.random.default_rng(7).standard_normal((400, 24), dtype=np.float32))
        distance = generators.median_neighbour_distance(real)
        slow = np.linalg.norm(real[:, None] - real[None], axis=2) + 9 * np.eye(400)
        self.assertAlmostEqual(distance, float(np.median(slow.min(1))), places=4)
        facts = generators.jittered(self.folder, real, rows=1000)
        rows = np.load(self.folder / "dense.npy").astype(np.float32)
        self.assertEqual(rows.shape, (1000, 24))
        self.assertAlmostEqual(facts["length of the noise"], distance, places=6)
        self.assertFalse(np.array_equal(rows[:400], rows[400:800]))  # each copy has noise of its own
        with self.assertRaises(ValueError):
            generators.jittered(self.folder, real, rows=10, factor=0.5)

    def test_jittered_tokens_are_the_real_documents_with_noise(self):
        random = np.random.default_rng(8)
        values = generators.unit(random.standard_normal((600, 16), dtype=np.float32))
        real = Ragged(np.concatenate([[0], np.sort(random.integers(0, 600, 49)), [600]]), values)
        queries = real.part(3, 9)
        for name, block in (("a", 8192), ("b", 100)):
            with mock.patch.object(generators, "BLOCK", block):
                facts = generators.jittered_tokens(self.sub(name), real, queries, rows=130)
        parts = {f"{p}.{q}": np.load(self.folder / "b" / f"{p}.{q}.npy") for p in ("tokens", "query_tokens")
                 for q in ("indptr", "values")}
        made = Ragged(parts["tokens.indptr"], parts["tokens.values"])
        np.testing.assert_array_equal(made.counts(), np.tile(real.counts(), 3)[:130])
        np.testing.assert_array_equal(made.indptr, np.load(self.folder / "a" / "tokens.indptr.npy").astype(np.int64))
        np.testing.assert_array_equal(parts["query_tokens.values"], np.asarray(queries.values, np.float16))
        np.testing.assert_allclose(np.linalg.norm(made.floats(), axis=1), 1, atol=2e-3)
        moved = np.linalg.norm(made.part(0, 50).floats() - values, axis=1)
        self.assertAlmostEqual(float(moved.mean()) / facts["length of the noise"], 1, delta=0.35)  # unit again: shorter
        self.assertFalse(np.array_equal(made.part(0, 50).values, made.part(50, 100).values))
        with self.assertRaises(ValueError):
            generators.jittered_tokens(self.folder, real, queries, rows=10, factor=0.5)


class TextVectors(Folder):
    WORDS = [f"word{i}" for i in range(60)]

    def texts(self):
        """Texts of six subjects of ten words each; a title repeats words of its abstract."""
        random, folder = np.random.default_rng(9), self.sub("texts")
        texts = [" ".join(random.choice(self.WORDS[10 * (i % 6):10 * (i % 6) + 10], 7)) for i in range(120)]
        (folder / "docs.jsonl").write_text("".join(json.dumps({"abstract": text}) + "\n" for text in texts))
        (folder / "queries.tsv").write_text("".join(f"{i}\t{' '.join(texts[i].split()[:3])}\n" for i in range(12)))
        return folder

    @unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not installed")
    def test_texts_of_a_subject_are_neighbours(self):
        folder = self.texts()
        for run in ("a", "b"):
            text_vectors.lsa(self.sub(run), folder, rows=100, dim=8)
        self.assertEqual(self.contents(self.folder / "a"), self.contents(self.folder / "b"))
        rows, queries = (np.load(self.folder / "a" / name).astype(np.float32) for name in ("dense.npy", "queries.dense.npy"))
        self.assertEqual((rows.shape, queries.shape), ((100, 8), (12, 8)))
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=2e-3)
        np.testing.assert_array_equal((queries @ rows.T).argmax(1) % 6, np.arange(12) % 6)
        with self.assertRaisesRegex(SystemExit, "wanted fewer"):
            text_vectors.lsa(self.folder, folder, rows=100, dim=61)

    def test_what_is_missing_is_told(self):
        folder = self.texts()
        with mock.patch.dict(sys.modules, {"sklearn.decomposition": None}), self.assertRaisesRegex(SystemExit, "scikit-learn"):
            text_vectors.lsa(self.folder, folder, rows=100)
        with mock.patch.dict(os.environ, {"QUIVER_DATASETS": str(self.folder)}), \
             self.assertRaisesRegex(SystemExit, "no docs.jsonl"):
            datasets.catalog()["lsa"].files(datasets.Options(self.folder, source="nothing"))


class CommandLine(Folder):
    def run_main(self, *words, **environment):
        environment = {"XDG_CACHE_HOME": str(self.folder / "cache"), "QUIVER_DATASETS": "", **environment}
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["datasets.py", *words]), mock.patch.dict(os.environ, environment), \
             redirect_stdout(out), redirect_stderr(io.StringIO()):
            datasets.main()
        return out.getvalue()

    def test_sample(self):
        self.assertIn("arxiv-3k/sparse", self.run_main("list"))
        flags = self.run_main("args", "arxiv-3k/dense").split()
        self.assertTrue(Path(flags[flags.index("--base") + 1]).exists())
        prefix = self.run_main("args", "arxiv-3k/multi").split()
        prefix = prefix[prefix.index("--base") + 1]
        values = np.load(prefix + ".values.npy")
        np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1, atol=0.02)
        self.assertIn("50 heaviest", self.run_main("info", "arxiv-3k/sparse"))

    def test_found_sets_and_their_query_rows(self):
        folder = self.sub("sets") / "mine"
        folder.mkdir()
        np.save(folder / "dense.npy", np.ones((5, 4), np.float16))
        np.save(folder / "queries.dense.npy", np.ones((2000, 4), np.float32))
        np.save(folder / "tokens.npy", np.ones((5, 4), np.float16))
        np.save(folder / "tokens.indptr.npy", np.array([0, 2, 5], np.uint64))
        for part in ("query_tokens.npy", "query_tokens.indptr.npy"):
            (folder / part).write_bytes((folder / part.replace("query_", "")).read_bytes())
        where = {"QUIVER_DATASETS": str(folder.parent)}
        self.assertIn("--query-rows 1000:2000", self.run_main("args", "mine/dense", **where))
        self.assertIn("--query-rows 0:1000", self.run_main("args", "mine/dense", "--queries", "tune", **where))
        (other := self.sub("others") / "mine").mkdir()  # of the same name: another set
        for part in ("tokens.npy", "tokens.indptr.npy", "query_tokens.npy", "query_tokens.indptr.npy"):
            (other / part).write_bytes((folder / part).read_bytes())
        np.save(other / "tokens.npy", np.zeros((5, 4), np.float16))
        self.run_main("args", "mine/multi", QUIVER_DATASETS=str(other.parent))
        flags = self.run_main("args", "mine/multi", **where).split()
        self.assertEqual(np.load(flags[flags.index("--base") + 1] + ".values.npy").sum(), 20)

    def test_generated_once_and_again_for_other_parameters(self):
        first = self.run_main("args", "clustered", "--rows", "100", "--set", "dim=8")
        self.assertEqual(first, self.run_main("args", "clustered", "--rows", "100", "--set", "dim=8"))
        self.assertNotEqual(first, self.run_main("args", "clustered", "--rows", "100", "--set", "dim=9"))
        self.assertIn("length of the noise", self.run_main("info", "jittered", "--rows", "50"))
        self.assertIn("length of the noise", self.run_main("info", "jittered-tokens", "--rows", "300"))
        with self.assertRaisesRegex(SystemExit, "is dense, wanted multi"):
            self.run_main("info", "jittered-tokens", "--source", "arxiv-3k/dense")
        self.assertIn("dim = 384", self.run_main("info", "clustered", "--rows", "100"))

    def test_half_made_files_are_made_again(self):
        flags = self.run_main("args", "clustered", "--rows", "100", "--set", "dim=8").split()
        base = Path(flags[flags.index("--base") + 1])
        whole = base.read_bytes()
        base.write_bytes(whole[:200])
        (base.parent / "complete").unlink()
        self.run_main("args", "clustered", "--rows", "100", "--set", "dim=8")
        self.assertEqual(base.read_bytes(), whole)

    def test_unknown_names_are_told(self):
        with self.assertRaises(SystemExit):
            self.run_main("info", "nothing")
        with self.assertRaisesRegex(SystemExit, "no parameter dims"):
            self.run_main("args", "clustered", "--rows", "10", "--set", "dims=8")


if __name__ == "__main__":
    unittest.main()
