#!/usr/bin/env python3
"""What a search from Python costs beyond the C++ call, and a batch beside `quiver bench ann`.

Each comparison alternates between the two programs over the same files, pinned to one core; medians are reported.
usage: bench/embedded.py [--repeats N]      wants build/python (scripts/build python quiver_embedded embedded_call)
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import quiver  # noqa: E402

SAMPLE = ROOT / "examples/arxiv-3k"
SEED = 1


def fill(data_dir, vectors):
    with quiver.open(data_dir) as database:
        collection = database.create_collection("c", dim=vectors.shape[1], distance="Dot")
        collection.upsert(np.arange(len(vectors)), vectors)
        collection.wait_until_indexed()


def cpp_us(data_dir, queries, k, rounds):
    with tempfile.NamedTemporaryFile() as file:
        queries.tofile(file.name)
        command = [ROOT / "build/python/embedded_call", data_dir, "c", file.name, str(queries.shape[1]), str(k), str(rounds)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def python_us(data_dir, queries, k, rounds):
    times = []
    with quiver.open(data_dir) as database:
        search = database.collection("c").search
        for _ in range(rounds):
            for query in queries:
                began = time.perf_counter_ns()
                search(query, k)
                times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1e3


def compare_calls(name, vectors, queries, k, repeats, rounds):
    with tempfile.TemporaryDirectory() as directory:
        data_dir = f"{directory}/data"
        fill(data_dir, vectors)
        pairs = [(cpp_us(data_dir, queries, k, rounds), python_us(data_dir, queries, k, rounds)) for _ in range(repeats)]
    cpp, python = (statistics.median(values) for values in zip(*pairs))
    added = statistics.median(p - c for c, p in pairs)
    print(f"{name}: C++ {cpp:.2f} us, Python {python:.2f} us, added {added:.2f} us "
          f"(from {min(p - c for c, p in pairs):.2f} to {max(p - c for c, p in pairs):.2f})", flush=True)


def ann_us(base, queries, k, metric):
    """Microseconds per query of `quiver bench ann`: flat, in one call."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [f"{directory}/{name}.npy" for name in ("base", "queries")]
        np.save(paths[0], base), np.save(paths[1], queries)
        out = f"{directory}/out.jsonl"
        subprocess.run([quiver.binary(), "bench", "ann", "--base", paths[0], "--queries", paths[1], "--metric", metric,
                        "--index", "flat", "--batch", str(len(queries)), "--k", str(k), "--json", out,
                        "--cache", directory, "--repeats", "5"], check=True, capture_output=True)
        return 1e6 / json.loads(Path(out).read_text().splitlines()[0])["qps"]


def batch_us(data_dir, queries, k):
    times = []
    with quiver.open(data_dir, compute_threads=1) as database:
        collection = database.collection("c")
        collection.search(queries, k)
        for _ in range(5):
            began = time.perf_counter_ns()
            collection.search(queries, k)
            times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1e3 / len(queries)


def compare_batches(name, vectors, queries, k, repeats):
    with tempfile.TemporaryDirectory() as directory:
        data_dir = f"{directory}/data"
        fill(data_dir, vectors)
        pairs = [(ann_us(vectors, queries, k, "dot"), batch_us(data_dir, queries, k)) for _ in range(repeats)]
    ann, batch = (statistics.median(values) for values in zip(*pairs))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{name}: batch of {len(queries)}: bench ann {ann:.2f} us, Python {batch:.2f} us per query, ratio {ratio:.3f} "
          f"(from {min(b / a for a, b in pairs):.3f} to {max(b / a for a, b in pairs):.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rng = np.random.default_rng(SEED)
    small = rng.standard_normal((100, 16), dtype=np.float32)
    base = np.load(SAMPLE / "dense.npy").astype(np.float32)
    queries = np.load(SAMPLE / "queries.dense.npy").astype(np.float32)
    compare_calls("100 x 16, random", small, small, 10, repeats, 200)
    compare_calls(f"{base.shape[0]} x {base.shape[1]}, sample", base, queries, 10, repeats, 20)
    many = np.ascontiguousarray(np.resize(queries, (1000, queries.shape[1])))
    compare_batches(f"{base.shape[0]} x {base.shape[1]}, sample", base, many, 10, repeats)
    large = rng.standard_normal((100_000, 128), dtype=np.float32)
    compare_batches("100000 x 128, random", large, rng.standard_normal((1000, 128), dtype=np.float32), 10, repeats)


if __name__ == "__main__":
    main()
