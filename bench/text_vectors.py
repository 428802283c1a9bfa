"""Dense vectors of real texts by latent semantic analysis (Deerwester et al. 1990), for sets of more dimensions than encoders give.

Wants scikit-learn from PyPI.
"""
import io
import json

import numpy as np

from generators import NpyWriter, unit

LEAST_DOCUMENTS = 3       # a term in fewer documents is left out
MOST_DOCUMENTS = 0.5      # a term in a larger share of the documents is left out
POWER_ITERATIONS = 2


def lines(path):
    """Yields the lines of a text file, or of its .zst."""
    if path.exists():
        yield from path.read_text().splitlines()
        return
    import zstandard
    with open(path.with_name(path.name + ".zst"), "rb") as packed:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(packed)
        yield from io.TextIOWrapper(reader, encoding="utf-8")


def abstracts(folder, rows):
    found = (json.loads(line)["abstract"] for line in lines(folder / "docs.jsonl"))
    return [text for _, text in zip(range(rows), found)]


def titles(folder):
    return [line.rstrip("\n").split("\t", 1)[1] for line in lines(folder / "queries.tsv")]


def lsa(out, source, rows, dim=768, seed=1):
    """Abstracts of docs.jsonl, queries of queries.tsv: TF-IDF (sublinear), truncated SVD fitted to the abstracts, unit length.

Writes f16 rows [rows, dim] and f32 queries. Raises SystemExit without scikit-learn."""
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise SystemExit("lsa: needs scikit-learn from PyPI (pip install scikit-learn)") from None
    words = TfidfVectorizer(sublinear_tf=True, min_df=LEAST_DOCUMENTS, max_df=MOST_DOCUMENTS, dtype=np.float32)
    weights = words.fit_transform(abstracts(source, rows))
    if dim > weights.shape[1]:
        raise SystemExit(f"lsa: {dim} dimensions of {weights.shape[1]} terms; wanted fewer dimensions or more texts")
    axes = TruncatedSVD(dim, n_iter=POWER_ITERATIONS, random_state=seed)
    with NpyWriter(out / "dense.npy", np.float16, (dim,)) as writer:
        writer.write(unit(axes.fit_transform(weights)))
    with NpyWriter(out / "queries.dense.npy", np.float32, (dim,)) as writer:
        writer.write(unit(axes.transform(words.transform(titles(source)))))
    return {"terms": weights.shape[1], "share of the variance": float(axes.explained_variance_ratio_.sum())}
