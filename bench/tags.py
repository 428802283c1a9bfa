#!/usr/bin/env python3
"""Searches with filters of tags, as in the filter track of big-ann-benchmarks (YFCC): Quiver beside FAISS and hnswlib.

    bench/tags.py --base DIR/dense.npy --queries DIR/queries.dense.npy --cache DIR [--quiver build/release/quiver]

Each row gets about eleven of 200,000 tags of Zipf frequencies; half of them depend on where its vector lies. A query
asks for two tags of a row near it, which at most --share of the rows have (and at least k). All engines get the allowed
rows for nothing, as a bitmap or a list, search on one thread, one query a call, and are swept over their parameters. The
first half of the queries is the warm-up. Run it with the Python of bench/peers/setup, pinned: taskset -c 1 …
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

N_TAGS = 200_000
MEAN_TAGS = 11
N_TOPICS = 2_000


def zipf_tags(random, n):
    """Numbers of tags, tag t with a frequency in proportion to 1 / (t + 1)."""
    return np.minimum(np.exp(random.random(n) * np.log(N_TAGS + 1)).astype(np.int64) - 1, N_TAGS - 1)


def topics_of(vectors, anchors):
    """The anchor with the largest product, for each vector."""
    found = [np.argmax(vectors[i:i + 20_000].astype(np.float32) @ anchors.T, axis=1) for i in range(0, len(vectors), 20_000)]
    return np.concatenate(found)


def tags_of_rows(rows, random):
    """(row, tag) pairs without repetitions, sorted by tag; and the topic's anchors."""
    anchors = rows[np.sort(random.choice(len(rows), N_TOPICS, replace=False))].astype(np.float32)
    topics = topics_of(rows, anchors)
    counts = np.clip(random.lognormal(np.log(MEAN_TAGS) - .32, .8, len(rows)), 1, 100).astype(np.int64)
    owner = np.repeat(np.arange(len(rows)), counts)
    tags = zipf_tags(random, len(owner))
    of_topic = random.random(len(owner)) < .5
    # A topic's tags are the dictionary turned by a place of its own: its frequent tags are others.
    tags[of_topic] = (tags[of_topic] + topics[owner[of_topic]] * (N_TAGS // N_TOPICS)) % N_TAGS
    pairs = np.unique(tags * len(rows) + owner)
    return pairs % len(rows), pairs // len(rows)


def filters_of(rows, queries, k, most, seed):
    """The allowed rows of each query, ascending."""
    random = np.random.default_rng(seed)
    owner, tags = tags_of_rows(rows, random)
    starts = np.searchsorted(tags, np.arange(N_TAGS + 1))
    by_row = owner[np.argsort(owner, kind="stable")]
    row_starts = np.searchsorted(by_row, np.arange(len(rows) + 1))
    tags_by_row = tags[np.argsort(owner, kind="stable")]
    sample = np.sort(random.choice(len(rows), min(len(rows), 50_000), replace=False))
    near = topics_of(queries, rows[sample].astype(np.float32))
    lists = []
    for query in range(len(queries)):
        models = [sample[near[query]], *random.choice(len(rows), 10_000)]  # its neighbour, or any row if that has no fit
        lists.append(next(allowed for row in models for allowed in
                          some_pairs(tags_by_row[row_starts[row]:row_starts[row + 1]], owner, starts, random)
                          if k <= len(allowed) <= most))
    return lists


def some_pairs(tags, owner, starts, random):
    """The rows of up to 20 pairs of `tags`."""
    for _ in range(20 if len(tags) > 1 else 0):
        a, b = random.choice(tags, 2, replace=False)
        yield np.intersect1d(owner[starts[a]:starts[a + 1]], owner[starts[b]:starts[b + 1]], assume_unique=True)


def write_lists(lists, prefix):
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]).astype(np.int64)
    np.save(f"{prefix}.indptr.npy", indptr)
    np.save(f"{prefix}.indices.npy", np.concatenate(lists).astype(np.uint32))
    np.save(f"{prefix}.values.npy", np.ones(indptr[-1], np.float32))


def truth_of(rows, queries, lists, k):
    return [allowed[np.argsort(-(rows[allowed].astype(np.float32) @ query), kind="stable")[:k]]
            for query, allowed in zip(queries, lists)]


def recall_of(found, truth):
    return float(np.mean([len(np.intersect1d(ids, best)) / len(best) for ids, best in zip(found, truth)]))


def measured(search, n):
    """Calls a second of `search(i)` over the second half of the queries, and all results."""
    results = [search(i) for i in range(n)]
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        for i in range(n // 2, n):
            search(i)
        rates.append((n - n // 2) / (time.perf_counter() - start))
    return float(np.median(rates)), results


class FaissPeer:
    """An index of FAISS whose searches take a selector of rows."""

    def __init__(self, index, parameters_of, selector_of):
        import faiss
        self.faiss, self.index, self.parameters_of = faiss, index, parameters_of
        self.selector_of = selector_of

    def sweep(self, queries, lists, k, values):
        selectors = [self.selector_of(rows) for rows in lists]
        ids, scores = np.empty(k, np.int64), np.empty(k, np.float32)
        ids_at, scores_at = self.faiss.swig_ptr(ids), self.faiss.swig_ptr(scores)
        vectors = [np.ascontiguousarray(query) for query in queries]
        places = [self.faiss.swig_ptr(vector) for vector in vectors]
        for value in values:
            parameters = [self.parameters_of(selector[0], value) for selector in selectors]

            def search(i):
                self.index.search_c(1, places[i], k, scores_at, ids_at, parameters[i])
                return ids[ids >= 0].copy()
            yield value, *measured(search, len(queries))


def cached(path, build):
    import faiss
    if not path.exists():
        faiss.write_index(build(), str(path))
    return faiss.read_index(str(path))


def faiss_peers(rows, cache):
    """Name -> (peer, values of its sweep). Made one after another, since each holds all rows."""
    import faiss
    faiss.omp_set_num_threads(1)
    n, dim = rows.shape

    def bitmap(allowed):
        bits = np.zeros((n + 7) // 8 * 8, np.uint8)
        bits[allowed] = 1
        packed = np.packbits(bits, bitorder="little")
        return faiss.IDSelectorBitmap(n, faiss.swig_ptr(packed)), packed

    def array(allowed):
        kept = allowed.astype(np.int64)
        return faiss.IDSelectorArray(len(kept), faiss.swig_ptr(kept)), kept

    def built(description, train):
        faiss.omp_set_num_threads(os.cpu_count())
        index = faiss.index_factory(dim, description, faiss.METRIC_INNER_PRODUCT)
        sample = np.random.default_rng(1).choice(n, min(n, train), replace=False)
        index.train(rows[np.sort(sample)].astype(np.float32))
        for first in range(0, n, 50_000):
            index.add(rows[first:first + 50_000].astype(np.float32))
        faiss.omp_set_num_threads(1)
        return index

    def probes(selector, value):
        return faiss.SearchParametersIVF(sel=selector, nprobe=value)

    yield "faiss Flat, list of rows", FaissPeer(
        cached(cache / "flat.faiss", lambda: built("Flat", 1)),
        lambda selector, _: faiss.SearchParameters(sel=selector), array), [0]
    for description in ("IVF1024,Flat", "IVF4096,Flat", "IVF4096,SQ8"):
        n_lists = int(description[3:7])
        yield f"faiss {description}", FaissPeer(
            cached(cache / f"{description.replace(',', '-')}.faiss", lambda d=description: built(d, 64 * n_lists)),
            probes, bitmap), [n_lists >> shift for shift in range(10, -1, -1)]

    def reach(selector, value):
        return faiss.SearchParametersHNSW(sel=selector, efSearch=value)
    yield "faiss HNSW32", FaissPeer(cached(cache / "hnsw.faiss", lambda: built("HNSW32", 1)), reach, bitmap), \
        [64, 256, 1024, 4096, 16384]


def hnswlib_points(rows, queries, lists, k, cache):
    """hnswlib calls a Python function for each row that it visits."""
    import hnswlib
    index = hnswlib.Index("ip", rows.shape[1])
    path = cache / "hnswlib.index"
    if path.exists():
        index.load_index(str(path))
    else:
        index.init_index(len(rows), M=16, ef_construction=100)
        for first in range(0, len(rows), 50_000):
            index.add_items(rows[first:first + 50_000].astype(np.float32), np.arange(first, min(first + 50_000, len(rows))))
        index.save_index(str(path))
    index.set_num_threads(1)
    sets = [set(allowed.tolist()) for allowed in lists]
    for ef in (64, 256, 1024, 4096):
        index.set_ef(ef)

        def search(i):
            try:
                return index.knn_query(queries[i], k=k, filter=sets[i].__contains__)[0][0]
            except RuntimeError:  # it found fewer than k
                return np.empty(0, np.int64)
        yield ef, *measured(search, len(queries))


def our_points(arguments, prefix, n_queries):
    command = [arguments.quiver, "bench", "ann", "--base", arguments.base, "--queries", arguments.queries, "--query-rows",
               f"0:{n_queries}", "--dtype", "f16", "--index", "ivf", "--filter", f"rows:{prefix}", "--k", str(arguments.k),
               "--sweep", "effort=16,32,64,128,256", "--repeats", "3", "--cache", str(arguments.cache), "--json",
               f"{prefix}.json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if not arguments.verbose else None)
    for line in Path(f"{prefix}.json").read_text().splitlines():
        yield json.loads(line)


def report(name, points, best):
    for value, rate, recall in points:
        print(f"{name:28} {value:>6} {recall:7.4f} {rate:10,.0f}", flush=True)
        if recall >= .9:
            best[name] = max(best.get(name, 0), rate)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--cache", required=True, type=Path)
    parser.add_argument("--quiver", default="build/release/quiver")
    parser.add_argument("--n-queries", type=int, default=1000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--share", type=float, default=.01, help="largest share of rows that a filter allows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="engines whose names contain this")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    rows = np.load(arguments.base, mmap_mode="r")
    queries = np.load(arguments.queries)[:arguments.n_queries].astype(np.float32)
    lists = filters_of(rows, queries, arguments.k, arguments.share * len(rows), arguments.seed)
    prefix = str(arguments.cache / "allowed")
    write_lists(lists, prefix)
    sizes = np.array([len(allowed) for allowed in lists])
    print(f"{len(rows):,} rows, {len(queries)} queries; allowed rows: median {np.median(sizes):,.0f}, mean {sizes.mean():,.0f}, "
          f"most {sizes.max():,}")
    truth = truth_of(rows, queries, lists, arguments.k)
    print(f"{'engine':28} {'value':>6} {'recall':>7} {'queries/s':>10}")
    best = {}

    def wanted(name):
        return arguments.only is None or arguments.only in name
    if wanted("quiver"):
        report("quiver", ((next(iter(point["params"].values())), point["qps"], point["recall"]) for point in
                          our_points(arguments, prefix, len(queries))), best)
    if wanted("faiss"):
        for name, peer, values in faiss_peers(rows, arguments.cache):
            if wanted(name):
                report(name, ((value, rate, recall_of(found, truth)) for value, rate, found in
                              peer.sweep(queries, lists, arguments.k, values)), best)
    if wanted("hnswlib"):
        report("hnswlib", ((value, rate, recall_of(found, truth)) for value, rate, found in
                           hnswlib_points(rows, queries, lists, arguments.k, arguments.cache)), best)
    peers = {name: rate for name, rate in best.items() if name != "quiver"}
    if "quiver" in best and peers:
        name = max(peers, key=peers.get)
        print(f"recall .9: quiver {best['quiver']:,.0f} queries/s, best peer {name} {peers[name]:,.0f}: "
              f"{best['quiver'] / peers[name]:.2f} times (bar 5)")


if __name__ == "__main__":
    sys.exit(main())
