"""Fields whose vectors are stored in other types than float32: what is returned, scored, found and kept."""
import subprocess

import numpy as np
import pytest

from patience import patience
from quiver_server import binary

TURBO = ["turbo4", "turbo8", "turbo16"]
# Relative error of a returned vector, and recall@10 against the vectors as sent (docs/dense.md, docs/encoders.md).
ERROR = {"turbo4": 0.13, "turbo8": 0.01, "turbo16": 1e-4, "bfloat16": 0.004, "int8": 0.01, "float8_e4m3": 0.04, "float8_e5m2": 0.08, "binary": None}
RECALL = {"turbo4": 0.85, "turbo8": 0.97, "turbo16": 0.99, "bfloat16": 0.97, "int8": 0.97,
          "float8_e4m3": 0.93, "float8_e5m2": 0.88, "binary": 0.35}
TYPES = list(ERROR)


def clustered(rng, n, dim, latent=12, clusters=30):
    """Rows near cluster centres, in a subspace and with noise: like embeddings."""
    basis, centres = rng.standard_normal((latent, dim)), rng.standard_normal((clusters, latent))
    inner = centres[rng.integers(0, clusters, n)] + 0.7 * rng.standard_normal((n, latent))
    return (inner @ basis + 0.3 * rng.standard_normal((n, dim))).astype(np.float32)


def create(server, name, **vectors):
    assert server.put(f"/collections/{name}", {"vectors": vectors}).result is True


def upsert(server, name, points):
    server.put(f"/collections/{name}/points?wait=true", {"points": points}).result


def vectors_of(server, name, ids):
    points = server.post(f"/collections/{name}/points", {"ids": ids, "with_vector": True}).result
    return {p["id"]: p["vector"] for p in points}


def search(server, name, query, **more):
    body = {"query": np.asarray(query).tolist(), "limit": 10} | more
    return [(p["id"], p["score"]) for p in server.post(f"/collections/{name}/points/query", body).result["points"]]


def relative_error(a, b):
    return np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(b)


def as_bfloat16(values):
    """Rounded to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def as_int8(values):
    """Multiples of a 127th of the largest value, itself rounded to 16 bits."""
    values = np.asarray(values, np.float32)
    bits = (np.abs(values).max() / 127).astype(np.float32).view(np.uint32)
    scale = ((bits + 0x80) & 0xFFFFFF00).astype(np.uint32).view(np.float32)
    return (np.rint(values / scale) * scale).astype(np.float32)


def as_float8(values, mantissa_bits, bias, largest):
    """Rounded to nearest even; too large values become the largest."""
    values = np.asarray(values, np.float64)
    exponents = np.maximum(np.frexp(values)[1] - 1, 1 - bias)
    steps = np.ldexp(1.0, exponents - mantissa_bits)
    return np.clip(np.rint(values / steps) * steps, -largest, largest).astype(np.float32)


# What is stored of a vector, but for Cosine.
STORED = {"bfloat16": as_bfloat16, "int8": as_int8, "float8_e4m3": lambda v: as_float8(v, 3, 7, 448),
          "float8_e5m2": lambda v: as_float8(v, 2, 15, 57344), "binary": lambda v: np.where(np.asarray(v) > 0, 1, -1)}


@pytest.mark.parametrize("datatype", STORED)
def test_stored_values(server, name, datatype):
    distances = ["Dot", "Euclid", "Manhattan"]
    create(server, name, **{d: {"size": 37, "distance": d, "datatype": datatype} for d in distances})
    rng = np.random.default_rng(2)
    sent = [(rng.standard_normal(37) * 10.0 ** (i % 5 - 2)).astype(np.float32) for i in range(30)]
    upsert(server, name, [{"id": i, "vector": {d: v.tolist() for d in distances}} for i, v in enumerate(sent)])
    for i, vectors in vectors_of(server, name, list(range(30))).items():
        for distance in distances:
            assert np.array_equal(np.asarray(vectors[distance], np.float32), STORED[datatype](sent[i])), (i, distance)


@pytest.mark.parametrize("datatype", TURBO)
def test_returned_vectors(server, name, datatype):
    sizes = {"one": 1, "three": 3, "odd": 63, "large": 1000}
    create(server, name, **{key: {"size": size, "distance": distance, "datatype": datatype}
                            for (key, size), distance in zip(sizes.items(), ["Dot", "Euclid", "Manhattan", "Cosine"])})
    config = server.get(f"/collections/{name}").result["config"]["params"]["vectors"]
    assert {field["datatype"] for field in config.values()} == {datatype}
    rng = np.random.default_rng(3)
    sent = {i: {key: rng.standard_normal(size).astype(np.float32) for key, size in sizes.items()} for i in range(20)}
    upsert(server, name, [{"id": i, "vector": {k: v.tolist() for k, v in v.items()}} for i, v in sent.items()])
    stored = vectors_of(server, name, list(range(20)))
    for i, fields in sent.items():
        for key, vector in fields.items():
            if key == "large":
                vector = vector / np.linalg.norm(vector)
            assert relative_error(stored[i][key], vector) < ERROR[datatype] * (1.5 if len(vector) < 100 else 1)
            assert np.linalg.norm(stored[i][key]) == pytest.approx(np.linalg.norm(vector), rel=3e-5)
    # What was returned is what is stored: sent back, it stays as it is.
    upsert(server, name, [{"id": i, "vector": v} for i, v in stored.items()])
    assert vectors_of(server, name, list(range(20))) == stored


@pytest.mark.parametrize("datatype", [t for t in TYPES if t not in ("turbo8", "turbo16")])
@pytest.mark.parametrize("distance", ["Cosine", "Dot", "Euclid", "Manhattan"])
def test_scores_are_those_of_returned_vectors(server, name, datatype, distance):
    create(server, name, dense={"size": 48, "distance": distance, "datatype": datatype},
           tokens={"size": 48, "distance": distance, "datatype": datatype,
                   "multivector_config": {"comparator": "max_sim"}})
    rng = np.random.default_rng(4)
    upsert(server, name, [{"id": i, "vector": {"dense": rng.standard_normal(48).tolist(),
                                               "tokens": rng.standard_normal((1 + i % 4, 48)).tolist()}}
                          for i in range(100)])
    stored = vectors_of(server, name, list(range(100)))

    def score(a, b):
        if distance == "Cosine":
            # As with float16, rows of bfloat16 are scaled before they are rounded, and compared as they are.
            return a @ b / np.linalg.norm(a) / (1 if datatype == "bfloat16" else np.linalg.norm(b))
        return {"Dot": a @ b, "Euclid": np.linalg.norm(a - b), "Manhattan": np.abs(a - b).sum()}[distance]

    query = rng.standard_normal(48)
    sign = -1 if distance in ("Euclid", "Manhattan") else 1
    for using in ("dense", "tokens"):
        wanted = {i: score(query, np.asarray(v["dense"])) if using == "dense" else
                  sign * max(sign * score(query, np.asarray(t)) for t in v["tokens"]) for i, v in stored.items()}
        best = sorted(wanted, key=lambda i: -sign * wanted[i])[:10]
        got = search(server, name, query if using == "dense" else query[None, :], using=using)
        assert [i for i, _ in got] == best
        shown = [wanted[i] for i in best]
        if using == "tokens" and distance == "Euclid":  # as Qdrant has it: sums of squares are not rooted per token
            continue
        assert [s for _, s in got] == pytest.approx([abs(s) for s in shown] if sign < 0 else shown, rel=1e-4, abs=1e-5)


def test_recall_restart_and_index(new_server):
    server = new_server()
    server.start()
    rng = np.random.default_rng(5)
    rows = clustered(rng, 3040, 64)
    rows, queries = rows[:3000], rows[3000:]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    truth = [set(np.argsort(-(unit @ q))[:10].tolist()) for q in queries]
    body = {"vectors": {t: {"size": 64, "distance": "Cosine", "datatype": t} for t in TYPES},
            "optimizers_config": {"indexing_threshold": 1, "default_segment_number": 1}}
    assert server.put("/collections/c", body).result is True
    for first in range(0, 3000, 1000):
        upsert(server, "c", [{"id": i, "vector": {t: rows[i].tolist() for t in TYPES}}
                             for i in range(first, first + 1000)])

    def recall(datatype, **params):
        found = [{i for i, _ in search(server, "c", q, using=datatype, params=params)} for q in queries]
        return np.mean([len(a & b) / 10 for a, b in zip(found, truth)])

    exact = {t: recall(t, exact=True) for t in TYPES}
    for datatype in TYPES:
        assert exact[datatype] > RECALL[datatype], exact
    before = vectors_of(server, "c", list(range(0, 3000, 100)))
    scores = {t: search(server, "c", queries[0], using=t, params={"exact": True}) for t in TYPES}
    server.kill9()
    server.start()
    assert vectors_of(server, "c", list(range(0, 3000, 100))) == before
    assert {t: search(server, "c", queries[0], using=t, params={"exact": True}) for t in TYPES} == scores
    for datatype in TYPES:
        assert recall(datatype) > RECALL[datatype] - 0.03


def test_bad_input(server, name):
    answer = server.put(f"/collections/{name}", {"vectors": {"size": 4, "distance": "Dot", "datatype": "turbo5"}})
    assert answer.status == 400 and "unknown variant `turbo5`" in answer.error and "`turbo4`" in answer.error
    answer = server.put(f"/collections/{name}", {"sparse_vectors": {"s": {"index": {"datatype": "turbo4"}}}})
    assert answer.status == 422 and "sparse vectors do not support the `turbo4` datatype" in answer.error
    create(server, name, v={"size": 4, "distance": "Dot", "datatype": "turbo4"})
    upsert(server, name, [{"id": 1, "vector": {"v": [0, 0, 0, 0]}}])
    for vector, text in [([1, 2, 3], "expected dim: 4, got 3"), ([3e38, 3e38, 0, 0], "at most 3e+38 long")]:
        answer = server.put(f"/collections/{name}/points?wait=true", {"points": [{"id": 1, "vector": {"v": vector}}]})
        assert answer.status == 400 and text in answer.error, answer.text
    assert vectors_of(server, name, [1]) == {1: {"v": [0, 0, 0, 0]}}
    assert search(server, name, [1, 2, 3, 4], using="v") == [(1, 0)]


@pytest.mark.parametrize("datatype", [t for t in TYPES if t not in ("turbo8", "turbo16")])
def test_export_and_import(server, name, tmp_path, datatype):
    create(server, name, v={"size": 33, "distance": "Dot", "datatype": datatype})
    rng = np.random.default_rng(6)
    upsert(server, name, [{"id": i, "vector": {"v": rng.standard_normal(33).tolist()}} for i in range(50)])
    url = f"http://127.0.0.1:{server.port}"

    def quiver(*args):
        done = subprocess.run([binary(), *args], cwd=tmp_path, capture_output=True, text=True, timeout=patience(60))
        assert done.returncode == 0, done.stdout + done.stderr

    quiver("export", "--url", url, "--collection", name, "--out", "out")
    exported = np.load(tmp_path / "out" / "vectors.v.npy")
    stored = vectors_of(server, name, list(range(50)))
    assert exported.dtype == np.float32
    assert np.array_equal(exported, np.asarray([stored[i]["v"] for i in range(50)], np.float32))
    np.save(tmp_path / "v.npy", exported)
    quiver("import", "--url", url, "--collection", f"{name}b", "--create", "--vectors", "v=v.npy",
           "--dtype", f"v={datatype}", "--metric", "v=dot")
    assert vectors_of(server, f"{name}b", list(range(50))) == stored
