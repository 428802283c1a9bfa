"""The shipped sample: exact search finds exactly the shipped ground truth; default search finds nearly all of it."""
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from patience import patience
from qdrant_client import models

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import sample as arxiv  # noqa: E402

K = 10
EXACT = {"params": {"exact": True}}


@pytest.fixture(scope="module")
def data():
    return arxiv.Sample()


@pytest.fixture(scope="module")
def ask(server, data):
    """Loads the sample and returns a function that runs one query."""
    api = arxiv.Api(f"http://127.0.0.1:{server.port}")
    arxiv.load(api, data, "arxiv")
    return lambda body: api("POST", "/collections/arxiv/points/query", body)["points"]


def exact_scores(data, kind):
    """All scores by NumPy, [n_queries, n_docs]."""
    return np.array([data.exact_scores(kind, k) for k in range(len(data.queries))])


def check(hits, ids, scores, exact):
    """Checks recall 1.0 and the score at every rank. `exact`: scores of all documents for this query."""
    wanted = ids >= 0
    assert len(hits) == wanted.sum()
    assert arxiv.recall([h["id"] for h in hits], scores[wanted], [exact[h["id"]] for h in hits]) == 1.0
    np.testing.assert_allclose([h["score"] for h in hits], scores[wanted], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose([h["score"] for h in hits], [exact[h["id"]] for h in hits], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind,k", [("dense", 10), ("dense", 100), ("sparse", 10), ("sparse", 100), ("multi", 10)])
def test_exact_recall(data, ask, kind, k):
    ids, scores = data.truth(kind)
    exact = exact_scores(data, kind)
    query = getattr(data, f"{kind}_query")
    for q in range(len(data.queries)):
        check(ask(query(q) | {"limit": k} | EXACT), ids[q, :k], scores[q, :k], exact[q])


@pytest.mark.parametrize("name", ["astro", "recent_few_authors", "learning_or_vision_not_single"])
def test_filtered(data, ask, name):
    ids, scores = data.truth(f"dense.{name}")
    exact = exact_scores(data, "dense")
    for q in range(len(data.queries)):
        hits = ask(data.dense_query(q) | {"limit": K, "filter": data.filters[name]} | EXACT)
        check(hits, ids[q], scores[q], exact[q])


def test_filtered_against_numpy(data, ask):
    """Filters by year and author count, for all three kinds of vectors."""
    passes = np.array([d["created"] >= "2010" and 2 <= d["num_authors"] <= 5 for d in data.docs])
    condition = {"must": [{"key": "created", "range": {"gte": "2010-01-01"}},
                          {"key": "num_authors", "range": {"gte": 2, "lte": 5}}]}
    for kind in ("dense", "sparse", "multi"):
        exact = exact_scores(data, kind)
        exact = np.where(passes[:exact.shape[1]], exact, -np.inf)
        query = getattr(data, f"{kind}_query")
        for q in range(0, len(data.queries), 4):
            best = np.argsort(-exact[q], kind="stable")[:K]
            best = best[np.isfinite(exact[q][best])]
            check(ask(query(q) | {"limit": K, "filter": condition} | EXACT), best, exact[q][best], exact[q])


def wait_for_indexes(ask_server, timeout_s=patience(60)):
    """Waits until every row is sealed and indexed."""
    deadline = time.monotonic() + timeout_s
    while True:
        info = ask_server("GET", "/collections/arxiv")
        if info["status"] == "green" and info["indexed_vectors_count"] > 0:
            return
        assert time.monotonic() < deadline, f"not indexed after {timeout_s} s: {info}"
        time.sleep(0.1)


@pytest.mark.parametrize("condition", [None, {"must": [{"key": "num_authors", "range": {"gte": 2, "lte": 5}}]}])
def test_truncated_sparse_scans_find_nearly_all(server, data, ask, condition):
    """Asks for truncated scans; by default the sample is so small that it is searched exactly."""
    wait_for_indexes(arxiv.Api(f"http://127.0.0.1:{server.port}"))
    exact = exact_scores(data, "sparse")
    if condition:
        exact = np.where([2 <= d["num_authors"] <= 5 for d in data.docs], exact, -np.inf)
    found = []
    for q in range(len(data.queries)):
        params = {"sparse": {"method": "scan", "exact_below": 0}}
        hits = ask(data.sparse_query(q) | {"limit": K, "params": params, "filter": condition})
        scores = [h["score"] for h in hits]
        np.testing.assert_allclose(scores, [exact[q][h["id"]] for h in hits], rtol=1e-4, atol=1e-5)
        best = np.sort(exact[q])[::-1][:K]
        found.append(arxiv.recall([h["id"] for h in hits], best, scores))
    assert np.mean(found) >= 0.97, np.mean(found)


def n_lists(server):
    """Number of posting lists that searches have opened."""
    name = 'collection_search_lists_total{id="arxiv"}'
    return next(float(line.split()[-1]) for line in server.get("/metrics").text.splitlines() if line.startswith(name))


@pytest.mark.parametrize("name", [None, "astro", "recent_few_authors", "learning_or_vision_not_single"])
def test_dense_indexes_find_nearly_all_by_default(server, data, ask, name):
    """Uses the stock client with no settings."""
    wait_for_indexes(arxiv.Api(f"http://127.0.0.1:{server.port}"))
    client = server.client()
    condition = models.Filter.model_validate(data.filters[name]) if name else None
    wanted = data.truth(f"dense.{name}" if name else "dense")[1]
    exact = exact_scores(data, "dense")
    before, found = n_lists(server), []
    for q in range(len(data.queries)):
        hits = client.query_points("arxiv", query=data.query_dense[q].tolist(), using="dense", limit=K,
                                   query_filter=condition).points
        np.testing.assert_allclose([h.score for h in hits], [exact[q][h.id] for h in hits], rtol=1e-4, atol=1e-5)
        found.append(arxiv.recall([h.id for h in hits], wanted[q][:K], [h.score for h in hits]))
    assert np.mean(found) >= 0.97, np.mean(found)
    if name is None:
        assert n_lists(server) > before, "the index was not asked"


def test_search_parameters_of_stock_clients(server, data, ask):
    """`exact` and `quantization.ignore` read no list; `hnsw_ef` and `oversampling` change how many are read."""
    wait_for_indexes(arxiv.Api(f"http://127.0.0.1:{server.port}"))
    client, exact = server.client(), exact_scores(data, "dense")
    wanted = data.truth("dense")[1]

    def measured(**params):
        before, found = n_lists(server), []
        for q in range(50):
            hits = client.query_points("arxiv", query=data.query_dense[q].tolist(), using="dense", limit=K,
                                       search_params=models.SearchParams(**params)).points
            found.append(arxiv.recall([h.id for h in hits], wanted[q][:K], [exact[q][h.id] for h in hits]))
        return np.mean(found), n_lists(server) - before

    assert measured(exact=True) == (1.0, 0)
    assert measured(quantization=models.QuantizationSearchParams(ignore=True)) == (1.0, 0)
    recall, lists = measured()
    little = measured(hnsw_ef=4)
    much = measured(hnsw_ef=1000, indexed_only=True)
    assert little[1] < lists < much[1] and little[0] <= recall <= much[0] and much[0] >= 0.99
    more = measured(quantization=models.QuantizationSearchParams(oversampling=4.0, rescore=False))
    assert more[0] >= recall and more[1] == lists


@pytest.mark.parametrize("kind,group,wrong,known", [("sparse", "sparse", "posting", "postings"),
                                                    ("dense", "dense", "probes", "nprobe"),
                                                    ("dense", "ivf", "probes", "rerank")])
def test_unknown_index_parameters_are_named(server, data, ask, kind, group, wrong, known):
    with pytest.raises(Exception, match=known):
        ask(getattr(data, f"{kind}_query")(0) | {"params": {group: {wrong: 1}}})


def test_what_clients_configure_leads_to_other_indexes(server, data, ask):
    """Changes quantization and HNSW settings one by one: each is echoed and built, and searches work meanwhile."""
    api = arxiv.Api(f"http://127.0.0.1:{server.port}")
    wait_for_indexes(api)
    client, exact = server.client(), exact_scores(data, "dense")
    wanted = data.truth("dense")[1]

    def measured():
        before, found = n_lists(server), []
        for q in range(40):
            hits = ask(data.dense_query(q) | {"limit": K})
            found.append(arxiv.recall([h["id"] for h in hits], wanted[q][:K], [exact[q][h["id"]] for h in hits]))
        return np.mean(found), n_lists(server) - before

    def index_names():
        return {p.name.split("-", 2)[2] for p in server.data_dir.rglob("index-*-ivf*") if p.is_dir()}

    binary = models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    client.update_collection("arxiv", quantization_config=binary)
    assert measured()[0] >= 0.95, "the old index answers until the new one is there"
    wait_for_indexes(api)
    assert index_names() == {"ivf-bits=1-refine_bits=0"}
    labels = '{id="arxiv",vector="dense",index="ivf-bits=1-refine_bits=0"}'
    assert f"collection_vectors{labels} {len(data.docs)}" in server.get("/metrics").text
    assert client.get_collection("arxiv").config.quantization_config == binary
    recall, lists = measured()
    assert recall >= 0.97 and lists > 0

    client.update_collection("arxiv", quantization_config=models.Disabled.DISABLED,
                             vectors_config={"dense": models.VectorParamsDiff(hnsw_config=models.HnswConfigDiff(m=0))})
    assert measured() == (1.0, 0)
    wait_for_indexes(api)
    assert index_names() == set()
    assert client.get_collection("arxiv").config.params.vectors["dense"].hnsw_config.m == 0

    client.update_collection("arxiv", vectors_config={"dense": models.VectorParamsDiff(
        hnsw_config=models.HnswConfigDiff(m=16, ef_construct=200))})
    wait_for_indexes(api)
    assert index_names() == {"ivf"}
    recall, lists = measured()
    assert recall >= 0.97 and lists > 0


def test_payload_comes_back(data, ask):
    [hit] = ask(data.dense_query(0) | {"limit": 1, "with_payload": True})
    assert hit["payload"] == data.docs[hit["id"]]


def test_hybrid_finds_the_titled_document(data, ask):
    """Checks plausibility, not exactness: a wrong fusion could not be this good."""
    found = [data.queries[q]["doc"] in [h["id"] for h in ask(data.hybrid_query(q) | {"limit": 10})]
             for q in range(len(data.queries))]
    assert np.mean(found) > 0.97
    found = [data.queries[q]["doc"] == ask(data.reranked_query(q) | {"limit": 1})[0]["id"]
             for q in range(len(data.queries))]
    assert np.mean(found) > 0.9


def test_demo(server):
    """Runs the tour of `make demo`, which fails if an exact search misses anything."""
    demo = Path(arxiv.__file__).with_name("demo.py")
    command = [sys.executable, "-B", demo, "--url", f"http://127.0.0.1:{server.port}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(300))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "multi-vector" in done.stdout
