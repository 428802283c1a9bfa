"""Counts, statistics and histograms over REST, against a slow evaluation of the documents."""
import json
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from quiver_server import SMALL_SEGMENTS, Server

COLORS = ["red", "green", "blue", "cyan"]
N = 1300
INDEXES = {"color": "keyword", "price": "float", "year": "integer", "when": "datetime"}
STRICT = {"strict_mode_config": {"enabled": True, "unindexed_filtering_retrieve": False, "max_query_limit": 20}}


@pytest.fixture(params=["growing", "sealed"])
def server(request, tmp_path):
    server = Server(tmp_path / "data", env=SMALL_SEGMENTS if request.param == "sealed" else {}).start()
    yield server
    server.close()


def payload(rng):
    document = {"color": rng.choice(COLORS), "price": rng.randrange(-100000, 100000) / 100, "year": rng.randrange(1990, 2030),
                "when": f"20{rng.randrange(10, 20)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:30:00Z",
                "tags": [rng.choice([*COLORS, 7, True, None, 2.5]) for _ in range(rng.randrange(4))],
                "mixed": rng.choice([1, 2.0, "x", None, [], {"a": 1}, [1, "x", 1]])}
    for key in list(document):
        if rng.random() < 0.1:
            del document[key]
    return document


def elements(document, key):
    value = document.get(key)
    return value if isinstance(value, list) else [] if value is None else [value]


def terms_of(document, key):
    """The different strings, integers and booleans, each with its type: 1 is not True."""
    return {(type(e).__name__, e) for e in elements(document, key) if isinstance(e, (str, bool, int))}


def numbers_of(document, key):
    return [e for e in elements(document, key) if isinstance(e, (int, float)) and not isinstance(e, bool)]


def expected_terms(documents, key, limit):
    counts = Counter(term for d in documents for term in terms_of(d, key))
    order = {"str": 0, "int": 1, "bool": 2}
    best = sorted(counts.items(), key=lambda item: (-item[1], order[item[0][0]], item[0][1]))[:limit]
    return {"buckets": [{"value": term[1], "count": n} for term, n in best], "distinct": len(counts),
            "missing": sum(not terms_of(d, key) for d in documents)}


def expected_stats(documents, key):
    numbers = [n for d in documents for n in numbers_of(d, key)]
    total = sum((Fraction(n) for n in numbers), Fraction(0))
    return {"count": len(numbers), "missing": sum(not numbers_of(d, key) for d in documents), "min": min(numbers, default=None),
            "max": max(numbers, default=None), "sum": float(total), "avg": float(total) / len(numbers) if numbers else None}


def expected_histogram(documents, bucket_of):
    counts, missing = Counter(), 0
    for document in documents:
        buckets = bucket_of(document)
        counts.update(buckets)
        missing += not buckets
    return {"buckets": [{"from": k, "count": counts[k]} for k in sorted(counts)], "missing": missing}


AGGREGATIONS = {
    "n": {"count": {}}, "colors": {"terms": {"key": "color"}}, "tags": {"terms": {"key": "tags[]", "limit": 3}},
    "mixed": {"terms": {"key": "mixed"}}, "different": {"cardinality": {"key": "tags"}}, "price": {"stats": {"key": "price"}},
    "mixed numbers": {"stats": {"key": "mixed"}}, "nowhere": {"stats": {"key": "no.such"}},
    "years": {"histogram": {"key": "year", "interval": 5, "offset": 1}}, "prices": {"histogram": {"key": "price", "interval": 100}},
    "by year": {"date_histogram": {"key": "when", "calendar": "year"}}, "by month": {"date_histogram": {"key": "when", "calendar": "month"}},
    "by day": {"date_histogram": {"key": "when", "calendar": "day"}}, "by hour": {"date_histogram": {"key": "when", "calendar": "hour"}},
}
FILTERS = [
    (None, lambda d: True),
    ({"must": [{"key": "color", "match": {"value": "red"}}]}, lambda d: d.get("color") == "red"),
    ({"must": [{"key": "price", "range": {"gt": 10.5}}]}, lambda d: d.get("price", -1) > 10.5),
    ({"must_not": [{"key": "tags", "match": {"any": ["blue", "cyan"]}}]}, lambda d: not {"blue", "cyan"} & set(d.get("tags", []))),
    ({"must": [{"key": "color", "match": {"value": "black"}}]}, lambda d: False),
]


def expected(documents):
    def begin(length, rest):
        return lambda d: {d["when"][:length] + rest} if "when" in d else set()
    return {
        "n": {"count": len(documents)}, "colors": expected_terms(documents, "color", 10), "tags": expected_terms(documents, "tags", 3),
        "mixed": expected_terms(documents, "mixed", 10), "different": {"distinct": expected_terms(documents, "tags", 99)["distinct"]},
        "price": expected_stats(documents, "price"), "mixed numbers": expected_stats(documents, "mixed"),
        "nowhere": expected_stats(documents, "no"),
        "years": expected_histogram(documents, lambda d: {math.floor((n - 1) / 5) * 5 + 1 for n in numbers_of(d, "year")}),
        "prices": expected_histogram(documents, lambda d: {math.floor(n / 100) * 100 for n in numbers_of(d, "price")}),
        "by year": expected_histogram(documents, begin(4, "-01-01T00:00:00Z")),
        "by month": expected_histogram(documents, begin(7, "-01T00:00:00Z")),
        "by day": expected_histogram(documents, begin(10, "T00:00:00Z")), "by hour": expected_histogram(documents, begin(13, ":00:00Z")),
    }


def aggregate(server, body, name="c", query=""):
    return server.post(f"/v1/collections/{name}/aggregate{query}", body)


def check(server, documents):
    for condition, is_match in FILTERS:
        body = {"aggregations": AGGREGATIONS} | ({"filter": condition} if condition else {})
        found = aggregate(server, body).result["aggregations"]
        assert list(found) == list(AGGREGATIONS)
        wanted = expected([d for d in documents.values() if is_match(d)])
        assert found == wanted, condition
        count = server.post("/collections/c/points/count", {"exact": True} | ({"filter": condition} if condition else {}))
        assert count.result["count"] == wanted["n"]["count"], condition
        for name in ("tags", "mixed"):  # as text, because 1 == True
            assert json.dumps(found[name]) == json.dumps(wanted[name]), condition


def fill(server, rng):
    server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot"}, "shard_number": 2})
    documents = {i: payload(rng) for i in range(N)}
    points = [{"id": i, "vector": [1, i], "payload": d} for i, d in documents.items()]
    for i in range(0, N, 650):
        server.put("/collections/c/points?wait=true", {"points": points[i:i + 650]}).result  # noqa: B018
    server.post("/collections/c/points/delete?wait=true", {"points": list(range(0, N, 7))})
    changed = {i: payload(rng) for i in range(3, N, 11)}
    server.put("/collections/c/points?wait=true", {"points": [{"id": i, "vector": [1, i], "payload": d} for i, d in changed.items()]})
    return {i: d for i, d in documents.items() if i % 7} | changed


def test_aggregates_are_those_of_the_documents(server):
    documents = fill(server, random.Random(26))
    check(server, documents)
    for key, kind in INDEXES.items():
        server.put("/collections/c/index?wait=true", {"field_name": key, "field_schema": kind})
    check(server, documents)
    server.kill9()
    server.start()
    check(server, documents)


def test_what_is_refused(server):
    server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot"}})
    server.put("/collections/c/points?wait=true", {"points": [{"id": 1, "vector": [1, 1], "payload": {"n": list(range(10001))}}]})
    for aggregation, status, text in [
            ({"sum": {"key": "n"}}, 400, "unknown aggregation `sum`"), ({"histogram": {"key": "n", "interval": 0}}, 422, "must be above 0"),
            ({"stats": {"key": "n", "limit": 1}}, 400, "limit"), ({"terms": {"key": "n", "limit": 10001}}, 422, "from 1 to 10000"),
            ({"histogram": {"key": "n", "interval": 1}}, 400, "more than 10000 buckets"), ({"stats": {"key": "n."}}, 400, "n.")]:
        answer = aggregate(server, {"aggregations": {"x": aggregation}})
        assert answer.status == status and text in answer.error, answer.text
    assert aggregate(server, {"aggregations": {"x": {"histogram": {"key": "n", "interval": 2}}}}).status == 200
    assert aggregate(server, {"aggregations": {"n": {"count": {}}}}, name="unknown").status == 404
    assert aggregate(server, {"aggregations": {"n": {"count": {}}}}, query="?timeout=0").status == 422


def test_strict_mode(server):
    server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot"}} | STRICT)
    server.put("/collections/c/index?wait=true", {"field_name": "tags", "field_schema": "keyword"})
    refused = {"unindexed": {"stats": {"key": "n"}}, "of another kind": {"stats": {"key": "tags"}}, "limit": {"terms": {"key": "tags", "limit": 21}},
               "moments": {"date_histogram": {"key": "tags", "calendar": "day"}}}
    for label, aggregation in refused.items():
        answer = aggregate(server, {"aggregations": {"x": aggregation}})
        assert answer.status == 400 and ("Index required" in answer.error or "21 > 20" in answer.error), label
    body = {"aggregations": {"n": {"count": {}}, "t": {"terms": {"key": "tags[]", "limit": 20}}}}
    assert aggregate(server, body).status == 200
    answer = aggregate(server, body | {"filter": {"must": [{"key": "n", "match": {"value": 1}}]}})
    assert answer.status == 400 and "Index required" in answer.error


def test_shard_keys(server):
    server.put("/collections/c", {"vectors": {"size": 2, "distance": "Dot"}, "sharding_method": "custom"})
    for key, n in [("cats", 3), ("dogs", 5)]:
        server.put("/collections/c/shards", {"shard_key": key}).result  # noqa: B018
        points = [{"id": i, "vector": [1, i], "payload": {"n": i}} for i in range(n)]
        server.put("/collections/c/points?wait=true", {"points": points, "shard_key": key}).result  # noqa: B018
    body = {"aggregations": {"s": {"stats": {"key": "n"}}}}
    for keys, total in [("cats", 3), ("dogs", 10), (["cats", "dogs"], 13)]:
        assert aggregate(server, body | {"shard_key": keys}).result["aggregations"]["s"]["sum"] == total
    assert aggregate(server, body).result["aggregations"]["s"]["count"] == 8
    answer = aggregate(server, body | {"shard_key": "birds"})
    assert answer.status == 400 and "birds" in answer.error
