#!/usr/bin/env python3
"""Measures nested filters whose conditions must meet in one object, without and with declared indexes.

    bench/nested.py --binary build/release/quiver [--binary OTHER] [--rows 100000]

Every document has an array of 1 to 8 objects. A filter wants one with a certain `kind` and a low `price`, so that about .1 or .01 of
the rows match, or one of a `kind` that is not `sold`. Each filter is asked once, over POST …/points/count; several programs take turns.
Prints medians in milliseconds: CPU of the server, and what the client waits. Checks the counts.
"""
import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from served import Server

KINDS = 20
WORDS = "sea deep red green blue ship whale lamp stone river house tree".split()
COLLECTION = "/collections/nested"
COLUMNS = {"kind": "keyword", "price": "integer", "sold": "bool"}


def document(rng):
    parts = [{"kind": f"k{rng.randrange(KINDS)}", "price": rng.randrange(1000), "sold": rng.random() < .5}
             for _ in range(rng.randint(1, 8))]
    for part in parts:
        if rng.random() < .1:
            del part["sold"]
    return {"parts": parts, "text": " ".join(rng.choices(WORDS, k=80))}


def filters(kind, price):
    """(name, conditions on one object, whether an object satisfies them)."""
    is_kind = {"key": "kind", "match": {"value": f"k{kind}"}}
    yield "about .1 of the rows", {"must": [is_kind, {"key": "price", "range": {"lt": price * 10}}]}, \
        lambda part: part["kind"] == f"k{kind}" and part["price"] < price * 10
    yield "about .01 of the rows", {"must": [is_kind, {"key": "price", "range": {"lt": price}}]}, \
        lambda part: part["kind"] == f"k{kind}" and part["price"] < price
    yield "kind, not sold", {"must": [is_kind], "must_not": [{"key": "sold", "match": {"value": True}}]}, \
        lambda part: part["kind"] == f"k{kind}" and not part.get("sold")


class Nested(Server):
    def load(self, documents):
        self("PUT", COLLECTION, {"vectors": {}})
        for first in range(0, len(documents), 1000):
            points = [{"id": i, "vector": {}, "payload": documents[i]} for i in range(first, min(first + 1000, len(documents)))]
            self("PUT", f"{COLLECTION}/points?wait=true", {"points": points})
        self.wait_until_green("nested")

    def declare(self):
        for key, kind in COLUMNS.items():
            self("PUT", f"{COLLECTION}/index?wait=true", {"field_name": f"parts[].{key}", "field_schema": kind})
        self.wait_until_green("nested")

    def attributes(self):
        rows = self("GET", "/v1/collections/nested/indexes")["payload"]
        return {path["path"]: path["bytes"] for segment in rows for path in segment["paths"]}

    def count(self, inner):
        """(seconds of CPU, seconds, count)"""
        body = {"filter": {"must": [{"nested": {"key": "parts", "filter": inner}}]}, "exact": True}
        cpu, started = self.cpu_s(), time.perf_counter()
        found = self("POST", f"{COLLECTION}/points/count", body)
        seconds = time.perf_counter() - started
        return self.cpu_s() - cpu, seconds, found["count"]


def measure(servers, documents, title):
    times = {}
    for kind in range(KINDS):
        for name, inner, is_match in filters(kind, 45 + kind % 5):
            wanted = sum(any(map(is_match, d["parts"])) for d in documents) if kind < 2 else None
            for label, server in servers.items():
                cpu, seconds, found = server.count(inner)
                assert wanted in (None, found), (label, name, found, wanted)
                times.setdefault((name, label), []).append((1e3 * cpu, 1e3 * seconds))
    for (name, label), values in times.items():
        cpu, waited = map(statistics.median, zip(*values))
        print(f"| {title} | {name} | {label} | {cpu:.2f} | {waited:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", action="append", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    rng = random.Random(1)
    documents = [document(rng) for _ in range(args.rows)]
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        try:
            for i, binary in enumerate(args.binary):
                own = Path(folder) / str(i)
                own.mkdir()
                servers[str(binary)] = Nested(binary, own / "data")
                servers[str(binary)].load(documents)
                print(binary, servers[str(binary)].attributes(), flush=True)
            measure(servers, documents, "no index")
            for server in servers.values():
                server.declare()
            measure(servers, documents, "declared indexes")
        finally:
            for server in servers.values():
                server.stop()


if __name__ == "__main__":
    main()
