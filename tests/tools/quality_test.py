"""Token sets and MaxSim as defined, and the table of what kinds of vectors find: against slow references. Wants numpy."""
import io
import json
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("needs numpy (scripts/setup puts it into .venv): skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "peers")]
import quality  # noqa: E402
import ragged  # noqa: E402
from ragged import Ragged  # noqa: E402

SEED, DIM = 31, 8


def token_sets(random, counts):
    values = random.standard_normal((sum(counts), DIM)).astype(np.float16)
    return Ragged(np.concatenate([[0], np.cumsum(counts)]), values)


def slow_maxsim(query, document):
    if len(document) == 0:
        return -np.inf
    return sum(max(float(np.dot(q.astype(float), t.astype(float))) for t in document) for q in query)


def slow_scores(queries, documents):
    return np.array([[slow_maxsim(queries[q], documents[d]) for d in range(len(documents))] for q in range(len(queries))])


class TokenSets(unittest.TestCase):
    def test_rows_parts_and_picks(self):
        rows = token_sets(np.random.default_rng(SEED), [2, 0, 3, 1])
        self.assertEqual((len(rows), rows.dim, list(rows.counts())), (4, DIM, [2, 0, 3, 1]))
        self.assertEqual([len(rows[r]) for r in range(4)], [2, 0, 3, 1])
        for some, numbers in ((rows.part(1, 3), [1, 2]), (rows.picked([3, 0, 1]), [3, 0, 1]), (rows.picked([]), [])):
            self.assertEqual(len(some), len(numbers))
            for row, number in enumerate(numbers):
                np.testing.assert_array_equal(some[row], rows[number])

    def test_maxsim_is_the_sum_of_the_best_products(self):
        random = np.random.default_rng(SEED)
        for counts in ([3, 1, 5], [0, 2, 0, 0, 4, 0], [0, 0], [1]):
            documents, queries = token_sets(random, counts), token_sets(random, [2, 1, 4])
            np.testing.assert_allclose(ragged.maxsim(queries, documents, np.float64), slow_scores(queries, documents), rtol=1e-12)

    def test_best_documents_whatever_the_blocks(self):
        random = np.random.default_rng(SEED)
        documents, queries = token_sets(random, [0, *random.integers(1, 6, 40)]), token_sets(random, [2, 3, 1, 4, 2])
        wanted = [set(np.argsort(-scores)[:6]) for scores in slow_scores(queries, documents)]
        for block, some in ((128, 32), (7, 2), (1, 1)):
            with mock.patch.multiple(ragged, DOCUMENTS=block, QUERIES=some):
                self.assertEqual([set(ids) for ids in ragged.best_documents(queries, documents, 6)], wanted)
        self.assertEqual(ragged.best_documents(queries, documents, 99).shape, (5, 41))


class Lists(unittest.TestCase):
    def test_fused_by_hand(self):
        # 7: 1/2 + 1/3; 9: 1/3 + 1/2; 1: 1/4; ties go to the lower row
        self.assertEqual(quality.fused([[7, 9, 1], [9, 7]], 2), [7, 9, 1])
        self.assertEqual(quality.fused([[5], [6, 5]], 2), [5, 6])

    def test_reciprocal_ranks(self):
        lists = [[4, 2], [2, 4], [1, 3], list(range(50, 100))]
        np.testing.assert_allclose(quality.reciprocal_ranks(lists, [4, 4, 4, 60]), [1, 0.5, 0, 0])

    def test_row_says_mean_difference_and_recall(self):
        found = quality.Found("a", [[4], [2, 4], list(range(50, 100))])
        cells = quality.row_of(found, [4, 4, 60], np.array([0.5, 0.5, 0]))
        self.assertEqual(cells, ["a", "0.500", "+0.167 ± 0.167", "1.000"])


class Page(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "set"
        self.tokens = Path(holder.name) / "tokens"
        for folder in (self.folder, self.tokens):
            folder.mkdir()

    def write(self, n, n_with_tokens):
        """Documents that are their own queries, in reverse order; only the first have tokens."""
        random = np.random.default_rng(SEED)
        vectors = random.standard_normal((n, DIM)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        np.save(self.folder / "dense.npy", vectors)
        np.save(self.folder / "queries.dense.npy", vectors[::-1])
        for prefix, indices in (("sparse", np.arange(n)), ("queries.sparse", np.arange(n)[::-1])):
            np.save(self.folder / f"{prefix}.indptr.npy", np.arange(n + 1, dtype=np.uint64))
            np.save(self.folder / f"{prefix}.indices.npy", indices.astype(np.uint16))
            np.save(self.folder / f"{prefix}.values.npy", np.ones(n, np.float16))
        for prefix, tokens in (("tokens", vectors[:n_with_tokens]), ("query_tokens", vectors[::-1])):
            np.save(self.tokens / f"{prefix}.indptr.npy", np.arange(len(tokens) + 1, dtype=np.uint64))
            np.save(self.tokens / f"{prefix}.values.npy", tokens.astype(np.float16))
        (self.folder / "docs.jsonl").write_text("".join(json.dumps({"id": f"d{i}"}) + "\n" for i in range(n)))
        (self.folder / "queries.tsv").write_text("".join(f"d{i}\ttitle\n" for i in reversed(range(n))))

    def table(self, *words):
        out = io.StringIO()
        with mock.patch.object(sys, "argv", ["quality.py", *map(str, words)]), redirect_stdout(out):
            quality.main()
        return out.getvalue()

    def test_all_ways_find_a_document_that_is_its_query(self):
        self.write(30, 20)
        text = self.table(self.folder, "--tokens", self.tokens, "--out", self.folder / "page.md")
        self.assertIn("20 documents, 20 queries", text)
        rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
        self.assertEqual(len(rows), 12)
        for row in rows:
            self.assertIn("| 1.000 | +0.000 ± 0.000 | 1.000 |", row)
        self.assertEqual((self.folder / "page.md").read_text() + "\n", text)

    def test_fewer_rows_and_what_lacks(self):
        self.write(30, 20)
        self.assertIn("12 documents, 12 queries", self.table(self.folder, "--tokens", self.tokens, "--rows", 12))
        with self.assertRaisesRegex(SystemExit, "no multi set"):
            self.table(self.folder)


if __name__ == "__main__":
    unittest.main()
