"""Generated vectors with stated distributions. They show how cost grows with size, never recall.

Every generator writes .npy files block by block, so that a million rows need no more memory than a few thousand. The result
depends only on (seed, parameters): block b of a file draws from PCG64 seeded with (seed, number of the file, b).
"""
import math

import numpy as np

BLOCK = 8192  # rows
NEIGHBOURS = 1 << 18  # tokens searched for the nearest one


class NpyWriter:
    """Writes an array that grows along its first axis. Reserves 128 bytes for the header and fills it in last."""

    def __init__(self, path, dtype, tail=()):
        self.dtype, self.tail, self.n = np.dtype(dtype), tuple(tail), 0
        self.file = open(path, "wb")
        self.file.write(b" " * 128)

    def write(self, block):
        self.n += len(block)
        self.file.write(np.ascontiguousarray(block, self.dtype).tobytes())

    def close(self):
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': {(self.n, *self.tail)}, }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n")
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def random(seed, *what):
    return np.random.Generator(np.random.PCG64([seed, *what]))


def blocks(n):
    """Yields (number, first row, rows) of every block."""
    return [(b, first, min(BLOCK, n - first)) for b, first in enumerate(range(0, n, BLOCK))]


def zipf_shares(n, exponent):
    shares = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return shares / shares.sum()


def draw(rng, cumulative, shape):
    """Draws class numbers with the cumulative shares `cumulative`."""
    return np.minimum(np.searchsorted(cumulative, rng.random(shape), side="right"), len(cumulative) - 1)


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


# Dense.

def clustered(out, rows, queries=1000, dim=384, clusters=1000, width=0.7, seed=1):
    """Clusters of Zipf sizes (exponent 0.5): unit(centre + width * noise), centre and noise of expected length 1."""
    centres = (random(seed, 0).standard_normal((clusters, dim)) / math.sqrt(dim)).astype(np.float32)
    cumulative = np.cumsum(zipf_shares(clusters, 0.5))
    for file, (name, n, dtype) in enumerate([("dense", rows, np.float16), ("queries.dense", queries, np.float32)]):
        with NpyWriter(out / f"{name}.npy", dtype, (dim,)) as writer:
            for b, _, size in blocks(n):
                rng = random(seed, 1 + file, b)
                noise = rng.standard_normal((size, dim), dtype=np.float32) * (width / math.sqrt(dim))
                writer.write(unit(centres[draw(rng, cumulative, size)] + noise))


def median_neighbour_distance(source, sample=1000, seed=1):
    """Returns the median, over a sample of rows, of the distance to the nearest other row. Ignores duplicates."""
    picked = random(seed, 10).choice(len(source), min(sample, len(source)), replace=False)
    chosen = np.asarray(source[np.sort(picked)], np.float32)
    best = np.full(len(chosen), np.inf, np.float32)
    for first in range(0, len(source), BLOCK):
        part = np.asarray(source[first:first + BLOCK], np.float32)
        squares = (chosen**2).sum(1)[:, None] + (part**2).sum(1)[None, :] - 2 * (chosen @ part.T)
        squares[squares < 1e-6] = np.inf  # the row itself, and its copies
        best = np.minimum(best, squares.min(1))
    return float(np.median(np.sqrt(best)))


def jittered(out, source, rows, queries=None, factor=1.0, seed=1):
    """Repeats real rows, each copy with its own Gaussian noise of expected length factor * (median distance to the nearest
neighbour), scaled back to the length of the real row. Queries: the real ones, or rows with noise."""
    if factor < 1:
        raise ValueError(f"factor {factor}: with less noise than neighbours are apart, copies would be each other's neighbours")
    source = np.asarray(source)
    dim = source.shape[1]
    sigma = factor * median_neighbour_distance(source, seed=seed)

    def noisy(rng, numbers):
        real = source[numbers].astype(np.float32)
        moved = real + rng.standard_normal(real.shape, dtype=np.float32) * (sigma / math.sqrt(dim))
        return unit(moved) * np.linalg.norm(real, axis=1, keepdims=True)

    with NpyWriter(out / "dense.npy", np.float16, (dim,)) as writer:
        for b, first, size in blocks(rows):
            writer.write(noisy(random(seed, 11, b), np.arange(first, first + size) % len(source)))
    if queries is None:
        rng = random(seed, 12)
        queries = noisy(rng, rng.integers(0, len(source), 1000))
    with NpyWriter(out / "queries.dense.npy", np.float32, (dim,)) as writer:
        writer.write(queries)
    return {"median distance to the nearest neighbour": sigma / factor, "length of the noise": sigma}


# Sparse.

SPARSE_DIM, TOPICS, TOPIC_TERMS = 30522, 20000, 256
# (non-zeros: mean, deviation, least; sigma of the log-normal weights). With them the 50 heaviest of a document's 121.8
# terms carry 73 % of its weight and the 10 heaviest of a query's 39.8 terms 78 %: for weights exp(sigma * normal) the
# heaviest share f carries Phi(sigma - Phi^-1(1 - f)).
DOCUMENT, QUERY = (121.8, 35.0, 16, 0.84), (39.8, 12.0, 6, 1.44)


def splade_rows(rng, n, shape, popularity, topics, topic_shares):
    """CSR of `n` rows: terms from one topic (60 %) and from the whole vocabulary; the heavier weights tend to go to the
    terms that mark the topic."""
    mean, deviation, least, sigma = shape
    wanted = np.maximum(np.rint(rng.normal(mean, deviation, n)), least).astype(np.int64)
    topic = draw(rng, topic_shares, n)
    row = np.repeat(np.arange(n), 3 * wanted)  # drawn terms repeat, so more are drawn than wanted
    in_topic = rng.random(len(row)) < 0.6
    place = np.minimum((TOPIC_TERMS * rng.random(len(row)) ** 1.5).astype(np.int64), TOPIC_TERMS - 1)
    term = np.where(in_topic, topics[topic[row], place], draw(rng, popularity, len(row)))
    mark = rng.standard_normal(len(row)) + np.where(in_topic, 2.0 - place / TOPIC_TERMS, 0.0)
    key, first = np.unique(row * SPARSE_DIM + term, return_index=True)
    row, mark = key // SPARSE_DIM, mark[first]
    keep = rank_in_row(row, rng.random(len(row))) < wanted[row]
    key, row, mark = key[keep], row[keep], mark[keep]
    weights = 0.35 * np.exp(sigma * rng.standard_normal(len(row)))
    by_weight, by_mark = np.lexsort((-weights, row)), np.lexsort((-mark, row))
    values = np.empty_like(weights)
    values[by_mark] = weights[by_weight]
    return np.bincount(row, minlength=n), key % SPARSE_DIM, np.maximum(values, 1e-3)


def rank_in_row(row, value):
    """Returns the rank of each entry within its row, by `value`. `row` ascends."""
    order = np.lexsort((value, row))
    starts = np.searchsorted(row, row[order])
    ranks = np.empty(len(row), np.int64)
    ranks[order] = np.arange(len(row)) - starts
    return ranks


def splade_like(out, rows, queries=500, seed=1):
    """Sparse rows as a learned sparse encoder gives them: 20,000 topics of Zipf sizes over 30,522 terms."""
    rng = random(seed, 20)
    popularity = np.cumsum(rng.permutation(zipf_shares(SPARSE_DIM, 0.9)))
    topics = draw(rng, popularity, (TOPICS, TOPIC_TERMS))
    topic_shares = np.cumsum(zipf_shares(TOPICS, 0.6))
    sets = [("sparse", rows, DOCUMENT, np.float16), ("queries.sparse", queries, QUERY, np.float32)]
    for file, (name, n, shape, dtype) in enumerate(sets):
        parts = {"indptr": np.uint64, "indices": np.uint16, "values": dtype}
        writers = {part: NpyWriter(out / f"{name}.{part}.npy", kind) for part, kind in parts.items()}
        offset = 0
        writers["indptr"].write(np.zeros(1))
        for b, _, size in blocks(n):
            counts, indices, values = splade_rows(random(seed, 21 + file, b), size, shape, popularity, topics, topic_shares)
            ends = offset + np.cumsum(counts)
            offset = int(ends[-1])
            for part, block in zip(parts, (ends, indices, values)):
                writers[part].write(block)
        for writer in writers.values():
            writer.close()


# Multi-vectors.

def ragged(out, rows, queries=500, dim=128, tokens=100, query_tokens=14, words=30000, seed=1):
    """Documents of log-normal numbers of tokens (sigma 0.6, 1 to 512). A token is unit(word + 0.5 * topic + 0.4 * noise):
    word and topic of length 1, words of Zipf frequencies (exponent 1), one of 1,000 topics a document. Queries alike."""
    rng = random(seed, 30)
    word_vectors = unit(rng.standard_normal((words, dim), dtype=np.float32))
    topic_vectors = unit(rng.standard_normal((1000, dim), dtype=np.float32))
    frequency = np.cumsum(zipf_shares(words, 1.0))
    for file, (name, n, mean) in enumerate([("tokens", rows, tokens), ("queries.tokens", queries, query_tokens)]):
        offset = 0
        with NpyWriter(out / f"{name}.indptr.npy", np.uint64) as ends, \
             NpyWriter(out / f"{name}.values.npy", np.float16, (dim,)) as values:
            ends.write(np.zeros(1))
            for b, _, size in small_blocks(n, mean):
                rng = random(seed, 31 + file, b)
                counts = np.clip(np.rint(rng.lognormal(math.log(mean) - 0.18, 0.6, size)), 1, 512).astype(np.int64)
                topic = np.repeat(rng.integers(0, len(topic_vectors), size), counts)
                noise = rng.standard_normal((len(topic), dim), dtype=np.float32) * (0.4 / math.sqrt(dim))
                values.write(unit(word_vectors[draw(rng, frequency, len(topic))] + 0.5 * topic_vectors[topic] + noise))
                ends.write(offset + np.cumsum(counts))
                offset += int(counts.sum())


def jittered_tokens(out, source, queries, rows, factor=1.0, seed=1):
    """Repeats real documents, each token with its own Gaussian noise of expected length factor * (median distance of a token to
the nearest other one), scaled back to the length of the real token. Queries: the real ones. `source` and `queries` are
Ragged."""
    if factor < 1:
        raise ValueError(f"factor {factor}: with less noise than neighbours are apart, copies would be each other's neighbours")
    dim, offset = source.dim, 0
    sigma = factor * median_neighbour_distance(source.values[:NEIGHBOURS], seed=seed)
    with NpyWriter(out / "tokens.indptr.npy", np.uint64) as ends, NpyWriter(out / "tokens.values.npy", np.float16, (dim,)) as values:
        ends.write(np.zeros(1))
        for b, first, size in small_blocks(rows, max(1, len(source.values) // len(source))):
            block = source.picked(np.arange(first, first + size) % len(source))
            real = block.floats()
            noise = random(seed, 40, b).standard_normal(real.shape, dtype=np.float32) * (sigma / math.sqrt(dim))
            values.write(unit(real + noise) * np.linalg.norm(real, axis=1, keepdims=True))
            ends.write(offset + block.indptr[1:])
            offset += len(real)
    np.save(out / "query_tokens.indptr.npy", queries.indptr.astype(np.uint64))
    np.save(out / "query_tokens.values.npy", np.asarray(queries.values, np.float16))
    return {"median distance to the nearest token": sigma / factor, "length of the noise": sigma}


def small_blocks(n, tokens):
    """Like `blocks`, but a block has about BLOCK tokens instead of BLOCK rows."""
    step = max(1, 4 * BLOCK // tokens)
    return [(b, first, min(step, n - first)) for b, first in enumerate(range(0, n, step))]
