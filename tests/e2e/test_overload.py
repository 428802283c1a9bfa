"""More requests than the server can answer: some are refused at once with 429, and what is accepted is right."""
import itertools
import json
import random
import threading

import pytest
from patience import comes_true
from qdrant_client import models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}
N_POINTS = 20_000
# One thread for cheap and one for expensive work.
ONE_THREAD = {"QUIVER__THREADS__COMPUTE": "1"}
N_CLIENTS = 48
# Every document is read for each of the conditions: tens of milliseconds.
FACET = {"key": "word", "limit": 5, "exact": True, "filter": {"must": [{"key": "text", "match": {"text": "common words"}}] * 40}}


def fill(server, name):
    server.put(f"/collections/{name}", VECTORS)
    server.put(f"/collections/{name}/index?wait=true", {"field_name": "word", "field_schema": "keyword"})
    random.seed(7)
    for first in range(0, N_POINTS, 2000):
        points = [{"id": i, "vector": [i, 1], "payload": {"word": f"w{random.randrange(50)}", "n": i, "text": "common words " * 20}}
                  for i in range(first, first + 2000)]
        assert server.put(f"/collections/{name}/points?wait=true", {"points": points}).status == 200
    assert comes_true(lambda: server.get(f"/collections/{name}").result["status"] == "green")


def flood(call, n_clients=N_CLIENTS, n_calls=4):
    """What `call()` returned or raised, from clients that call at the same time."""
    outcomes, barrier = [], threading.Barrier(n_clients)

    def run():
        barrier.wait()
        for _ in range(n_calls):
            outcomes.append(call())

    clients = [threading.Thread(target=run) for _ in range(n_clients)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return outcomes


def flood_until(call, is_enough):
    """The outcomes of floods, until they are enough: a fast server answers some of them without a refusal."""
    outcomes = []

    def once_more():
        outcomes.extend(flood(call))
        return is_enough(outcomes)

    assert comes_true(once_more)
    return outcomes


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A server that refuses waits beyond a millisecond, or ten requests."""
    from quiver_server import Server
    server = Server(tmp_path_factory.mktemp("busy") / "data", env=ONE_THREAD | {"QUIVER__SERVICE__MAX_WAIT_MS": "1"}, grpc=True).start()
    fill(server, "c")
    yield server
    server.close()


def test_a_flood_is_refused_in_part_and_what_is_accepted_is_right(busy):
    right = busy.post("/collections/c/facet", FACET).result
    answers = flood_until(lambda: busy.post("/collections/c/facet", FACET),
                          lambda answers: {answer.status for answer in answers} >= {200, 429})
    assert {answer.status for answer in answers} == {200, 429}
    for answer in answers:
        if answer.status == 200:
            assert answer.result == right
        else:
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert answer.error.startswith(("Rate limiting exceeded: the server is overloaded: the request would wait about ",
                                            "Rate limiting exceeded: the server is overloaded: the request waited "))
            assert "service.max_wait_ms" in answer.error
    n_refused = sum(answer.status == 429 for answer in answers)
    assert busy.metric("requests_refused_total") == n_refused
    waited = sum(busy.metric("request_wait_seconds_count", work=work) for work in ("cheap", "expensive"))
    assert waited >= len(answers) - n_refused
    assert busy.post("/collections/c/facet", FACET).result == right, "the flood is over"


def test_the_stock_client_is_told_when_to_come_back(busy):
    numbers = itertools.count(1)
    for grpc in (False, True):
        local = threading.local()

        def call():
            if not hasattr(local, "client"):
                local.client = busy.client(prefer_grpc=grpc, grpc_port=busy.grpc_port)
            try:
                # No filter like one before: what it leaves would be known.
                new = models.FieldCondition(key="n", match=models.MatchValue(value=-next(numbers)))
                return local.client.facet("c", key="word", limit=5, exact=True, facet_filter=models.Filter(
                    must=[models.FieldCondition(key="text", match=models.MatchText(text="common words"))] * 40, must_not=[new])).hits
            except ResourceExhaustedResponse as refused:
                return refused

        def was_refused(outcome):
            return isinstance(outcome, ResourceExhaustedResponse)

        outcomes = flood_until(call, lambda outcomes: len({was_refused(outcome) for outcome in outcomes}) == 2)
        refused = [outcome for outcome in outcomes if was_refused(outcome)]
        hits = [outcome for outcome in outcomes if not was_refused(outcome)]
        assert all(1 <= error.retry_after_s <= 60 and "overloaded" in error.message for error in refused)
        assert all(one == hits[0] for one in hits) and len(hits[0]) == 5


def test_reports_and_deletions_are_never_refused_and_nothing_acknowledged_is_lost(busy):
    name = "kept"
    busy.put(f"/collections/{name}", VECTORS)
    stop, seen = threading.Event(), []

    def others():
        while not stop.is_set():
            for path in ("/healthz", "/readyz", "/metrics", "/collections"):
                seen.append(busy.get(path).status)
            # A body that is large enough to be decoded on a thread that computes.
            ids = list(range(10**6, 10**6 + 20_000))
            seen.append(busy.post(f"/collections/{name}/points/delete?wait=true", {"points": ids}).status)

    numbers, lock, acknowledged = iter(range(1, 10**6)), threading.Lock(), []

    def write_and_load():
        busy.post("/collections/c/facet", FACET)
        with lock:
            i = next(numbers)
        point = {"id": i, "vector": [i, 1], "payload": {"pad": "x" * 100_000}}
        answer = busy.put(f"/collections/{name}/points?wait=true&timeout=60", {"points": [point]})
        assert answer.status in (200, 429), answer.text
        if answer.status == 200:
            assert answer.result["status"] == "completed"
            with lock:
                acknowledged.append(i)
        return answer.status

    watcher = threading.Thread(target=others)
    watcher.start()
    statuses = flood(write_and_load)
    stop.set()
    watcher.join()
    assert set(seen) == {200}
    assert statuses.count(200) == len(acknowledged) > 0
    busy.kill9()
    busy.start()
    found = busy.post(f"/collections/{name}/points/scroll", {"limit": 10_000, "with_payload": False}).result["points"]
    assert {point["id"] for point in found} == set(acknowledged), "refused ones left nothing"


def test_without_a_limit_only_deadlines_refuse(new_server):
    server = new_server(env=ONE_THREAD | {"QUIVER__SERVICE__MAX_WAIT_MS": "0"}).start()
    fill(server, "c")
    right = server.post("/collections/c/facet", FACET).result
    answers = flood(lambda: server.post("/collections/c/facet", FACET), n_calls=2)
    assert all(answer.status == 200 and answer.result == right for answer in answers)
    assert server.metric("requests_refused_total") == 0

    # Dozens of batches wait, each of which takes long: those that must be answered within a second are refused.
    server.put("/collections/slow", {"vectors": {"size": 256, "distance": "Dot"}})
    points = [{"id": i, "vector": [float(i % 13)] * 256} for i in range(1000)]
    assert server.put("/collections/slow/points?wait=true", {"points": points}).status == 200
    batch = json.dumps({"searches": [{"query": [0.5] * 256, "limit": 1, "params": {"exact": True}}] * 2000}).encode()
    stop, refused = threading.Event(), []

    def keep_busy():
        while not stop.is_set():
            server.post("/collections/slow/points/query/batch?timeout=600", batch)

    def is_refused():
        answer = server.post("/collections/slow/points/query/batch?timeout=1", batch)
        assert answer.status in (200, 408, 429), answer.text
        refused.extend([answer] * (answer.status == 429))
        return bool(refused)

    patient = [threading.Thread(target=keep_busy) for _ in range(60)]
    for client in patient:
        client.start()
    try:
        assert comes_true(is_refused)
    finally:
        stop.set()
        for client in patient:
            client.join()
    assert "deadline" in refused[0].error and int(refused[0].headers["retry-after"]) >= 1
    assert server.metric("requests_refused_total", reason="max_wait") == 0


def test_point_reads_do_not_wait_for_facets(new_server):
    """Whatever is queued before the threads of expensive work, cheap work has its own."""
    server = new_server(env=ONE_THREAD).start()
    fill(server, "c")
    server.post("/collections/c/facet", FACET)  # from now on it is known to take long
    stop, n_facets = threading.Event(), []

    def keep_busy():
        while not stop.is_set():
            n_facets.append(server.post("/collections/c/facet", FACET).status)

    clients = [threading.Thread(target=keep_busy) for _ in range(8)]
    for client in clients:
        client.start()
    assert comes_true(lambda: len(n_facets) >= 8)
    reads = [server.get(f"/collections/c/points/{i}") for i in range(20)]
    stop.set()
    for client in clients:
        client.join()
    assert [read.result["id"] for read in reads] == list(range(20))
    assert server.metric("request_wait_seconds_count", work="cheap") >= 20
    assert server.metric("request_wait_seconds_count", work="expensive") >= 8
