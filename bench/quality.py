#!/usr/bin/env python3
"""Compares the quality of dense, sparse and late-interaction search, alone and combined: known-item search over one set of documents.

    bench/quality.py …/arxiv-100k --tokens …/tokens-30k --out bench/results/quality-arxiv.md
    bench/quality.py examples/arxiv-3k

A query is the title of one document, whose vectors were made from the abstract alone; only that document counts as relevant.
All searches are exact, over the first documents, as many as have tokens. So the result describes the vectors, not an index.
Queries for other documents are left out. The folder holds the dense and the sparse set in the layout of bench/datasets.py, and
the ids of documents and queries: docs.jsonl (also .zst) with queries.tsv (`id TAB title`) or queries.jsonl (`doc`: the row).
"""
import argparse
import io
import itertools
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "peers")]
import datasets  # noqa: E402
from data import MARGIN, Scorer, candidates, find  # noqa: E402

DEPTH = 100   # length of every list
PLACES = 10   # ranks that the mean reciprocal rank considers
WIRE_K, USUAL_K = 2, 60  # k of reciprocal rank fusion: default of our API, and of most others
KINDS = ("dense", "sparse", "multi")


class Found(NamedTuple):
    """The results of one search method: the ranked ids of each query."""
    name: str
    lists: list


# Which document belongs to which query.

def lines(path):
    """Yields the lines of a text file, compressed or not."""
    if path.suffix == ".zst":
        import zstandard
        with open(path, "rb") as packed:
            yield from io.TextIOWrapper(zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(packed), "utf-8")
    else:
        with open(path, encoding="utf-8") as text:
            yield from text


def wanted_documents(folder, n_documents):
    """Returns {query: row of its document} for documents among the first `n_documents`."""
    if (folder / "queries.jsonl").exists():
        rows = [json.loads(line)["doc"] for line in lines(folder / "queries.jsonl")]
    else:
        ids = (json.loads(line)["id"] for line in itertools.islice(lines(datasets.existing(folder / "docs.jsonl")), n_documents))
        row_of = {name: row for row, name in enumerate(ids)}
        rows = [row_of.get(line.split("\t")[0], n_documents) for line in lines(folder / "queries.tsv")]
    return {query: row for query, row in enumerate(rows) if row < n_documents}


# Searches.

def search(data, queries):
    """Returns exact lists, best first, ties by lower row. A document without a common term is no hit of a sparse query."""
    scorer, lists = Scorer(data), []
    given = datasets.load(data.files.truth) if data.files.truth else None
    whole = given is not None and given.shape[1] >= min(DEPTH, len(data))
    for query, ids in zip(queries, given[queries] if whole else candidates(data, queries, DEPTH + MARGIN)):
        scores = scorer(query, ids)
        order = np.lexsort((ids, -scores))[:DEPTH]
        lists.append([int(ids[i]) for i in order if data.kind != "sparse" or scores[i] > 0])
    return lists


def fused(lists, k):
    """Fuses one query's lists by reciprocal rank: the sum of 1 / (rank + k), ranks from 0."""
    scores = {}
    for found in lists:
        for rank, row in enumerate(found):
            scores[row] = scores.get(row, 0.0) + 1.0 / (rank + k)
    return sorted(scores, key=lambda row: (-scores[row], row))[:DEPTH]


def scored_again(multi, queries, *lists):
    """Re-ranks the union of the lists by MaxSim."""
    scorer, ranked = Scorer(multi), []
    for query, parts in zip(queries, zip(*lists)):
        rows = np.unique(np.concatenate([np.asarray(part, np.int64) for part in parts]))
        ranked.append(rows[np.lexsort((rows, -scorer(query, rows)))][:DEPTH].tolist())
    return ranked


def searches(sets, queries):
    lists = {kind: search(sets[kind], queries) for kind in KINDS}
    yield from (Found(kind, lists[kind]) for kind in KINDS)
    for n in (2, 3):
        for kinds in itertools.combinations(KINDS, n):
            for k in (WIRE_K, USUAL_K):
                together = [fused(parts, k) for parts in zip(*(lists[kind] for kind in kinds))]
                yield Found(f"RRF of {', '.join(kinds)}; k = {k}", together)
    yield Found("dense and sparse together, re-ranked by MaxSim",
                scored_again(sets["multi"], queries, lists["dense"], lists["sparse"]))


# The table.

def reciprocal_ranks(lists, wanted):
    places = [found[:PLACES].index(row) + 1 if row in found[:PLACES] else 0 for found, row in zip(lists, wanted)]
    return np.array([1 / place if place else 0.0 for place in places])


def row_of(found, wanted, base):
    """Returns the mean, its standard error, and that of the paired difference to `base` over the same queries."""
    ranks = reciprocal_ranks(found.lists, wanted)
    recall = np.mean([row in lists for lists, row in zip(found.lists, wanted)])
    difference = ranks - base
    return [found.name, f"{ranks.mean():.3f}", f"{difference.mean():+.3f} ± {error(difference):.3f}", f"{recall:.3f}"]


def error(values):
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def page(name, n_documents, n_queries, found, wanted):
    """Returns the page in Markdown."""
    best_alone = max((reciprocal_ranks(f.lists, wanted) for f in found[:2]), key=np.mean)
    heads = ["search", f"MRR@{PLACES}", "against the better of dense and sparse", f"recall@{DEPTH}"]
    rows = [heads, ["---", "--:", "--:", "--:"], *(row_of(f, wanted, best_alone) for f in found)]
    return "\n".join([
        f"# {name}: quality of each kind of vectors", "",
        f"{n_documents:,} documents, {n_queries:,} queries for them. A query is the title of a document whose vectors "
        "were made from its abstract alone. Every search is exact; lists of "
        f"{DEPTH} are fused or re-ranked. ± is the standard error over queries. The token vectors come from a sentence "
        "encoder that was not trained for late interaction.", "",
        *("| " + " | ".join(cells) + " |" for cells in rows), ""])


def sets_of(folder, tokens, n_rows):
    """Returns one set of each kind, all over the same first documents."""
    found = {data.kind: data for place in dict.fromkeys((folder, tokens)) for data in find(place)}
    missing = [kind for kind in KINDS if kind not in found]
    if missing:
        raise SystemExit(f"{folder}, {tokens}: no {', '.join(missing)} set there")
    n = min([len(data) for data in found.values()] + ([n_rows] if n_rows else []))
    return {kind: found[kind] if len(found[kind]) == n else found[kind].first(n) for kind in KINDS}, n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=Path, help="folder of the token vectors; default: the same")
    parser.add_argument("--rows", type=int, help="only the first documents; default: as many as have tokens")
    parser.add_argument("--out", type=Path, help="file for the page")
    o = parser.parse_args()
    sets, n = sets_of(o.folder, o.tokens or o.folder, o.rows)
    wanted = wanted_documents(o.folder, n)
    found = list(searches(sets, list(wanted)))
    text = page(o.folder.resolve().name, n, len(wanted), found, list(wanted.values()))
    print(text)
    if o.out:
        o.out.write_text(text)


if __name__ == "__main__":
    main()
