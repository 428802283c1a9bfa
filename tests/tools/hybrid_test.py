"""The table of bench/hybrid.py, with a server that answers by the kind of query. Wants numpy."""
import math
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("needs numpy (scripts/setup puts it into .venv): skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "peers")]
import hybrid  # noqa: E402

N = 6


class FakeServer:
    """Learned fusions find the document at once, all else at the second place. Query i is about document i."""

    def __init__(self):
        self.judged = []

    def __call__(self, _method, path, body=None, root="/collections"):
        if path.startswith("/fusions/learn"):
            self.judged.append(body["judged"])
            n = len(body["judged"][0]["prefetch"])
            return {"query": {"linear": {"weights": [1 / n] * n, "normalize": "none", "missing": "lowest"}}}
        return [{"points": [{"id": id} for id in self.hits(search)]} for search in body["searches"]]

    def hits(self, search):
        text = search.get("prefetch", [search])[0]["query"]
        row = int(text["text"]) if "text" in text else 0
        is_learned = "missing" in search["query"].get("linear", {}) if isinstance(search["query"], dict) else False
        return [row, 99] if is_learned else [99, row]


class Hybrid(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = Path(self.folder.name)
        (folder / "queries.tsv").write_text("".join(f"id{i}\t{i}\n" for i in range(N)))
        np.save(folder / "queries.dense.npy", np.zeros((N, 2), np.float32))
        for part, values in (("indptr", range(N + 1)), ("indices", range(N)), ("values", [1.0] * N)):
            np.save(folder / f"queries.sparse.{part}.npy", np.array(list(values)))

    def tearDown(self):
        self.folder.cleanup()

    def test_quality_of_ten_places(self):
        ranks, gains = hybrid.quality([[7, 3], [1, 2, 5], [4]], [7, 5, 0])
        np.testing.assert_allclose(ranks, [1, 1 / 3, 0])
        np.testing.assert_allclose(gains, [1, 1 / 2, 0])

    def test_the_table(self):
        server = FakeServer()
        lines = list(hybrid.table(server, Path(self.folder.name), {i: i for i in range(N)}))
        self.assertEqual([[judged["relevant"] for judged in fold] for fold in server.judged], [[[0], [1], [2]]] * 2)
        self.assertIn(f"| BM25 alone | 0.5000 | {1 / math.log2(3):.4f} |  |", lines)
        self.assertEqual(len(lines), 2 + 3 + 2 * 7)
        learned = [line for line in lines if "learned" in line]
        self.assertEqual(len(learned), 2)
        for line in learned:
            self.assertIn("| 1.0000 | 1.0000 | +0.3691 ± 0.0000 |", line)


if __name__ == "__main__":
    unittest.main()
