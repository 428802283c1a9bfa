#!/usr/bin/env python3
"""A tour of real data: loads `arxiv-3k` into a running server and runs dense, sparse, multi-vector and hybrid queries.

    .venv/bin/python examples/demo.py [--url http://127.0.0.1:6333]
"""
import argparse
import time

import numpy as np

from sample import Api, Sample, load, recall

COLLECTION = "arxiv-3k"
RECENT = {"must": [{"key": "created", "range": {"gte": "2005-01-01"}}, {"key": "num_authors", "range": {"gte": 2}}]}


def cut(text, width):
    text = " ".join(text.split())
    return text if len(text) <= width else text[:width - 1] + "…"


class Demo:
    def __init__(self, url, api_key):
        self.api, self.sample = Api(url, api_key), Sample()

    def ask(self, body, limit=5):
        """Returns the hits, and the milliseconds as this client measures them."""
        start = time.perf_counter()
        hits = self.api("POST", f"/collections/{COLLECTION}/points/query", body | {"limit": limit, "with_payload": True})
        return hits["points"], (time.perf_counter() - start) * 1e3

    def show(self, heading, body, k):
        hits, ms = self.ask(body)
        print(f"\n{heading}  ({ms:.1f} ms)")
        print(f"  {'':2}{'score':>9}  {'created':10}  {'authors':>7}  {'category':14}  title")
        for hit in hits:
            doc = hit["payload"]
            mark = "*" if hit["id"] == self.sample.queries[k]["doc"] else " "
            print(f"  {mark} {hit['score']:9.4f}  {doc['created']:10}  {doc['num_authors']:>7}  "
                  f"{cut(doc['primary'], 14):14}  {cut(doc['title'], 70)}")

    def tour(self, k):
        sample = self.sample
        print(f"\nQuery: the title “{sample.queries[k]['title']}”  (* marks the document that carries it)")
        self.show("Dense vectors, dot product", sample.dense_query(k), k)
        self.show("Learned sparse vectors", sample.sparse_query(k), k)
        self.show("Multi-vectors, MaxSim over token vectors", sample.multi_query(k), k)
        self.show("Hybrid: dense and sparse fused by reciprocal ranks, since 2005 and by several authors",
                  sample.hybrid_query(k, RECENT), k)
        self.show("Hybrid: dense and sparse candidates, ordered by MaxSim", sample.reranked_query(k), k)

    def measured(self, make_query, depth):
        """Returns (ids, ms) for every query of the sample."""
        results = []
        for k in range(len(self.sample.queries)):
            hits, ms = self.ask(make_query(k), depth)
            results.append(([h["id"] for h in hits], ms))
        return results

    def row(self, label, results, recalls=None, known_item=True):
        documents = [query["doc"] for query in self.sample.queries]
        ranks = [1 / (1 + ids.index(doc)) if doc in ids else 0.0 for (ids, _), doc in zip(results, documents)]
        mrr = f"{np.mean(ranks):.3f}" if known_item else "-"  # a filter may exclude the query's document
        p50, p95 = np.percentile([ms for _, ms in results], [50, 95])
        exact = f"{np.mean(recalls):.4f}" if recalls is not None else "-"
        print(f"  {label:44}{exact:>11}{mrr:>9}{p50:9.2f}{p95:9.2f}")

    def table(self, depth=10):
        sample = self.sample
        print(f"\nAll {len(sample.queries)} title queries, {depth} hits each, one at a time, payloads included; recall against exact search")
        print(f"  {'':44}{'recall':>11}{'MRR@10':>9}{'p50 ms':>9}{'p95 ms':>9}")
        kinds = [(name + label, kind, kind, extra)
                 for kind, name in (("dense", "dense"), ("sparse", "sparse"), ("multi", f"multi-vector ({sample.n_token_docs} documents)"))
                 for label, extra in (("", {}), (", exact", {"params": {"exact": True}}))]
        kinds += [(f"dense, filter {name}", "dense", f"dense.{name}", {"filter": condition})
                  for name, condition in sample.filters.items()]
        worst = 1.0
        for label, kind, truth, extra in kinds:
            make_query = getattr(sample, f"{kind}_query")
            results = self.measured(lambda k: make_query(k) | extra, depth)
            best = sample.truth(truth)[1][:, :depth]
            recalls = [recall(ids, best[k], sample.exact_scores(kind, k)[ids]) for k, (ids, _) in enumerate(results)]
            if "params" in extra:  # other queries may use an index
                worst = min([worst] + recalls)
            self.row(label, results, recalls, known_item="filter" not in extra)
        self.row("hybrid, reciprocal rank fusion", self.measured(sample.hybrid_query, depth))
        self.row("hybrid, MaxSim over 50 + 50 candidates", self.measured(sample.reranked_query, depth))
        return worst


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", default="http://127.0.0.1:6333")
    p.add_argument("--api-key")
    p.add_argument("--query", type=int, default=1, help="which of the title queries to show")
    a = p.parse_args()
    demo = Demo(a.url, a.api_key)
    rate = load(demo.api, demo.sample, COLLECTION)
    print(f"Loaded {len(demo.sample.docs):,} arXiv records into “{COLLECTION}” at {rate:,.0f} points/s: 384-d dense, sparse, "
          f"payload with 3 indexes; token vectors for {demo.sample.n_token_docs}.")
    demo.tour(a.query)
    worst = demo.table()
    if worst < 1.0:
        raise SystemExit(f"exact search must find everything, the worst query found {worst:.3f}")


if __name__ == "__main__":
    main()
