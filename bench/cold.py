#!/usr/bin/env python3
"""Measures searches over files that are not in the page cache: of a server just started, and of Seismic.

    bench/cold.py --data …/arxiv-100k [--peers-python build/peers-venv/bin/python]

The sparse rows are imported and indexed once, below --cache. Each round drops all files of the data directory from the page
cache (posix_fadvise) and starts the server. Its first answer includes opening the collection, which reads every file to check
it. Then one connection sends the queries one after another. Then the pages are dropped under the running server (MADV_PAGEOUT,
needs root), as when memory is short, and the queries are sent again; the last pass is warm. Random reads of 4 KiB from dropped
files are timed too. With --peers-python, an index of `pyseismic-lsr` built by bench/peers/run.py is treated the same way: its
file is dropped, loaded whole, and searched in its process. Prints Markdown.
"""
import argparse
import ctypes
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets  # noqa: E402
from served import Server  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
COLLECTION, FIELD = "cold", "sparse"
PAGE = 4096
N_READS = 200
N_SOON = 200
READY_S = 120
PIDFD_OPEN, PROCESS_MADVISE, MADV_PAGEOUT = 434, 440, 21  # syscalls of all architectures


# Files and the page cache.

def files_of(place):
    return [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())


def drop(place):
    """Drops the files from the page cache. Returns (bytes of the files, bytes that stayed in memory)."""
    os.sync()
    files = files_of(place)
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", *map(str, files)]
    told = subprocess.run(command, capture_output=True, text=True)
    return sum(p.stat().st_size for p in files), sum(map(int, told.stdout.split()))


class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def drop_mapped(process, place):
    """Like `drop`, for files that a process has mapped."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    descriptor = call(PIDFD_OPEN, process, 0)
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        if str(place.resolve()) not in line:
            continue
        first, end = (int(x, 16) for x in line.split()[0].split("-"))
        if call(PROCESS_MADVISE, descriptor, ctypes.byref(Span(first, end - first)), 1, MADV_PAGEOUT, 0) < 0:
            raise SystemExit(f"process_madvise: {os.strerror(ctypes.get_errno())}")
    os.close(descriptor)
    return drop(place)


def random_reads_us(place):
    """Times random reads of 4 KiB from dropped files: (median, 99th percentile)."""
    drop(place)
    draw, times = random.Random(1), []
    files = [p for p in files_of(place) if p.stat().st_size > 64 * PAGE]
    for _ in range(N_READS):
        path = draw.choice(files)
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        begun = time.perf_counter()
        os.pread(descriptor, PAGE, draw.randrange(path.stat().st_size // PAGE) * PAGE)
        times.append((time.perf_counter() - begun) * 1e6)
        os.close(descriptor)
    times.sort()
    return statistics.median(times), times[int(.99 * N_READS)]


# The server.

def prepared(o, files):
    """Returns the data directory, imported and indexed."""
    folder = o.cache / f"cold-{COLLECTION}-{Path(o.data).name}"
    done = folder.with_name(folder.name + ".complete")
    if not done.exists():
        subprocess.run([str(o.quiver), "import", "--vectors", f"sparse:{FIELD}={files.base}", "--create",
                        "--data-dir", str(folder), "--collection", COLLECTION, "--quiet"], check=True)
        server = Server(o.quiver, folder, prefix=o.pin)
        server.wait_until_green(COLLECTION)
        server.stop()
        done.touch()
    return folder


def query_body(o, files, row):
    parts = (files.queries.with_name(f"{files.queries.name}.{part}.npy") for part in ("indptr", "indices", "values"))
    start, indices, values = map(datasets.load, parts)
    part = slice(int(start[row]), int(start[row + 1]))
    query = {"indices": indices[part].tolist(), "values": values[part].tolist()}
    return json.dumps({"query": query, "using": FIELD, "limit": 10, "params": json.loads(o.params)}).encode()


def first_answer_s(server, body):
    begun = time.perf_counter()
    server("POST", f"/collections/{COLLECTION}/points/query", body)
    return time.perf_counter() - begun


def asked(o, files, server, first, end, truth=False):
    """Sends queries first to end - 1, once each. Returns the JSON line of `quiver bench load`."""
    words = ["--url", server.url, "--collection", COLLECTION, "--using", FIELD, "--kind", "sparse", "--queries", files.queries,
             "--rows", f"{first}:{end}", "--requests", end - first, "--warmup", 0, "--params", o.params, "--json"]
    words += ["--ground-truth", files.truth] if truth and files.truth else []
    done = subprocess.run([*o.pin, str(o.quiver), "bench", "load", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def round_of(o, files, folder):
    body = query_body(o, files, o.first)
    first, soon, end = o.first + 1, o.first + 1 + N_SOON, o.first + o.queries
    bytes_, left = drop(folder)
    server = Server(o.quiver, folder, prefix=o.pin)
    found = {"bytes": bytes_, "left": left, "ready": server.ready_s, "first": first_answer_s(server, body),
             "opened: the next 200": asked(o, files, server, first, soon),
             f"opened: the {end - soon} after": asked(o, files, server, soon, end)}
    found["left"] = max(found["left"], drop_mapped(server.process.pid, folder)[1])
    found |= {"dropped while it served: the first": asked(o, files, server, first - 1, first),
              "dropped: the next 200": asked(o, files, server, first, soon),
              f"dropped: the {end - soon} after": asked(o, files, server, soon, end)}
    asked(o, files, server, o.first, end)
    found["warm, all again"] = asked(o, files, server, o.first, end, truth=True)
    server.stop()
    return found


# Seismic, in a process of its own Python.

PEER = """
import json, sys, time
from pathlib import Path
sys.path[:0] = [{peers!r}]
from data import find
from adapters.seismic_lsr import Seismic
import numpy as np
data = next(d for d in find({data!r}) if d.kind == "sparse")
queries = data.queries()
begun = time.perf_counter()
index = Seismic.load(Path({folder!r}), data, {{}})
found = {{"ready": time.perf_counter() - begun}}
index.use(json.loads({search!r}))
first, soon, end = {first} + 1, {first} + 1 + {soon}, {end}
begun = time.perf_counter()
index.search(index.query(queries, first - 1), 10)
found["first"] = time.perf_counter() - begun
for name, rows in (("loaded: the next 200", range(first, soon)), (f"loaded: the {{end - soon}} after", range(soon, end)),
                   ("", range(first - 1, end)), ("warm, all again", range(first - 1, end))):
    times = []
    for row in rows:
        query = index.query(queries, row)
        begun = time.perf_counter()
        index.search(query, 10)
        times.append((time.perf_counter() - begun) * 1e6)
    p50, p99 = (float(np.percentile(times, p)) for p in (50, 99))
    found |= {{name: {{"qps": 1e6 * len(times) / sum(times), "p50_us": p50, "p99_us": p99}}}} if name else {{}}
print(json.dumps(found))
"""


def peer_round(o, folder):
    bytes_, left = drop(folder)
    code = PEER.format(peers=str(ROOT / "bench" / "peers"), data=o.data, folder=str(folder), search=o.peer_search,
                       first=o.first, end=o.first + o.queries, soon=N_SOON)
    done = subprocess.run([*o.pin, o.peers_python, "-B", "-c", code], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout) | {"bytes": bytes_, "left": left}


# The page.

def table(name, rounds):
    for phase in (key for key in rounds[0] if isinstance(rounds[0][key], dict)):
        rate, p50, p99 = (spread([r[phase][key] for r in rounds]) for key in ("qps", "p50_us", "p99_us"))
        cells = ["", p50, ""] if phase.endswith("the first") else [rate, p50, p99]
        yield "| " + " | ".join([name, phase, *cells]) + " |"


def spread(values, form="{:,.0f}"):
    return f"{form} ({form}–{form})".format(statistics.median(values), min(values), max(values))


def said(name, rounds, verb):
    ready, first = (spread([r[key] for r in rounds], "{:.2f}") for key in ("ready", "first"))
    left = max(r["left"] for r in rounds) / 1e6
    return (f"- {name}: {rounds[0]['bytes'] / 1e6:.0f} MB of files, of which {left:.1f} MB at most could not be dropped; "
            f"{verb} {ready} s; the first answer {first} s later.")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with sparse rows and queries")
    parser.add_argument("--quiver", default=ROOT / "build" / "release" / "quiver", type=Path)
    parser.add_argument("--params", default='{"sparse": {"postings": 0.12, "candidates": 50}}')
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, help="all processes on this core")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "cache")
    parser.add_argument("--peers-python")
    parser.add_argument("--peer-index", type=Path, help="folder of a built index of Seismic")
    parser.add_argument("--peer-search", default='{"query_cut": 6, "heap_factor": 1.0, "sorted": true}')
    o = parser.parse_args()
    o.pin = ["taskset", "-c", str(o.cpu)] if o.cpu is not None else []
    return o


def main():
    o = options()
    o.cache.mkdir(parents=True, exist_ok=True)
    files = datasets.sets_of(Path(o.data))[FIELD](datasets.Options())
    folder = prepared(o, files)
    ours, theirs = [], []
    for number in range(o.rounds):
        ours.append(round_of(o, files, folder))
        theirs += [peer_round(o, o.peer_index)] if o.peers_python else []
        print(f"round {number + 1} of {o.rounds}", file=sys.stderr)
    print(page(random_reads_us(folder), ours, theirs))


def page(reads, ours, theirs):
    last = ours[-1]["warm, all again"]
    lines = [f"Command: `{shlex.join(['bench/cold.py', *sys.argv[1:]])}`; commit {last['commit'][:12]}, {last['cpu']}, "
             f"{last['isa']}, {last['date'][:10]}, {len(ours)} rounds; recall@10 of ours {last['recall']:.3f}. A read of 4 KiB "
             f"at a random place of dropped files takes {reads[0]:,.0f} µs (99 % below {reads[1]:,.0f}).", "",
             "| engine | queries | QPS | p50 µs | p99 µs |", "| --- | --- | --: | --: | --: |",
             *table("quiver, HTTP, one connection", ours), *(table("Seismic, in its process", theirs) if theirs else []), "",
             said("quiver", ours, "started and ready after")]
    return "\n".join(lines + ([said("Seismic", theirs, "all of it read into memory after")] if theirs else []))


if __name__ == "__main__":
    main()
