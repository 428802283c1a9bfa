#!/usr/bin/env python3
"""Times counts, facets and aggregates under filters on a million small points.

    bench/aggregates.py make DIR                   points.jsonl and vectors.npy
    quiver import --vectors DIR/vectors.npy --payload DIR/payload.jsonl --data-dir DIR/db --collection m --create --metric dot
    bench/aggregates.py run --url http://127.0.0.1:6333 [--indexed]
    bench/aggregates.py different --url http://127.0.0.1:6333

`run` prints the median and the least of the times that answers tell (`time`), which leave out the network, and the
median over HTTP, in microseconds. With --indexed, it declares payload indexes first. `run` asks the same again, so that
verdicts on filters are remembered. `different` asks no filter twice. It compares two collections of the same points: `m`,
for which it declares payload indexes, and `plain`, in turn.
"""
import argparse
import json
import random
import statistics
import time
from pathlib import Path

import numpy as np
from served import Connection

DIM = 8
INDEXES = {"cat": "keyword", "kind": "keyword", "year": "integer", "qty": "integer", "price": "float", "day": "datetime"}


def make(out, n):
    """`cat` has 1,000 values of falling frequency, `kind` 12, `year` 60, `qty` 10,000; prices differ."""
    rng = np.random.default_rng(3)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "vectors.npy", rng.standard_normal((n, DIM)).astype(np.float32))
    cat, kind, year, qty = rng.zipf(1.3, n) % 1000, rng.integers(0, 12, n), rng.integers(1970, 2030, n), rng.integers(0, 10000, n)
    price, day = rng.random(n) * 1000, np.datetime64("2015-01-01") + rng.integers(0, 3650, n)
    with open(out / "payload.jsonl", "w") as lines:
        for i in range(n):
            lines.write(json.dumps({
                "cat": f"category-{cat[i]:04}", "kind": f"k{kind[i]}", "year": int(year[i]), "qty": int(qty[i]),
                "price": round(float(price[i]), 6), "day": f"{day[i]}T00:00:00Z", "note": "lorem ipsum dolor sit amet " * 4,
                "tags": [f"category-{i % 97:04}", f"category-{i % 89:04}"]}, separators=(",", ":")) + "\n")


def must(*conditions):
    return {"must": list(conditions)}


def between(key, low, high):
    return {"key": key, "range": {"gte": low, "lt": high}}


TENTH = must(between("qty", 4000, 5000))
TEN = must(between("year", 1975, 2025), between("qty", 500, 9500), between("price", 20, 990.5), between("year", 1971, 2028),
           between("qty", 100, 9900), between("price", 10, 999), {"key": "kind", "match": {"except": ["k3"]}},
           between("year", 1972, 2027), between("qty", 200, 9800), between("price", 5, 999.5))
TEN_EXACT = must(*(between("year", 1971 + i, 2029 - i) if i % 2 else between("qty", 100 * i, 10000 - 100 * i) for i in range(10)))


def aggregate(aggregation, condition=None):
    return "/v1/collections/m/aggregate", {"aggregations": {"x": aggregation}} | ({"filter": condition} if condition else {})


def count(condition):
    return "/collections/m/points/count", {"filter": condition, "exact": True}


def facet(condition=None):
    return "/collections/m/facet", {"key": "cat", "limit": 10} | ({"filter": condition} if condition else {})


REQUESTS = {
    "nothing (healthz)": ("/healthz", None),
    "count: range of 60 years": count(must(between("year", 1990, 2000))),
    "count: range of 10,000 numbers, 10 %": count(TENTH),
    "count: range of different numbers, 10 %": count(must(between("price", 100, 200))),
    "count: keyword": count(must({"key": "cat", "match": {"value": "category-0001"}})),
    "count: 10 ranges of few numbers": count(TEN_EXACT),
    "count: 10 conditions": count(TEN),
    "terms": aggregate({"terms": {"key": "cat"}}),
    "terms, 10 %": aggregate({"terms": {"key": "cat"}}, TENTH),
    "terms of arrays": aggregate({"terms": {"key": "tags"}}),
    "terms of arrays, 10 %": aggregate({"terms": {"key": "tags"}}, TENTH),
    "cardinality of 10,000": aggregate({"cardinality": {"key": "qty"}}),
    "stats of 10,000 numbers, 10 %": aggregate({"stats": {"key": "qty"}}, must(between("year", 1990, 1996))),
    "histogram of 10,000 numbers, 10 %": aggregate({"histogram": {"key": "qty", "interval": 100}}, must(between("year", 1990, 1996))),
    "histogram of days by month": aggregate({"date_histogram": {"key": "day", "calendar": "month"}}),
    "facet (index)": facet(),
    "facet (index), 10 %": facet(TENTH),
    "histogram of different numbers": aggregate({"histogram": {"key": "price", "interval": 10}}),
    "stats of different numbers": aggregate({"stats": {"key": "price"}}),
}
SLOW = {"stats of different numbers": 3}


def run(server, repeats, only):
    print(f"{'request':45} {'inside p50':>11} {'least':>9} {'HTTP p50':>9}   microseconds")
    for label, (path, body) in REQUESTS.items():
        if only not in label:
            continue
        inside, outside = [], []
        for _ in range(SLOW.get(label, repeats)):
            started = time.perf_counter()
            status, text = server.ask("POST" if body else "GET", path, body)
            seconds = time.perf_counter() - started
            if status != 200:
                break
            inside.append(json.loads(text)["time"] * 1e6 if body else 0)
            outside.append(seconds * 1e6)
        if outside:
            print(f"{label:45} {statistics.median(inside):11,.0f} {min(inside):9,.0f} {statistics.median(outside):9,.0f}", flush=True)
        else:
            print(f"{label:45} {status} {text.decode()[:80]}")


class Filters:
    """Filters with random limits. The same seed gives the same filters."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def tenth_of_numbers(self):
        low = self.random.randrange(8900)
        return between("qty", low, low + 1000)

    def tenth_of_prices(self):
        low = self.random.random() * 890
        return between("price", low, low + 100)

    def six_years(self):
        low = self.random.randrange(1970, 2020)
        return between("year", low, low + 6)

    def category(self):
        return {"key": "cat", "match": {"value": f"category-{self.random.randrange(1, 60):04}"}}

    def one_year_of_days(self):
        year, month = self.random.randrange(2015, 2023), self.random.randrange(1, 12)
        return between("day", f"{year}-{month:02}-01T00:00:00Z", f"{year + 1}-{month:02}-01T00:00:00Z")

    def wide(self, key):
        if key == "year":
            return between("year", 1970 + self.random.randrange(4), 2026 + self.random.randrange(4))
        if key == "qty":
            return between("qty", self.random.randrange(900), 9100 + self.random.randrange(900))
        return between("price", self.random.random() * 50, 950 + self.random.random() * 50)

    def not_one_kind(self):
        return {"key": "kind", "match": {"except": [f"k{self.random.randrange(12)}"]}}


DIFFERENT = {
    "range of 10,000 numbers, 10 %": lambda f: must(f.tenth_of_numbers()),
    "range of different numbers, 10 %": lambda f: must(f.tenth_of_prices()),
    "six of 60 years": lambda f: must(f.six_years()),
    "keyword": lambda f: must(f.category()),
    "a year of days": lambda f: must(f.one_year_of_days()),
    "numbers and years": lambda f: must(f.tenth_of_numbers(), f.six_years()),
    "numbers and keyword": lambda f: must(f.tenth_of_numbers(), f.category()),
    "numbers or keyword": lambda f: {"should": [f.tenth_of_numbers(), f.category()]},
    "not the numbers": lambda f: {"must_not": [f.tenth_of_numbers()]},
    "10 ranges": lambda f: must(*(f.wide(key) for key in ["year", "qty"] * 5)),
    "10 conditions": lambda f: must(*(f.wide(key) for key in ["year", "qty", "price"] * 3), f.not_one_kind()),
}


def different(server, repeats, only):
    rng = np.random.default_rng(1)
    for name in ("m", "plain"):
        server.wait_until_green(name)
    print(f"{'filter':34} {'count declared':>14} {'plain':>7} {'query declared':>14} {'plain':>7}   median microseconds inside")
    for label, make_filter in DIFFERENT.items():
        if only not in label:
            continue
        medians = []
        for kind in ("count", "query"):
            times = {"m": [], "plain": []}
            filters = {name: Filters(len(kind)) for name in times}
            for _ in range(repeats):
                query = {"query": rng.standard_normal(DIM).round(3).tolist(), "limit": 10} if kind == "query" else {"exact": True}
                for name in times:
                    body = query | {"filter": make_filter(filters[name])}
                    times[name].append(json.loads(server.raw("POST", f"/collections/{name}/points/{kind}", body))["time"] * 1e6)
            medians += [statistics.median(of) for of in times.values()]
        print(f"{label:34} {medians[0]:14,.0f} {medians[1]:7,.0f} {medians[2]:14,.0f} {medians[3]:7,.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("out", type=Path)
    maker.add_argument("--rows", type=int, default=1_000_000)
    runner = commands.add_parser("run")
    runner.add_argument("--url", default="http://127.0.0.1:6333")
    runner.add_argument("--indexed", action="store_true")
    runner.add_argument("--repeats", type=int, default=200)
    runner.add_argument("--only", default="", help="only requests with this in their names")
    comparison = commands.add_parser("different")
    comparison.add_argument("--url", default="http://127.0.0.1:6333")
    comparison.add_argument("--repeats", type=int, default=120)
    comparison.add_argument("--only", default="", help="only filters with this in their names")
    args = parser.parse_args()
    if args.command == "make":
        return make(args.out, args.rows)
    server = Connection(args.url)
    for key, kind in INDEXES.items() if args.command == "different" or args.indexed else ():
        server.ask("PUT", "/collections/m/index?wait=true", {"field_name": key, "field_schema": kind})
    (different if args.command == "different" else run)(server, args.repeats, args.only)


if __name__ == "__main__":
    main()
