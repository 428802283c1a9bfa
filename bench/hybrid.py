#!/usr/bin/env python3
"""Measures hybrid queries with a running server: BM25, dense and sparse search alone, fused by rank, and by learned weights.

    quiver import --vectors dense=$D/dense.npy --vectors sparse:sparse=$D/sparse --payload $D/docs.jsonl \\
        --payload-keys title,abstract --data-dir DIR --collection arxiv --create --metric dot
    quiver serve --data-dir DIR &
    bench/hybrid.py $D --collection arxiv --out table.md         D: …/arxiv-100k

Row i of the folder is point i. The script creates the text index over abstracts and waits until the collection is optimized. A
query is the title of one document, and only that document is relevant. The first half of the queries is for learning, the other
half is reported.
"""
import argparse
import io
import json
import math
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import datasets  # noqa: E402
from quality import wanted_documents  # noqa: E402
from served import Connection  # noqa: E402

PLACES = 10
DEPTH = 100  # limit of every prefetch
BATCH = 50   # queries in a request
FIELDS = ("BM25", "dense", "sparse")
INDEX = {"field_name": "abstract", "field_schema": {"type": "text", "scoring": True, "stopwords": "english",
                                                    "stemmer": {"type": "snowball", "language": "english"}}}


class Collection:
    """The endpoints of one collection."""

    def __init__(self, url, collection):
        self.connection, self.collection = Connection(url), collection

    def __call__(self, method, path, body=None, root="/collections"):
        return self.connection(method, f"{root}/{self.collection}{path}", body)

    def wait_until_optimized(self):
        self.connection.wait_until_green(self.collection)


def titles(folder):
    with open(folder / "queries.tsv", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t", 1)[1] for line in lines]


def prefetches(folder):
    """Returns the prefetches of each query, in the order of FIELDS."""
    dense = np.asarray(datasets.load(folder / "queries.dense.npy"), np.float32)
    indptr, indices, values = (np.asarray(datasets.load(folder / f"queries.sparse.{part}.npy"))
                               for part in ("indptr", "indices", "values"))
    for row, title in enumerate(titles(folder)):
        part = slice(int(indptr[row]), int(indptr[row + 1]))
        sparse = {"indices": indices[part].tolist(), "values": values[part].tolist()}
        yield [{"query": {"text": title}, "using": "abstract", "limit": DEPTH},
               {"query": dense[row].tolist(), "using": "dense", "limit": DEPTH},
               {"query": sparse, "using": "sparse", "limit": DEPTH}]


def ask(server, bodies):
    """Returns the ids of the first hits of each query."""
    found = []
    for first in range(0, len(bodies), BATCH):
        searches = [{**body, "limit": PLACES} for body in bodies[first:first + BATCH]]
        answers = server("POST", "/points/query/batch", {"searches": searches})
        found += [[hit["id"] for hit in answer["points"]] for answer in answers]
    return found


def quality(found, wanted):
    """Returns the reciprocal rank and the nDCG of each query, both of the first ten places."""
    places = [ids.index(row) + 1 if row in ids else 0 for ids, row in zip(found, wanted)]
    return (np.array([1 / p if p else 0 for p in places]), np.array([1 / math.log2(p + 1) if p else 0 for p in places]))


def learn(server, parts, wanted):
    judged = [{"prefetch": prefetch, "relevant": [row]} for prefetch, row in zip(parts, wanted)]
    started = time.monotonic()
    learned = server("POST", "/fusions/learn?timeout=800", {"judged": judged}, root="/v1/collections")
    print(f"learned in {time.monotonic() - started:.1f} s: {json.dumps(learned)}", file=sys.stderr)
    return learned


def methods(server, learning, wanted):
    """Yields (name, body of a query from its prefetches)."""
    for number, field in enumerate(FIELDS):
        yield f"{field} alone", lambda parts, number=number: parts[number]
    fusions = [("RRF", {"fusion": "rrf"}), ("RRF, k = 60", {"rrf": {"k": 60}}), ("DBSF", {"fusion": "dbsf"})]
    fusions += [(f"linear, `{name}`, equal weights", {"linear": {"normalize": name}}) for name in ("minmax", "zscore", "quantile")]
    for several in ((0, 1), (0, 1, 2)):
        names = " and ".join(FIELDS[i] for i in several) if len(several) == 2 else "all three"
        learned = learn(server, [[parts[i] for i in several] for parts in learning], wanted)["query"]
        weights = ", ".join(f"{weight:.3g}" for weight in learned["linear"]["weights"])
        last = (f"linear, learned: `{learned['linear']['normalize']}`, {weights}", learned)
        for name, query in [*fusions, last]:
            yield (f"{names}: {name}",
                   lambda parts, query=query, several=several: {"prefetch": [parts[i] for i in several], "query": query})


def error(values):
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def table(server, folder, wanted):
    """Yields the lines of the table in Markdown."""
    parts = list(prefetches(folder))
    half = len(parts) // 2
    rows = [wanted[query] for query in range(len(parts))]
    yield f"| search | MRR@{PLACES} | nDCG@{PLACES} | nDCG against RRF of the same |"
    yield "|---|--:|--:|--:|"
    base = None
    for name, body_of in methods(server, parts[:half], rows[:half]):
        ranks, gains = quality(ask(server, [body_of(part) for part in parts[half:]]), rows[half:])
        if name.endswith(": RRF"):
            base = gains
        difference = "" if base is None else f"{(gains - base).mean():+.4f} ± {error(gains - base):.4f}"
        yield f"| {name} | {ranks.mean():.4f} | {gains.mean():.4f} | {difference} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="arxiv")
    parser.add_argument("--out", type=Path, help="file for the table")
    o = parser.parse_args()
    server = Collection(o.url, o.collection)
    server("PUT", "/index?wait=true&timeout=800", INDEX)
    server.wait_until_optimized()
    wanted = wanted_documents(o.folder, server("POST", "/points/count", {"exact": True})["count"])
    out = io.StringIO()
    for line in table(server, o.folder, wanted):
        print(line, flush=True)
        out.write(line + "\n")
    if o.out:
        o.out.write_text(out.getvalue())


if __name__ == "__main__":
    main()
