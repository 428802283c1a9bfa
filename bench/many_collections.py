#!/usr/bin/env python3
"""What many collections cost: descriptors, private memory and the time of a restart, beside their bars.

    bench/many_collections.py [--binary build/release/quiver] [--collections 1000] [--points 10] [--out FILE]

Makes the collections, each with a few points, an index of the payload and one vector field, and waits until nothing is left to
do. Then it restarts the server and measures until /readyz answers 200. Nothing has touched a collection then: private memory
(RssAnon) is compared with that of a server without collections. Then one point of each is read, which opens them all, and the
server is left alone: descriptors are counted when it rests. Prints Markdown; --out appends one JSON line.
"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from served import Server

ROOT = Path(__file__).resolve().parent.parent
REST_S = 30
BARS = {"descriptors_idle": 4, "ready_s": 1.0, "private_kib_untouched": 20}


class Many(Server):
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def mappings(self):
        return len(Path(f"/proc/{self.process.pid}/maps").read_text().splitlines())


def settled(read, seconds=3.0, limit_s=REST_S):
    """The value of `read` when it has not fallen for some seconds."""
    least, since, end = read(), time.monotonic(), time.monotonic() + limit_s
    while time.monotonic() < end and time.monotonic() - since < seconds:
        time.sleep(0.25)
        now = read()
        if now < least:
            least, since = now, time.monotonic()
    return least


def fill(server, n, n_points):
    for i in range(n):
        server("PUT", f"/collections/c{i}", {"vectors": {"size": 8, "distance": "Dot"}})
        server("PUT", f"/collections/c{i}/index?wait=true", {"field_name": "n", "field_schema": "integer"})
        points = [{"id": k, "vector": [k + d for d in range(8)], "payload": {"n": k}} for k in range(n_points)]
        server("PUT", f"/collections/c{i}/points?wait=true", {"points": points})


def measure(args, directory):
    figures = {"collections": args.collections, "points": args.points}
    empty = Many(args.binary, directory / "empty", args.set)
    figures["empty"] = {"private_kib": settled(empty.private_kib), "descriptors": empty.descriptors(), "ready_s": empty.ready_s}
    empty.stop()
    data = directory / "data"
    server = Many(args.binary, data, args.set)
    began = time.monotonic()
    fill(server, args.collections, args.points)
    figures["fill_s"] = time.monotonic() - began
    time.sleep(3)  # seals
    figures["stop_s"] = server.stop()
    starts = []
    for _ in range(args.restarts):
        server = Many(args.binary, data, args.set)
        starts.append(server.ready_s)
        if len(starts) < args.restarts:
            server.stop()
    figures["ready_s"] = statistics.median(starts)
    private = settled(server.private_kib)
    figures["private_kib_untouched"] = (private - figures["empty"]["private_kib"]) / args.collections
    figures["descriptors_untouched"] = (server.descriptors() - figures["empty"]["descriptors"]) / args.collections
    began = time.monotonic()
    for i in range(args.collections):
        server("GET", f"/collections/c{i}/points/3")
    figures["open_ms_each"] = (time.monotonic() - began) * 1000 / args.collections
    figures["descriptors_touched"] = (server.descriptors() - figures["empty"]["descriptors"]) / args.collections
    figures["private_kib_touched"] = (server.private_kib() - figures["empty"]["private_kib"]) / args.collections
    time.sleep(args.idle_s)
    figures["descriptors_idle"] = (settled(server.descriptors) - figures["empty"]["descriptors"]) / args.collections
    figures["private_kib_idle"] = (settled(server.private_kib) - figures["empty"]["private_kib"]) / args.collections
    figures["mappings_idle"] = server.mappings() / args.collections
    server.stop()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/quiver"))
    parser.add_argument("--collections", type=int, default=1000)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--idle-s", type=float, default=5, help="time without requests before descriptors are counted")
    parser.add_argument("--set", action="append", default=[], help="section.key=value for the server")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="quiver-many-"))
    try:
        figures = measure(args, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{args.collections} collections of {args.points} points, one field, one payload index\n")
    print("| figure | found | bar |\n|---|---|---|")
    for name, value in figures.items():
        if isinstance(value, dict):
            continue
        bar = BARS.get(name)
        verdict = "" if bar is None else f"{bar} ({'met' if value <= bar else 'NOT met'})"
        print(f"| {name} | {value:.3g} | {verdict} |" if isinstance(value, float) else f"| {name} | {value} | {verdict} |")
    if args.out:
        with args.out.open("a") as out:
            out.write(json.dumps(figures) + "\n")
    sys.exit(0 if all(figures[name] <= bar for name, bar in BARS.items()) else 1)


if __name__ == "__main__":
    main()
