#!/usr/bin/env python3
"""Text queries of a server beside bm25s and tantivy: the same texts, words and queries, one query at a time on one core.

    bench/texts.py …/arxiv-100k                 # docs.jsonl(.zst) and queries.tsv, as in bench/datasets.py
    bench/texts.py …/arxiv-100k --plain         # no stop words, no stemmer
    bench/texts.py DIR --field text --queries 0:1000    # a set of bench/known_items.py

Prints microseconds of CPU a query (the server's includes HTTP), the quality of known-item search, and how far the server's
scores and rankings are from those of bm25s. Wants bm25s, numba, PyStemmer and tantivy from PyPI.
"""
import argparse
import io
import json
import os
import re
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
import bm25s  # noqa: E402
import numpy as np  # noqa: E402
import Stemmer  # noqa: E402
import tantivy  # noqa: E402
from served import Server  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[1]
K1, B, TOP, ROUNDS = 1.2, 0.75, 10, 3
MARKS = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "M")
WORD = re.compile(f"(?:[^\\W_]|[{MARKS}])+")  # letters, numbers and combining marks
COLLECTION = "/collections/texts"


def lines(folder, name):
    if (folder / name).exists():
        return (folder / name).read_text().splitlines()
    import zstandard
    with open(folder / f"{name}.zst", "rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        return io.TextIOWrapper(reader, encoding="utf-8").read().splitlines()


def stop_words():
    """Those of the server's English list."""
    source = (REPOSITORY / "payload/text/stopwords/english.cc").read_text()
    return set(" ".join(re.findall(r'"([^"]*)"', source)).split())


def lower_case(text):
    """Code point by code point: `str.lower` knows final sigma, and makes two of a capital i with a dot."""
    return text.lower() if text.isascii() else "".join(c.lower()[0] for c in text)


class Words:
    """The server's analyzer, in Python."""

    def __init__(self, plain):
        self.stops = set() if plain else stop_words()
        self.stemmer = None if plain else Stemmer.Stemmer("english")

    def __call__(self, text):
        words = [w for w in WORD.findall(lower_case(text)) if w not in self.stops]
        return self.stemmer.stemWords(words) if self.stemmer else words


class Texts(Server):
    """A server with one collection of texts."""

    def __init__(self, binary, data_dir, plain, core):
        super().__init__(binary, data_dir, prefix=["taskset", "-c", str(core)])
        english = {} if plain else {"stopwords": "english", "stemmer": {"type": "snowball", "language": "english"}}
        self("PUT", COLLECTION, {"vectors": {}})
        self("PUT", f"{COLLECTION}/index?wait=true",
                  {"field_name": "text", "field_schema": {"type": "text", "scoring": True, **english}})

    def load(self, texts):
        for first in range(0, len(texts), 500):
            points = [{"id": i, "vector": {}, "payload": {"text": texts[i]}}
                      for i in range(first, min(first + 500, len(texts)))]
            self("PUT", f"{COLLECTION}/points?wait=true", {"points": points})
        self.wait_until_green("texts")

    def search(self, query):
        body = {"query": {"text": query}, "using": "text", "limit": TOP}
        return [(p["id"], p["score"]) for p in self("POST", f"{COLLECTION}/points/query", body)["points"]]


def tantivy_index(texts, plain, folder):
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    if not plain:
        analyzer = analyzer.filter(tantivy.Filter.custom_stopword(sorted(stop_words())))
        analyzer = analyzer.filter(tantivy.Filter.stemmer("english"))
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="words")
    builder.add_unsigned_field("id", stored=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    index.register_tokenizer("words", analyzer.build())
    writer = index.writer(500_000_000, 1)
    for i, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, id=i))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def bytes_below(folder, pattern="*"):
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def print_sizes(server, data, tantivy_folder, n):
    """Bytes a document. The server maps its text index, and keeps texts, too; tantivy keeps postings and positions."""
    anonymous = 1024 * server.private_kib()
    print(f"bytes a document: text index {bytes_below(data, 'column-*') / n:.0f}, all files of the server "
          f"{bytes_below(data) / n:.0f}, its private memory {anonymous / n:.0f}; tantivy's files {bytes_below(tantivy_folder) / n:.0f}")


def cpu_us(run, queries, clock=time.process_time):
    started = clock()
    for query in queries:
        run(query)
    return 1e6 * (clock() - started) / len(queries)


def reciprocal_rank(ids, wanted):
    return 1 / (1 + ids.index(wanted)) if wanted in ids else 0


def gain(ids, wanted):
    """NDCG of one relevant text."""
    return 1 / np.log2(2 + ids.index(wanted)) if wanted in ids else 0


def kendall_tau(scores):
    """Of a ranking whose hits have these scores, given in its order; scores that differ by 1e-5 or less are ties."""
    better = [a - b for i, a in enumerate(scores) for b in scores[i + 1:] if abs(a - b) > 1e-5 * max(a, b)]
    return float(np.mean(np.sign(better))) if better else 1.0


def best_of(retriever, tokens):
    return retriever.retrieve([tokens], k=TOP, show_progress=False, n_threads=1)[0][0].tolist() if tokens else []


def differences(server, retriever, words, queries):
    """The largest relative difference of scores by rank, the number of queries with another ranking beyond ties, and the
    least Kendall tau of a ranking."""
    worst, others, tau = 0.0, 0, 1.0
    for query in queries:
        ours = server.search(query)
        scores = retriever.get_scores(words(query)) * (K1 + 1) if words(query) else np.zeros(1)
        best = np.sort(scores)[::-1][:len(ours)]
        if len(ours) == 0:
            continue
        worst = max(worst, float(np.max(np.abs(best - [s for _, s in ours]) / best)))
        others += any(abs(scores[i] - s) > 1e-5 * s for i, s in ours)
        tau = min(tau, kendall_tau([scores[i] for i, _ in ours]))
    return worst, others, tau


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plain", action="store_true", help="no stop words, no stemmer")
    parser.add_argument("--field", default="abstract")
    parser.add_argument("--queries", default="1000:2000", help="lines of queries.tsv")
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build/release/quiver")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="of the server; all others run on the first")
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    documents = [json.loads(line) for line in lines(args.folder, "docs.jsonl")]
    row_of = {document["id"]: i for i, document in enumerate(documents)}
    texts = [document[args.field] for document in documents]
    first, last = map(int, args.queries.split(":"))
    titles = [line.split("\t") for line in lines(args.folder, "queries.tsv")[first:last]]
    queries = [title for _, title in titles]
    words = Words(args.plain)

    with tempfile.TemporaryDirectory() as folder:
        server = Texts(args.binary, Path(folder) / "data", args.plain, args.core)
        try:
            started = time.time()
            server.load(texts)
            print(f"server: {len(texts)} texts, {sum(map(len, texts)) / 1e6:.0f} MB in {time.time() - started:.1f} s, durable")
            corpus = [words(text) for text in texts]
            retriever = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numba")
            retriever.index(corpus, show_progress=False)
            tantivy_folder = Path(folder) / "tantivy"
            tantivy_folder.mkdir()
            index = tantivy_index(texts, args.plain, tantivy_folder)
            print_sizes(server, Path(folder) / "data", tantivy_folder, len(texts))
            searcher = index.searcher()

            def ask_bm25s(query):
                tokens = words(query)
                if tokens:
                    retriever.retrieve([tokens], k=TOP, show_progress=False, n_threads=1)

            def ask_tantivy(query):
                parsed = index.parse_query(" ".join(WORD.findall(query)).lower(), ["text"])
                return searcher.search(parsed, TOP).hits

            rounds = [(cpu_us(server.search, queries, server.cpu_s), cpu_us(ask_bm25s, queries),
                       cpu_us(ask_tantivy, queries)) for _ in range(ROUNDS + 1)][1:]
            ours, theirs, tantivys = np.median(rounds, axis=0)
            print(f"CPU a query: server with HTTP {ours:.0f} us, bm25s {theirs:.0f} us ({theirs / ours:.2f} times), "
                  f"tantivy {tantivys:.0f} us ({tantivys / ours:.2f} times)")
            found = [([i for i, _ in server.search(title)], best_of(retriever, words(title)), row_of[doc]) for doc, title in titles]
            print(f"known items: MRR@{TOP} {np.mean([reciprocal_rank(ids, row) for ids, _, row in found]):.4f}, NDCG@{TOP} "
                  f"{np.mean([gain(ids, row) for ids, _, row in found]):.4f}, of bm25s "
                  f"{np.mean([gain(ids, row) for _, ids, row in found]):.4f}")
            worst, others, tau = differences(server, retriever, words, queries)
            print(f"beside bm25s: scores differ by {worst:.1e} at most, {others} of {len(queries)} queries have other hits, "
                  f"Kendall tau {tau:.6f} at least")
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
