"""What the examples share: some papers, vectors of their titles without a model, the arguments."""
import argparse
import json
import re
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

PAPERS = [json.loads(line) for line in (Path(__file__).resolve().parents[1] / "arxiv-3k/docs.jsonl").open(encoding="utf-8")][:300]
TITLES = [paper["title"] for paper in PAPERS]
N_RECENT = sum(paper["created"] >= "2015" for paper in PAPERS)
DIM = 512


def counts(text):
    """How often each word is there, by a hash of the word. It stands for a model, so that examples need no download."""
    return Counter(zlib.crc32(word.encode()) for word in re.findall(r"\w+", text.lower()))


def dense(text):
    """A list of DIM floats, of length 1."""
    vector = np.zeros(DIM, np.float32)
    for word, count in counts(text).items():
        vector[word % DIM] += count
    return (vector / max(1e-9, np.linalg.norm(vector))).tolist()


def sparse(text):
    """Indices and values."""
    words = counts(text)
    return list(words), [float(count) for count in words.values()]


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--grpc-port", type=int, help="speak gRPC to this port where the library can")
    return parser.parse_args()


def client(options):
    """The stock client."""
    from qdrant_client import QdrantClient
    return QdrantClient(url=options.url, prefer_grpc=options.grpc_port is not None, grpc_port=options.grpc_port or 6334,
                        check_compatibility=False)


def told(name, found):
    """Prints what was found, each with what was looked for. Fails if that is not the first."""
    for wanted, first in found.items():
        assert first == wanted, f"{name}: looked for {wanted!r}, found {first!r}"
    print(json.dumps({"library": name, "found": len(found)}))
