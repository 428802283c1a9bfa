#!/usr/bin/env python3
"""What a server does under more load than it can bear, beside the bars.

    bench/overload.py [--binary build/release/quiver] [--rows 1000000] [--seconds 8] [--repeats 3] [--set KEY=VALUE …]
                      [--before BINARY] [--out FILE]

Searches: S is the rate of answers when far more than that arrive, in an open loop, at a server that refuses nothing
(`service.max_wait_ms=0`). Then requests arrive at .9 S and at 2 S at a server with the settings under test: goodput is the
rate of answers with status 200, and p99 that of their latencies, counted from the arrival.

Fairness: one client reads single points of a collection of --rows points, alone, and beside 8 clients that send facets with
ten conditions over all rows, each as soon as the one before is answered.

The rounds of all figures are interleaved, and medians are printed. With --before, another binary (an older one) is measured in
the same rounds. The generator shares the machine with the server. Prints Markdown; --out appends one JSON line.
"""
import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import aggregates
import numpy as np
from served import Server

ROOT = Path(__file__).resolve().parent.parent
SEARCHED_ROWS, DIM, N_QUERIES = 20_000, 64, 1000
CONNECTIONS = 1024
FACET_CLIENTS = 8
GOODPUT_BAR, P99_BAR = 0.8, 3.0


def make(binary, work, rows):
    """A data directory with collections `s`, which is searched exactly, and `m`, whose points have payloads."""
    vectors = np.random.default_rng(1).standard_normal((SEARCHED_ROWS, DIM)).astype(np.float32)
    np.save(work / "s.npy", vectors)
    np.save(work / "queries.npy", np.random.default_rng(2).standard_normal((N_QUERIES, DIM)).astype(np.float32))
    aggregates.make(work, rows)
    into = ["--data-dir", str(work / "db"), "--create", "--metric", "dot"]
    for sources, name in ((["--vectors", str(work / "s.npy")], "s"),
                          (["--vectors", str(work / "vectors.npy"), "--payload", str(work / "payload.jsonl")], "m")):
        subprocess.run([binary, "import", *sources, "--collection", name, *into], check=True, stdout=subprocess.DEVNULL)
    with Server(binary, work / "db") as server:
        for key, kind in aggregates.INDEXES.items():
            server("PUT", "/collections/m/index?wait=true", {"field_name": key, "field_schema": kind})
        for name in ("s", "m"):
            server.wait_until_green(name)


def load(binary, server, work, rate, seconds, seed):
    """One run of searches: an open loop at `rate` requests a second, or a closed one (0)."""
    command = [binary, "bench", "load", "--url", server.url, "--collection", "s", "--queries", str(work / "queries.npy"),
               "--params", '{"exact":true}', "--connections", str(CONNECTIONS), "--duration", str(seconds), "--warmup", "50", "--seed", str(seed), "--json"]
    if rate:
        command += ["--rate", f"{rate:.1f}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {ran.stderr}")
    return json.loads(ran.stdout.splitlines()[-1])


def facets(port, stop, counted):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    path, body = aggregates.facet(aggregates.TEN)
    data = json.dumps(body)
    while not stop.is_set():
        connection.request("POST", path, data, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        with counted.get_lock():
            counted[0 if answer.status == 200 else 1] += 1


def point_reads(port, rows, seconds):
    """Latencies in ms of one client that reads one point after the other, and the number of refusals."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    times, refused, end, i = [], 0, time.monotonic() + seconds, 0
    while time.monotonic() < end:
        i = (i * 1_103_515_245 + 12_345) % rows
        began = time.perf_counter()
        connection.request("GET", f"/collections/m/points/{i}")
        answer = connection.getresponse()
        answer.read()
        times.append((time.perf_counter() - began) * 1e3)
        refused += answer.status == 429
        time.sleep(0.001)
    return times, refused


def fairness(server, rows, seconds):
    alone, _ = point_reads(server.port, rows, seconds)
    stop, counted = multiprocessing.Event(), multiprocessing.Array("q", 2)
    clients = [multiprocessing.Process(target=facets, args=(server.port, stop, counted)) for _ in range(FACET_CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(0.5)
    before = list(counted)
    beside, refused = point_reads(server.port, rows, seconds)
    n_facets, n_refused = (after - was for after, was in zip(counted, before))
    stop.set()
    for client in clients:
        client.join()
    return {"alone_p50_ms": percentile(alone, 50), "alone_p99_ms": percentile(alone, 99), "beside_p50_ms": percentile(beside, 50),
            "beside_p99_ms": percentile(beside, 99), "beside_max_ms": max(beside), "reads_refused": refused,
            "facets_per_s": n_facets / seconds, "facets_refused": n_refused}


def percentile(values, p):
    return float(np.percentile(values, p))


def overload(binary, server_binary, work, settings, s, seconds, seed):
    with Server(server_binary, work / "db", settings) as server:
        usual = load(binary, server, work, 0.9 * s, seconds, seed)
        flooded = load(binary, server, work, 2 * s, seconds, seed + 1)
    return {"p99_at_.9S_ms": usual["p99_us"] / 1e3, "refused_at_.9S": usual["errors"] / max(1, usual["errors"] + usual["requests"]),
            "goodput_at_2S": flooded["qps"] / s, "p99_at_2S_ms": flooded["p99_us"] / 1e3, "refused_at_2S": flooded["errors"],
            "unsent_at_2S": flooded["unsent"], "cpu_us_at_.9S": usual["cpu_us"]}


def round_of(binary, server_binary, work, settings, args, seed):
    """All figures once."""
    unlimited = [] if server_binary != binary else [*settings, "service.max_wait_ms=0"]
    with Server(server_binary, work / "db", unlimited) as server:
        guess = load(binary, server, work, 0, args.seconds / 2, seed)["qps"]
        s = load(binary, server, work, 1.5 * guess, args.seconds, seed)["qps"]
    figures = {"S": s} | overload(binary, server_binary, work, settings, s, args.seconds, seed)
    with Server(server_binary, work / "db", settings) as server:
        figures |= fairness(server, args.rows, args.seconds)
    figures["p99_ratio"] = figures["p99_at_2S_ms"] / figures["p99_at_.9S_ms"]
    return figures


def report(name, rounds):
    def median(key):
        return statistics.median(figures[key] for figures in rounds)

    def line(what, value, bar):
        print(f"| {what} | {value} | {bar} |")

    print(f"\n{name}, medians of {len(rounds)} rounds, load average {os.getloadavg()[0]:.1f} at the end\n\n| figure | found | bar |\n|---|---|---|")
    line("S, searches/s", f"{median('S'):.0f}", "")
    line("goodput at 2 S", f"{median('goodput_at_2S'):.2f} S", f">= {GOODPUT_BAR} S")
    line("p99 at .9 S", f"{median('p99_at_.9S_ms'):.1f} ms", "")
    line("p99 of answers at 2 S", f"{median('p99_at_2S_ms'):.1f} ms, {median('p99_ratio'):.1f} times", f"<= {P99_BAR:.0f} times p99 at .9 S")
    line("refused at .9 S", f"{median('refused_at_.9S'):.2%}", "")
    line("CPU of a search at .9 S", f"{median('cpu_us_at_.9S'):.1f} us", "")
    line("point reads alone, p50 and p99", f"{median('alone_p50_ms'):.2f} and {median('alone_p99_ms'):.2f} ms", "")
    line(f"point reads beside {FACET_CLIENTS} facets, p50, p99", f"{median('beside_p50_ms'):.2f} and {median('beside_p99_ms'):.2f} ms", "")
    line("facets/s, refused", f"{median('facets_per_s'):.1f}, {median('facets_refused'):.0f}", "")
    ratios = {key: [round(figures[key], 2) for figures in rounds] for key in ("goodput_at_2S", "p99_ratio", "beside_p99_ms")}
    print(f"\nrounds: {json.dumps(ratios)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/quiver"))
    parser.add_argument("--before", help="another binary, measured in the same rounds")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=8, help="of each run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    parser.add_argument("--work", type=Path, help="directory for the data; kept, and used again")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        work = args.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "db").exists():
            make(args.binary, work, args.rows)
        found = {args.binary: []} | ({args.before: []} if args.before else {})
        for i in range(args.repeats):
            for binary, rounds in found.items():
                rounds.append(round_of(args.binary, binary, work, args.settings if binary == args.binary else [], args, 10 * i + 1))
    for binary, rounds in found.items():
        report(binary, rounds)
    if args.out:
        with open(args.out, "a") as out:
            out.write(json.dumps({"date": time.strftime("%Y-%m-%d"), "settings": args.settings, "rounds": found}) + "\n")


if __name__ == "__main__":
    main()
