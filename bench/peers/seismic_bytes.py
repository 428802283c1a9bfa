#!/usr/bin/env python3
"""Counts the bytes that a search of Seismic reads, by running its algorithm over the blocks of a built index.

    bench/peers/seismic_bytes.py --data …/arxiv-100k --cache build/cache/peers --points bench/results/sparse-arxiv-100k.jsonl

The library counts nothing and does not expose its summaries. It does expose the rows of a list, block after block,
ascending within each: a block ends where they descend. Summaries follow from the rows of a block, and the search from both.
Comparing answers to the same queries checks that this is the library's search. The bytes of our index come from the JSON
lines of `quiver bench ann` (`work_per_query`) and docs/formats/seismic.md.
"""
import argparse
import heapq
import json
import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from adapters.seismic_lsr import ENTRY_BYTES, Seismic  # noqa: E402
from data import Truth, find  # noqa: E402
from results import markdown  # noqa: E402
from worker import folder_of  # noqa: E402

K = 10
POSTING_BYTES, BLOCK_END_BYTES, SCALE_BYTES = 8, 8, 8  # offset and length of a row; u64; minimum and step, f32 each
RANGE_ROWS, RUN_HEAD_BYTES, RUN_PLACE_BYTES, TOTALS_BYTES = 16384, 32, 4, 64  # ours: docs/formats/seismic.md
PLACE_BYTES, TERMS_PER_PAD, LINE = 8, 16, 64
EXACT_ENTRY_BYTES = 8
N_EXACT = K + K // 5 + 1  # rows that our search scores from the stored values


class List:
    """The blocks of one list: rows, and summaries (block, component, value) with values decoded from 8-bit codes."""

    def __init__(self, rows, of_list, energy):
        starts = np.flatnonzero(np.diff(of_list) < 0) + 1
        self.blocks = np.split(of_list, starts)
        parts = [self.summary(rows, block, energy) for block in self.blocks]
        self.block = np.repeat(np.arange(len(parts)), [len(c) for c, _ in parts])
        self.component = np.concatenate([c for c, _ in parts])
        self.value = np.concatenate([v for _, v in parts])
        self.number_bits = max(len(parts) - 1, 1).bit_length()

    @staticmethod
    def summary(rows, block, energy):
        of_rows = [rows[row] for row in block]
        components = np.concatenate([i for i, _ in of_rows])
        found, where = np.unique(components, return_inverse=True)
        largest = np.zeros(len(found), np.float32)
        np.maximum.at(largest, where, np.concatenate([v for _, v in of_rows]).astype(np.float16).astype(np.float32))
        order = np.argsort(-largest, kind="stable")
        sums = np.cumsum(largest[order])
        kept = order[:np.searchsorted(sums, energy * sums[-1]) + 1]
        values = largest[kept]
        step = (values.max() - values.min()) / 255
        coded = values if step == 0 else values.min() + step * np.round((values - values.min()) / step)
        return found[kept], coded

    def estimates(self, wide):
        """Returns (estimate of every block, entries read, blocks with entries)."""
        weights = wide[self.component]
        read = weights > 0
        sums = np.bincount(self.block[read], weights[read] * self.value[read], len(self.blocks))
        return sums, int(read.sum()), len(np.unique(self.block[read]))


class Counted:
    """The search. Creates lists when they are first used."""

    def __init__(self, data, index, energy):
        self.rows, self.queries, self.index, self.energy = data.raw("base"), data.queries(), index, energy
        self.wide = np.zeros(data.dim, np.float32)
        self.lists = {}

    def list(self, component):
        if component not in self.lists:
            of_list = np.asarray(self.index.get_doc_ids_in_postings(int(component)), np.int64)
            self.lists[component] = List(self.rows, of_list, self.energy) if len(of_list) else None
        return self.lists[component]

    def search(self, query, query_cut, heap_factor, sorted_first):
        """(ids, bytes of summaries, of postings, of rows)."""
        components, values = self.queries[query]
        self.wide[components] = values
        best, seen = [], set()
        summaries = postings = entries = 0
        for place, at in enumerate(np.argsort(-values, kind="stable")[:query_cut]):
            of_list = self.list(components[at])
            if of_list is None:
                continue
            estimates, n_read, n_blocks = of_list.estimates(self.wide)
            summaries += n_read * (1 + of_list.number_bits / 8) + n_blocks * SCALE_BYTES
            order = np.argsort(-estimates, kind="stable") if sorted_first and place == 0 else range(len(of_list.blocks))
            for number in order:
                if len(best) == K and estimates[number] < heap_factor * best[0][0]:
                    continue
                block = of_list.blocks[number]
                postings += BLOCK_END_BYTES + POSTING_BYTES * len(block)
                for row in block:
                    if row not in seen:
                        seen.add(row)
                        entries += self.offer(best, row)
        self.wide[components] = 0
        return [row for _, row in sorted(best, reverse=True)], summaries, postings, entries * ENTRY_BYTES, len(seen)

    def offer(self, best, row):
        components, values = self.rows[row]
        score = float(self.wide[components] @ values)
        if len(best) < K:
            heapq.heappush(best, (score, row))
        elif score > best[0][0]:
            heapq.heapreplace(best, (score, row))
        return len(components)


def theirs(point, data, cache, queries, counted):
    """Returns a row of the table: means over the queries, and how many answers equal the library's."""
    build, search = point["build_params"], point["params"]
    key = json.dumps(build, sort_keys=True)
    if key not in counted:
        index = Seismic.load(folder_of(Seismic, data, build, cache), data, build)
        counted[key] = index, Counted(data, index.index, build["summary_energy"])
    index, simulated = counted[key]
    index.use(search)
    found = [simulated.search(q, search["query_cut"], search["heap_factor"], search["sorted"]) for q in queries]
    own = [index.ids_of(index.search(index.query(data.queries(), q), K)) for q in queries]
    same = np.mean([len(set(f[0]) & set(o)) / K for f, o in zip(found, own)])
    summaries, postings, rows, n_rows = (float(np.mean([f[i] for f in found])) for i in (1, 2, 3, 4))
    return {"recall": point["recall"], "index": summaries + postings, "codes": rows, "exact": 0.0, "rows": n_rows, "same": same,
            "summaries": summaries, "postings": postings, "recall_here": recall_of(data, queries, [f[0] for f in found])}


def recall_of(data, queries, ids, truths={}):
    key = (queries.start, queries.stop)
    if key not in truths:
        import datasets
        truths[key] = Truth(data, queries, K, datasets.load(data.files.truth) if data.files.truth else None)
    return truths[key].recall(ids)["recall"]


def record_bytes(rows):
    """Bytes of our record, u8: terms and codes of a row padded to 16, from the start of a cache line; plus its offset."""
    padded = -(-np.diff(rows.indptr) // TERMS_PER_PAD) * TERMS_PER_PAD
    return float(np.mean(-(-3 * padded // LINE) * LINE)) + PLACE_BYTES


def ours(point, data):
    work, rows = point["work_per_query"], data.raw("base")
    postings = 2 * work["codes_scored"]
    runs = work["lists"] * -(-len(rows) // RANGE_ROWS) * (RUN_HEAD_BYTES + RUN_PLACE_BYTES)
    totals = TOTALS_BYTES * float(np.mean(np.diff(data.queries().indptr)))
    return {"recall": point["recall"], "index": postings + runs + totals, "rows": work["rows_scored"] - N_EXACT,
            "codes": (work["rows_scored"] - N_EXACT) * record_bytes(rows), "exact": work["bytes"] - postings}


LEGEND = """\
Bytes that one search reads: means over queries {first} to {last}, k 10, the settings of [the table]({page}),
commit {commit}. *index*: for Seismic, summaries (codes, block numbers, scales) and the postings of opened blocks; for ours,
postings, headers of runs and counts. *codes*: the rows that score candidates: for Seismic its f16 rows, for ours 8-bit records.
*exact rows*: f32 rows, from which ours scores its results; Seismic has none. *a document*: index and codes divided by the
documents of the collection. *ours / it*: ratio of index and codes; in brackets including exact rows.

Ours comes from the counters of the search (`work_per_query` of `quiver bench ann`) and the sizes of
[the format](../../docs/formats/seismic.md). Seismic counts nothing: `bench/peers/seismic_bytes.py` runs its algorithm in numpy
over the blocks of its own built index; {same:.1%} of the answers equal the library's. Three things are not counted, in Seismic's
favour: the directories of its summaries, its table of visited rows, and cache lines of which it needs only a few bytes."""


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--points", type=Path, required=True, help="JSON lines of bench/peers/run.py")
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=200)
    return parser.parse_args()


def main():
    o = options()
    data = next(d for d in find(o.data) if d.kind == "sparse")
    points = [json.loads(line) for line in o.points.read_text().splitlines()]
    queries, counted, rows, same = range(o.first, o.first + o.queries), {}, [], []
    for target in (.9, .95, .98, .99):
        chosen = [p for p in points if target in p.get("chosen_for", [])]
        own = ours(next(p for p in chosen if p["index"].startswith("quiver seismic scan")), data)
        it = theirs(next(p for p in chosen if p["index"] == "Seismic"), data, o.cache, queries, counted)
        print(target, own, it, file=sys.stderr)
        same.append(it["same"])
        rows += table_rows(f"{target:g}"[1:], own, it, len(data))
    commit = next(p["commit"] for p in points if p["index"].startswith("quiver"))[:12]
    print("# arxiv-100k/sparse: bytes that a search reads\n")
    facts = {"page": o.points.with_suffix(".md").name, "commit": commit, "same": float(np.mean(same))}
    print(LEGEND.format(first=queries.start, last=queries.stop - 1, **facts) + "\n")
    heads = ["recall", "engine", "measured", "candidates", "index", "codes", "exact rows", "a document", "ours / it"]
    print("\n".join(markdown(heads, rows)))


def table_rows(label, own, it, n):
    whole = [x["index"] + x["codes"] for x in (own, it)]
    ratio = f"{whole[0] / whole[1]:.2f} ({(whole[0] + own['exact']) / whole[1]:.2f})"
    for name, x, size, beside in (("quiver seismic scan", own, whole[0], ""), ("Seismic", it, whole[1], ratio)):
        yield [label, name, f"{x['recall']:.4f}", f"{x['rows']:,.0f}", *(f"{x[key]:,.0f}" for key in ("index", "codes", "exact")),
               f"{size / n:.2f}", beside]


if __name__ == "__main__":
    main()
