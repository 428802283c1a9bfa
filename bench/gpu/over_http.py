"""Searches over HTTP with devices beside those of the CPU: equal answers, and what clients get.

usage: over_http.py [--devices auto] [--module PATH] [--points 20000] [--queries 10000] [--rows 1000000] [--seconds 10]
Wants numpy. Prints one JSON object a line; exit status 1 if an answer differs.
"""
import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import served  # noqa: E402

SEED = 17
DIM = 96
N_TERMS = 5000
NEVER = 2**40  # KiB of vectors from which a field has an index


def say(step, **facts):
    print(json.dumps({"step": step, **facts}), flush=True)


class MadeUp:
    """Vectors of each kind."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.centres = np.random.default_rng(SEED).standard_normal((40, DIM))

    def vector(self, field):
        rng = self.rng
        if field == "words":
            terms = np.unique((N_TERMS * rng.random(30) ** 3).astype(int))
            return {"indices": terms.tolist(), "values": (rng.exponential(1, len(terms)) + .01).round(4).tolist()}
        if field == "tokens":
            return rng.standard_normal((rng.integers(1, 12), 32)).round(4).tolist()
        if field == "bytes":
            return rng.integers(0, 256, DIM).tolist()
        return (.7 * rng.standard_normal(DIM) + self.centres[rng.integers(40)]).round(4).tolist()


DENSE = {"dot": {"size": DIM, "distance": "Dot"}, "cosine": {"size": DIM, "distance": "Cosine", "datatype": "float16"},
         "euclid": {"size": DIM, "distance": "Euclid", "hnsw_config": {"full_scan_threshold": 1}}, "bytes": {"size": DIM, "distance": "Euclid", "datatype": "uint8"},
         "tokens": {"size": 32, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}}
FIELDS = (*DENSE, "words")


def fill(server, n_points):
    """Fields of all kinds; `euclid` has lists, `words` too, the others are searched exactly."""
    body = {"vectors": DENSE, "sparse_vectors": {"words": {"index": {"full_scan_threshold": 1}}}, "hnsw_config": {"full_scan_threshold": NEVER}}
    server("PUT", "/collections/all", body)
    server("PATCH", "/v1/collections/all/indexes", {"build": {"euclid": {"graph": "never"}}})
    made_up = MadeUp(SEED)
    for first in range(0, n_points, 500):
        points = [{"id": i, "payload": {"owner": i % 50, "year": 1990 + i % 35}, "vector": {f: made_up.vector(f) for f in FIELDS}}
                  for i in range(first, first + 500)]
        server("PUT", "/collections/all/points?wait=true", {"points": points})
    server("POST", "/collections/all/points/delete?wait=true", {"points": list(range(0, n_points, 11))})
    server.wait_until_green("all")


def asked(n):
    """Queries of all fields, with filters of several widths and without."""
    made_up = MadeUp(SEED + 1)
    for i in range(n):
        field = FIELDS[i % len(FIELDS)]
        query = {"query": made_up.vector(field), "using": field, "limit": (1, 10, 60)[i // 6 % 3], "params": {"exact": i % 4 != 0}}
        if i % 3 == 0:
            query["filter"] = {"must": [({"key": "owner", "match": {"any": list(range(i % 49 + 1))}},
                                         {"key": "year", "range": {"gte": 1990 + i % 34}})[i % 2]]}
        yield query


def answers_of(url, queries, device):
    """The `result` of each query; every third request is a batch of 32."""
    for query in queries:
        query["params"]["device"] = device
    requests, at = [], 0
    while at < len(queries):
        n = 32 if len(requests) % 3 == 2 else 1
        requests.append(queries[at:at + n])
        at += n
    results = [None] * len(requests)
    numbers = itertools.count()

    def ask():
        connection = served.Connection(url)
        while (i := next(numbers)) < len(requests):
            path = "/collections/all/points/query/batch" if len(requests[i]) > 1 else "/collections/all/points/query"
            body = {"searches": requests[i]} if len(requests[i]) > 1 else requests[i][0]
            found = connection("POST", path, body)
            results[i] = found if len(requests[i]) > 1 else [found]

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for result in results for one in result]


def gpu(server):
    return server("GET", "/v1/gpu")


def n_on_devices(server):
    return sum(device["queries"] for device in gpu(server)["devices"])


def settle(server, ask):
    """Asks until all that was wanted is on a device."""
    for _ in range(100):
        before = gpu(server)["fallbacks"]["loading"]
        ask()
        if gpu(server)["fallbacks"]["loading"] == before:
            return
    raise SystemExit(f"rows do not come to a device: {gpu(server)}")


def check_equality(start, n_points, n):
    with start("all", "gpu.min_mb=0") as server:
        if not gpu(server)["devices"]:
            raise SystemExit(f"no device: {gpu(server)['reason']}")
        fill(server, n_points)
        queries = list(asked(n))
        settle(server, lambda: answers_of(server.url, queries[:300], "auto"))
        wanted = answers_of(server.url, queries, "cpu")
        before = n_on_devices(server)
        found = answers_of(server.url, queries, "auto")
        different = sum(a != b for a, b in zip(wanted, found))
        say("served_equality", queries=n, fields=len(FIELDS), device_queries=n_on_devices(server) - before, different=different)
        return different


def load(server, collection, queries, seconds, **more):
    """What `quiver bench load` measures."""
    command = [served.BINARY, "bench", "load", "--url", server.url, "--collection", collection, "--queries", queries, "--json",
               "--duration", str(seconds)]
    for name, value in more.items():
        command += ["--" + name, str(value)]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def import_rows(directory, data_dir, name, n_rows, dim):
    """A collection without an index, and a file of queries."""
    rng = np.random.default_rng(SEED)
    rows, queries = directory / f"{name}.npy", directory / f"{name}.queries.npy"
    np.save(rows, rng.standard_normal((n_rows, dim), dtype=np.float32))
    np.save(queries, rng.standard_normal((1000, dim), dtype=np.float32))
    body = {"vectors": {"size": dim, "distance": "Dot"}, "hnsw_config": {"full_scan_threshold": NEVER}}
    command = [served.BINARY, "import", "--data-dir", data_dir, "--collection", name, "--vectors", rows, "--create", json.dumps(body), "--quiet"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    rows.unlink()
    return queries


EXACT = {"params": json.dumps({"exact": True})}


def measure_small(start, directory, seconds):
    """Lone searches of few rows, with and without devices in turn."""
    queries = [import_rows(directory, directory / name, "small", 1000, 768) for name in ("on", "off")][0]
    times = {"on": [], "off": []}
    with start("on") as on, start("off", "gpu.devices=off") as off:
        for i in range(6):
            for name, server in [("on", on), ("off", off)][::1 if i % 2 else -1]:
                times[name].append(load(server, "small", queries, seconds / 6, **EXACT)["p50_us"])
    say("served_small", rows=1000, dim=768, off_p50_us=times["off"], on_p50_us=times["on"],
        ratio=round(statistics.median(a / b for a, b in zip(times["on"], times["off"])), 3))


def measure(start, directory, n_rows, seconds):
    """Exact searches of many rows by many clients, with and without devices."""
    data_dir = directory / "rows"
    large = import_rows(directory, data_dir, "large", n_rows, 768)
    found = {}
    for devices in ("off", None):
        with start("rows", *(["gpu.devices=off"] if devices else [])) as server:
            server.wait_until_green("large")
            if devices is None:
                settle(server, lambda: load(server, "large", large, .5, **EXACT))
            full = load(server, "large", large, seconds, connections=256, **EXACT)
            part = load(server, "large", large, seconds, connections=256, rate=.7 * full["qps"], **EXACT)
            lone = load(server, "large", large, seconds / 2, **EXACT)
            found[devices] = {"qps": full["qps"], "p50_us_at_70": part["p50_us"], "p99_us_at_70": part["p99_us"],
                              "lone_p50_us": lone["p50_us"]}
    off, on = found["off"], found[None]
    say("served", rows=n_rows, dim=768, connections=256, cpu=off, device=on, ratio=round(on["qps"] / off["qps"], 2),
        p99_over_p50_at_70=round(on["p99_us_at_70"] / on["p50_us_at_70"], 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="auto")
    parser.add_argument("--module", default="")
    parser.add_argument("--points", type=int, default=20_000, help="of the compared answers")
    parser.add_argument("--queries", type=int, default=10_000, help="that are compared")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the timed searches; 0: none")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)

        @contextlib.contextmanager
        def start(name, *settings):
            usual = [f"gpu.devices={options.devices}", *([f"gpu.module={options.module}"] if options.module else [])]
            with served.Server(served.BINARY, directory / name, [*usual, *settings]) as server:
                yield server

        different = check_equality(start, options.points, options.queries)
        if options.rows > 0:
            measure_small(start, directory, options.seconds)
            measure(start, directory, options.rows, options.seconds)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
