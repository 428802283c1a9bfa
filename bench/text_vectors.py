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
TEXTS_OF_TERMS = 100_000
N_QUERIES = 2000


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


def models(dim, seed, **choice):
    """TF-IDF and truncated SVD, not fitted yet. `choice`: which terms."""
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise SystemExit("vectors of texts need scikit-learn from PyPI (pip install scikit-learn)") from None
    words = TfidfVectorizer(sublinear_tf=True, min_df=LEAST_DOCUMENTS, max_df=MOST_DOCUMENTS, dtype=np.float32, **choice)
    return words, TruncatedSVD(dim, n_iter=POWER_ITERATIONS, random_state=seed)


def write(out, rows, queries):
    for name, dtype, values in (("dense.npy", np.float16, rows), ("queries.dense.npy", np.float32, queries)):
        with NpyWriter(out / name, dtype, (values.shape[1],)) as writer:
            writer.write(values)


def analyse(out, source, rows, dim, seed, texts_of):
    """Writes the rows and the vectors of the queries `texts_of(terms)`; returns facts."""
    words, axes = models(dim, seed)
    weights = words.fit_transform(abstracts(source, rows))
    if dim > weights.shape[1]:
        raise SystemExit(f"lsa: {dim} dimensions of {weights.shape[1]} terms; wanted fewer dimensions or more texts")
    vectors = unit(axes.fit_transform(weights))
    write(out, vectors, unit(axes.transform(words.transform(texts_of(words.get_feature_names_out())))))
    return {"terms": weights.shape[1], "share of the variance": float(axes.explained_variance_ratio_.sum())}


def lsa(out, source, rows, dim=768, seed=1):
    """Abstracts of docs.jsonl, queries of queries.tsv: TF-IDF (sublinear), truncated SVD fitted to the abstracts, unit length.

Writes f16 rows [rows, dim] and f32 queries. Raises SystemExit without scikit-learn."""
    return analyse(out, source, rows, dim, seed, lambda _: titles(source))


def lsa_words(out, source, rows, dim=768, seed=1):
    """Rows as in `lsa`; 2,000 words at random, each alone, are the queries. They lie farther from all rows than rows do."""
    return analyse(out, source, rows, dim, seed,
                   lambda terms: np.random.default_rng(seed).choice(terms, N_QUERIES, replace=False))


def terms(out, source, rows, dim=100, seed=1):
    """Vectors of the most frequent words and pairs of words of docs.jsonl, by the same analysis: rows of V S, unit length.

2,000 of the terms, at random, are the queries. Writes as `lsa`."""
    words, axes = models(dim, seed, ngram_range=(1, 2), max_features=rows + N_QUERIES)
    weights = words.fit_transform(abstracts(source, TEXTS_OF_TERMS))
    if weights.shape[1] < rows + N_QUERIES:
        raise SystemExit(f"terms: the texts have {weights.shape[1]} terms; wanted {rows + N_QUERIES}, of which "
                         f"{N_QUERIES} are queries")
    axes.fit(weights)
    vectors = unit((axes.components_ * axes.singular_values_[:, None]).T)
    vectors = vectors[np.random.default_rng(seed).permutation(len(vectors))]
    write(out, vectors[:rows], vectors[rows:])
    return {"share of the variance": float(axes.explained_variance_ratio_.sum())}
