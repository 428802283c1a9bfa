"""The comparison with other libraries: recall as stated, and every adapter's answers against ground truth.

Wants numpy. Libraries that are not installed are skipped; bench/peers/setup makes an environment that has them:
build/peers-venv/bin/python -B tests/tools/peers_test.py
"""
import dataclasses
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError:
    print("needs numpy (bench/peers/setup makes an environment that has it): skipped")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "bench")]
import choosing  # noqa: E402
import data as peers_data  # noqa: E402
import ours  # noqa: E402
import peer  # noqa: E402
import points  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import worker  # noqa: E402
from data import Csr, Data, Scorer, Truth  # noqa: E402

SEED = 20
ROWS, QUERIES, DIM, VOCABULARY, K = 1200, 40, 64, 400, 10
LEAST_RECALL = 0.97  # of an approximate index with its widest search


def clustered(random, n, centres):
    return (centres[random.integers(len(centres), size=n)] + 0.7 * random.standard_normal((n, DIM))).astype(np.float32)


def write_dense(folder, random):
    centres = random.standard_normal((30, DIM))
    np.save(folder / "dense.npy", clustered(random, ROWS, centres).astype(np.float16))
    np.save(folder / "queries.dense.npy", clustered(random, QUERIES, centres))


def write_sparse(folder, random):
    for prefix, n, length in (("sparse", ROWS, 30), ("queries.sparse", QUERIES, 8)):
        rows = [np.sort(random.choice(VOCABULARY, length, replace=False)) for _ in range(n)]
        np.save(folder / f"{prefix}.indptr.npy", np.arange(n + 1, dtype=np.uint64) * length)
        np.save(folder / f"{prefix}.indices.npy", np.concatenate(rows).astype(np.uint16))
        np.save(folder / f"{prefix}.values.npy", random.exponential(1, n * length).astype(np.float16))


def write_multi(folder, random):
    """Tokens of unit length, as encoders for late interaction give them."""
    words = random.standard_normal((200, DIM))
    for prefix, n, longest in (("tokens", ROWS, 24), ("query_tokens", QUERIES, 9)):
        counts = random.integers(3, longest, n)
        tokens = words[random.integers(len(words), size=counts.sum())] + 0.7 * random.standard_normal((counts.sum(), DIM))
        np.save(folder / f"{prefix}.indptr.npy", np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64))
        np.save(folder / f"{prefix}.values.npy",
                (tokens / np.linalg.norm(tokens, axis=1, keepdims=True)).astype(np.float16))


def make(folder):
    random = np.random.default_rng(SEED)
    write_dense(folder, random)
    write_sparse(folder, random)
    write_multi(folder, random)
    return {d.kind: d for d in peers_data.find(folder)}


def with_metric(data, metric):
    return Data(data.name, dataclasses.replace(data.files, metric=metric))


def slow_scores(data, query):
    """Scores of all rows, the obvious way."""
    rows, queries = data.raw("base"), data.raw("queries")
    if data.kind == "sparse":
        wanted = dict(zip(*queries[query]))
        return np.array([sum(float(v) * float(wanted.get(i, 0)) for i, v in zip(*rows[r])) for r in range(len(rows))])
    if data.kind == "multi":
        return np.array([sum(max(float(np.dot(q, t)) for t in rows[r].astype(np.float64))
                             for q in queries[query].astype(np.float64)) for r in range(len(rows))])
    rows, wanted = rows.astype(np.float64), queries[query].astype(np.float64)
    if data.metric == "euclid":
        return -np.linalg.norm(rows - wanted, axis=1)
    if data.metric == "cosine":
        return rows @ wanted / np.linalg.norm(rows, axis=1) / np.linalg.norm(wanted)
    return rows @ wanted


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)


class Recall(Folder):
    def lines(self, values):
        """One query, rows of one dimension, so that a row is its own score."""
        np.save(self.folder / "dense.npy", np.array(values, np.float32)[:, None])
        np.save(self.folder / "queries.dense.npy", np.ones((1, 1), np.float32))
        return peers_data.find(self.folder)[0]

    def test_ties_count_whichever_was_returned(self):
        data = self.lines([5, 3, 3, 3, 1])
        truth = Truth(data, range(1), 2)
        for ids, wanted in (([0, 1], 1), ([0, 3], 1), ([1, 2], 1), ([0, 4], 0.5), ([4, 4], 0), ([0, 0], 0.5), ([0], 0.5)):
            self.assertEqual(truth.recall([ids])["recall"], wanted, ids)

    def test_only_the_first_k_count_and_missing_ids_do_not(self):
        truth = Truth(self.lines([5, 4, 3, 2]), range(1), 2)
        self.assertEqual(truth.recall([[3, 2, 0, 1]])["recall"], 0)
        found = truth.recall([[0, -1]])
        self.assertEqual((found["recall"], found["short"]), (0.5, 1))

    def test_fewer_rows_than_k(self):
        truth = Truth(self.lines([5, 4]), range(1), 10)
        self.assertEqual(truth.recall([[1, 0]])["recall"], 1)

    def test_a_wrong_truth_is_noticed(self):
        truth = Truth(self.lines([5, 4, 3, 2]), range(1), 2, given=np.array([[2, 3]]))
        self.assertEqual(truth.recall([[0, 1]])["better_than_truth"], 1)

    def test_vectors_times_a_constant_have_the_same_recall(self):
        for scale in (1, 1e-4, 1e4):
            truth = Truth(self.lines([5 * scale, 4 * scale, 3 * scale, 2 * scale]), range(1), 2)
            found = truth.recall([[0, 2]])
            self.assertEqual((found["recall"], found["better_than_truth"]), (0.5, 0), scale)

    def test_differences_of_rounding_near_zero_are_no_misses(self):
        np.save(self.folder / "dense.npy", np.array([[1, -1], [1, -1 - 1e-7]], np.float32))
        np.save(self.folder / "queries.dense.npy", np.ones((1, 2), np.float32))
        truth = Truth(peers_data.find(self.folder)[0], range(1), 1)
        self.assertEqual(truth.recall([[1]])["recall"], 1)

    def test_fifth_percentile(self):
        values = self.lines(range(10))
        truth = Truth(values, range(1), 1)
        truth.rows, truth.kth, truth.slack = [0] * 40, truth.kth * 40, truth.slack * 40
        found = truth.recall([[0]] * 2 + [[9]] * 38)
        self.assertEqual((found["recall"], found["recall_p5"]), (0.95, 0.0))


class Truths(Folder):
    def test_as_brute_force(self):
        sets = make(self.folder)
        cases = [with_metric(sets["dense"], m) for m in ("dot", "cosine", "euclid")] + [sets["sparse"], sets["multi"].first(300)]
        for data in cases:
            with self.subTest(kind=data.kind, metric=data.metric):
                truth = Truth(data, range(3, 9), K)
                best = [np.argsort(-slow_scores(data, q))[:K] for q in range(3, 9)]
                self.assertEqual(truth.recall(best), {"recall": 1, "recall_p5": 1, "short": 0, "better_than_truth": 0})
                worst = [np.argsort(-slow_scores(data, q))[K:2 * K] for q in range(3, 9)]
                self.assertLess(truth.recall(worst)["recall"], 0.05)

    def test_terms_are_as_large_as_the_lengths_of_what_is_multiplied(self):
        sets = make(self.folder)
        for data in (sets["dense"], with_metric(sets["dense"], "cosine"), sets["sparse"], sets["multi"]):
            with self.subTest(kind=data.kind, metric=data.metric):
                size, best = Scorer(data).term_size(0, np.arange(len(data))), max(abs(slow_scores(data, 0)))
                self.assertGreaterEqual(size * (1 + 1e-6), best)
                self.assertLess(size, 10 * best)
        self.assertEqual(Scorer(with_metric(sets["dense"], "euclid")).term_size(0, [1, 2]), 0)

    def test_rows_of_a_csr(self):
        rows = Csr([0, 2, 2, 3], [1, 4, 0], [1, 2, 3])
        self.assertEqual((len(rows), rows.dim), (3, 5))
        np.testing.assert_array_equal(rows[0][0], [1, 4])
        self.assertEqual(len(rows[1][0]), 0)

    def test_the_first_rows_are_a_set(self):
        for data in make(self.folder).values():
            few, name = data.first(50), data.name.split("/")[0]
            self.assertEqual((len(few), few.name, few.identity() == data.identity()), (50, f"{name}-50/{data.kind}", False))
            self.assertEqual(few.files.flags("x")[-4:-2], ["--rows", "0:50"])
            np.testing.assert_array_equal(few.raw("base")[49], data.raw("base")[49])

    def test_candidates_are_kept(self):
        data = make(self.folder)["multi"].first(100)
        first = Truth(data, range(4), K, cache=self.folder / "cache")
        with mock.patch.object(peers_data, "candidates", side_effect=AssertionError("computed again")):
            again = Truth(data, range(4), K, cache=self.folder / "cache")
        self.assertEqual(first.kth, again.kth)

    def test_a_folder_without_sets_is_told(self):
        with self.assertRaisesRegex(SystemExit, "dense.npy"):
            peers_data.find(self.folder)


class Adapters(Folder):
    def widest(self, kind):
        return {name: values[-1] for name, values in kind.sweep.items()}

    def answers(self, engine, search, **more):
        request = {"first": 0, "end": QUERIES, "k": K, "search": search, "seconds": 0, "batch": 1, "seed": 1} | more
        return engine.measure(**request)

    def start(self, kind, data):
        engine = worker.Engine(kind.name(), data, kind.builds[0], self.folder / "cache", None)
        self.addCleanup(engine.close)
        return engine

    def check(self, kind, data):
        truth = Truth(data, range(QUERIES), K)
        first = self.start(kind, data)
        found = self.answers(first, self.widest(kind))
        least = 1 if kind.exact else min(LEAST_RECALL, kind.most_recall)
        self.assertGreaterEqual(truth.recall(found["ids"])["recall"], least)
        self.assertEqual(truth.recall(found["ids"])["better_than_truth"], 0)
        self.assertGreater(first.facts["bytes"] + first.facts["exact_bytes"], 0)
        self.assertGreaterEqual(first.facts["bytes"], 0)
        self.assertGreater(found["qps"], 0)
        self.assertLessEqual(found["p50_us"], found["p99_us"])
        for batch in {*kind.batches, *kind.calls} - {1}:
            batched = self.answers(first, self.widest(kind), batch=batch)
            self.assertGreaterEqual(truth.recall(batched["ids"])["recall"], least)
        first.close()
        again = self.start(kind, data)  # from the cache, where it has one
        if kind.load is not None:
            self.assertEqual(again.facts, first.facts)
            self.assertEqual([list(i) for i in self.answers(again, self.widest(kind))["ids"]], [list(i) for i in found["ids"]])

    def test_all(self):
        sets, n_checked = make(self.folder), 0
        for name, kind in peer.all_peers().items():
            if kind.version() is None:
                print(f"{name}: {kind.package} is not installed: skipped")
                continue
            if not kind.builds:
                print(f"{name}: not on this machine: skipped")
                continue
            metrics = kind.metrics if kind.kinds == ("dense",) else ("dot",)
            for data in [with_metric(sets[k], m) for k in kind.kinds for m in metrics]:
                with self.subTest(peer=name, metric=data.metric):
                    self.check(kind, data)
                    n_checked += 1
        print(f"{n_checked} pairs of peer and metric checked against ground truth (seed {SEED})")

    def test_what_seismic_reads_is_counted_of_its_own_search(self):
        kind = peer.all_peers()["Seismic"]
        if kind.version() is None:
            self.skipTest(f"{kind.package} is not installed")
        import seismic_bytes
        data = make(self.folder)["sparse"]
        built = {"n_postings": 40, "centroid_fraction": 0.2, "summary_energy": 0.6}
        index = kind.build(data, built)
        counted = seismic_bytes.Counted(data, index.index, built["summary_energy"])
        for search in ({"query_cut": 4, "heap_factor": 1.0, "sorted": True}, {"query_cut": 8, "heap_factor": 0.8, "sorted": False}):
            index.use(search)
            for query in range(QUERIES):
                found = counted.search(query, *search.values())
                own = index.ids_of(index.search(index.query(data.queries(), query), seismic_bytes.K))
                self.assertEqual(sorted(found[0]), sorted(own))
                n_rows = found[4]
                self.assertEqual(found[3], n_rows * 30 * 4)  # all rows have 30 entries of 4 bytes
                self.assertGreaterEqual(found[2], n_rows * seismic_bytes.POSTING_BYTES)
                self.assertGreater(found[1], 0)

    def test_what_fails_in_its_process_is_told(self):
        data = make(self.folder)["dense"]
        with self.assertRaisesRegex(RuntimeError, "no such peer"):
            worker.Engine("no such peer", data, {}, self.folder / "cache", None)

    def test_other_rows_other_identity(self):
        data = make(self.folder)["dense"]
        before = data.identity()
        self.assertEqual(before, with_metric(data, "dot").identity())
        self.assertNotEqual(before, with_metric(data, "euclid").identity())
        np.save(self.folder / "dense.npy", np.ones((4, DIM), np.float16))
        self.assertNotEqual(before, make_again(data).identity())


def make_again(data):
    return Data(data.name, data.files)


class Tables(unittest.TestCase):
    def point(self, index, recall, qps, **more):
        return {"index": index, "params": {}, "build_params": {}, "recall": recall, "qps": qps, "build_s": 1.0,
                "bytes_per_vector": 1, "exact_bytes_per_vector": 2, "disturbed": False} | more

    def test_fastest_that_reaches_the_target(self):
        found = [self.point("a", 0.91, 50), self.point("a", 0.96, 40), self.point("a", 0.94, 90)]
        self.assertEqual(report.fastest(found, 0.95)["qps"], 40)
        self.assertEqual(report.fastest(found, 0.90)["qps"], 90)
        self.assertIsNone(report.fastest(found, 0.97))

    def test_ratio_is_ours_over_theirs(self):
        text = report.pareto([self.point("quiver flat", 1, 300), self.point("other", 0.95, 200)], [0.9, 0.99])
        other = next(line for line in text.splitlines() if line.startswith("other"))
        self.assertIn("200 (1.50x)", other)
        self.assertTrue(other.rstrip().endswith("–"))
        self.assertEqual(report.of_rounds([2, 3, 8], [1, 1, 4]), "2.00 (2.00–3.00)")

    def test_batches_are_another_engine(self):
        single, batched = self.point("a", 1, 2, batch=1), self.point("a", 1, 9, batch=1000)
        self.assertEqual([points.engine(p) for p in (single, batched)], ["a", "a, 1,000 a call"])

    def test_points_around_each_target_are_kept(self):
        front = [{"recall": r, "setting": r} for r in (0.5, 0.6, 0.85, 0.92, 0.93, 0.96, 0.97, 0.995)]
        kept = [p["setting"] for p in choosing.thinned(front, [0.9, 0.99])]
        self.assertEqual(kept, [0.85, 0.92, 0.93, 0.97, 0.995])
        self.assertEqual(choosing.thinned(front[:2], [0.9]), front[1:2])

    def test_chosen_for_the_targets_that_it_reaches_cheapest(self):
        tried = [{"recall": r, "cpu_us": c} for r, c in ((0.9, 10), (0.93, 30), (0.96, 20), (0.99, 50), (0.8, 5))]
        found = choosing.chosen(tried, [0.9, 0.95])
        self.assertEqual([(p["recall"], p["chosen_for"]) for p in found], [(0.9, [0.9]), (0.96, [0.95]), (0.99, [])])

    def test_tried_settings_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tried.json"
            first = choosing.Tried(path)
            first.of({"a": 1, "b": 2}, lambda: {"recall": 1})
            first.keep()
            again = choosing.Tried(path)
            self.assertEqual(again.of({"b": 2, "a": 1}, lambda: self.fail("tried again")), {"recall": 1})
            self.assertEqual(again.of({"a": 2}, lambda: {"recall": 2}), {"recall": 2})

    def test_page_takes_the_chosen_points(self):
        more = {"qps_repeats": [1, 2], "cpu_us_repeats": [1, 1], "p50_us": 1, "p99_us": 2, "commit": "c", "isa": "i",
                "date": "2020-01-01", "exact": False}
        found = [self.point("quiver a", 0.96, 300, chosen_for=[0.95], **more), self.point("b", 0.97, 100, chosen_for=[], **more),
                 self.point("b", 0.951, 60, chosen_for=[0.95], **more), self.point("quiver b", 1, 9, **more | {"exact": True})]
        text = results.page("set", found, [0.95], "head", "legend", ["c: no"])
        lines = [line for line in text.splitlines() if line.startswith("| ")]
        self.assertEqual([line.split(" | ")[1] for line in lines[2:]], ["quiver a", "b", "quiver b"])
        self.assertIn("| 60.0 | 1.00 (1.00–1.00) |", lines[3])

    def test_flags_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            write_sparse(Path(folder), np.random.default_rng(SEED))
            data = peers_data.find(folder)[0]
            own = ours.Ours("quiver", "x --build a=1 --sweep method=exact --sweep y=1,2 --sweep z=3", data, folder)
        self.assertEqual((own.index, own.exact), ("quiver x exact", True))
        self.assertNotIn("--sweep", own.command)
        self.assertEqual(own.command[own.command.index("--build") + 1], "a=1")
        picked = [{"method": "exact", "y": 2, "z": 3}, {"method": "exact", "y": 1, "z": 3}]
        self.assertEqual(own.grid(picked), {"method": "exact", "y": "1,2", "z": "3"})

    def test_rounds_are_merged_by_medians(self):
        keys = dict.fromkeys(ours.MEDIANS, 5) | {"build_s": 1, "cpu_share": 1, "recall_p5": 0.5}
        merged = ours.merged([keys | {"qps": q, "p50_us": p, "recall": r}
                              for q, p, r in ((10, 1, 0.9), (30, 9, 0.95), (20, 2, 0.88))])
        self.assertEqual((merged["qps"], merged["p50_us"], merged["qps_spread"]), (20, 2, 1.0))
        self.assertEqual(merged["recall"], 0.91)


if __name__ == "__main__":
    unittest.main()
