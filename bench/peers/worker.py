"""The process of one peer's index: builds or loads it, then measures on request, on one core and one thread."""
import json
import multiprocessing
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import peer

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
WARMUP_CALLS = 100


class Engine:
    """The runner's handle of a peer's index in another process."""

    def __init__(self, name, data, parameters, cache, cpu):
        self.index, self.build_parameters = name, parameters
        self.arguments = (name, data, parameters, cache, cpu)
        self.folder = folder_of(peer.all_peers()[name], data, parameters, Path(cache)) if name in peer.all_peers() else None
        self.start()

    def start(self):
        for variable in THREADS:
            os.environ[variable] = "1"
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *self.arguments), daemon=True)
        self.process.start()
        other.close()
        try:
            self.facts = self.answer()
        except RuntimeError:
            self.close()
            raise

    def renew(self):
        """Starts another process with the same index, so that the memory layout of one process does not affect all rounds."""
        self.close()
        self.start()

    def measure(self, **request):
        self.pipe.send(request)
        return self.answer()

    def answer(self):
        try:
            good, answer = self.pipe.recv()
        except EOFError:
            self.process.join()
            good, answer = False, f"its process ended with status {self.process.exitcode}"
        if not good:
            raise RuntimeError(answer)
        return answer

    def close(self):
        self.pipe.close()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()


def serve(pipe, name, data, parameters, cache, cpu):
    try:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some libraries print to stdout while they build
        kind = peer.all_peers()[name]
        index, facts = cached(kind, data, parameters, Path(cache))
        queries = data.queries()
        pipe.send((True, facts))
        while True:
            pipe.send((True, measure(index, queries, **pipe.recv())))
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:  # an exception of a library ends this engine, not the run
        pipe.send((False, f"{type(error).__name__}: {error}"))


# Building, once.

def cached(kind, data, parameters, cache):
    """Returns the index, from the cache if present, and its build cost."""
    folder = folder_of(kind, data, parameters, cache)
    note = folder / "built.json"
    if note.exists():
        facts = json.loads(note.read_text())
        index = kind.load(folder, data, parameters)
    else:
        index, facts = build(kind, data, parameters)
        if kind.load is not None:
            keep(index, facts, folder)
    data.release()
    facts["bytes"], facts["exact_bytes"] = index.bytes()
    facts["isa"] = kind.isa()  # here, because not all of these libraries can be loaded into one process
    return index, facts


def folder_of(kind, data, parameters, cache):
    words = [kind.name().replace(" ", "-"), kind.version(), *(f"{k}{v}" for k, v in sorted(parameters.items()))]
    return cache / data.identity() / "-".join(map(str, words))


def build(kind, data, parameters):
    data.rows()  # reading the file does not count as building
    watch_peak()
    before, begun, cpu = status_bytes("VmRSS"), time.perf_counter(), time.process_time()
    index = kind.build(data, parameters)
    facts = {"build_s": time.perf_counter() - begun, "build_cpu_s": time.process_time() - cpu,
             "build_peak_bytes": max(status_bytes("VmHWM") - before, 0)}
    return index, facts


def keep(index, facts, folder):
    """Writes to a temporary folder and renames it, so that the cache holds only complete indexes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    index.save(made)
    (made / "built.json").write_text(json.dumps(facts))
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)


def watch_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak
    except OSError:
        pass


def status_bytes(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


# Measuring.

def measure(index, queries, first, end, k, search, seconds, batch, seed):
    """Makes passes over queries first to end, each in a new random order, for at least `seconds`. Returns the ids of the last pass."""
    index.use(search)
    order = list(range(end - first))
    found, times = [None] * len(order), []
    one_pass = pass_of_batches if batch > 1 else pass_of_calls
    prepared = [index.query(queries, first + i) for i in order] if batch == 1 else queries[first:end]
    shuffle = random.Random(seed).shuffle
    one_pass(index, prepared, order[:WARMUP_CALLS], k, batch, found, [])
    wall = cpu = 0.0
    passes = 0
    while passes == 0 or wall < seconds:
        shuffle(order)
        begun, used = time.perf_counter(), time.process_time()
        one_pass(index, prepared, order, k, batch, found, times)
        wall += time.perf_counter() - begun
        cpu += time.process_time() - used
        passes += 1
    n = passes * len(order)
    p50, p95, p99, p999 = (float(np.percentile(times, p, method="inverted_cdf")) / 1e3 for p in (50, 95, 99, 99.9))
    ids = [np.asarray(index.ids_of(f), np.int64) for f in found]
    return {"ids": ids, "qps": n / wall, "p50_us": p50, "p95_us": p95, "p99_us": p99, "p999_us": p999,
            "cpu_us": cpu * 1e6 / n, "cpu_share": cpu / wall}


def pass_of_calls(index, prepared, order, k, _, found, times):
    clock, search = time.perf_counter_ns, index.search
    for i in order:
        query = prepared[i]
        begun = clock()
        found[i] = search(query, k)
        times.append(clock() - begun)


def pass_of_batches(index, queries, order, k, batch, found, times):
    for first in range(0, len(order), batch):
        which = order[first:first + batch]
        block = np.ascontiguousarray(queries[which])
        begun = time.perf_counter_ns()
        ids = index.search_batch(block, k)
        times.append(time.perf_counter_ns() - begun)
        for i, row in zip(which, ids):
            found[i] = row
