"""Text queries and conditions over gRPC with the fields of our own, which stock clients do not have: the answers of REST."""
import grpc
import numpy as np
import pytest
from google.protobuf import json_format
from quiver_server import ANSWER_TIMEOUT_S, Server

PATH = "/collections/texts"
ENGLISH = {"stopwords": "english", "stemmer": {"type": "snowball", "language": "english"}}
TITLES = ["Moby Dick", "Whales", "Ships and shipping", "The old man and the sea", "A whale of a time", "Dick and the ship"]
BODIES = ["a whale and a ship", "mammals of the sea", "whaling was hard, whales are large", "a man, a fish, a ship", "time",
          ["the ship sails", "the whale sinks the ship"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("text-grpc") / "data", grpc=True).start()
    server.put(PATH, {"vectors": {"size": 2, "distance": "Dot"}}).result
    for key, options in (("title", {}), ("body", ENGLISH)):
        schema = {"type": "text", "scoring": True, **options}
        server.put(f"{PATH}/index?wait=true", {"field_name": key, "field_schema": schema}).result
    points = [{"id": i, "vector": [i, 1], "payload": {"title": title, "body": body, "n": i}}
              for i, (title, body) in enumerate(zip(TITLES, BODIES))]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result
    yield server
    server.stop()


@pytest.fixture(scope="module")
def query(server, messages):
    """Sends a QueryPoints, given as JSON, and returns the hits as (id, score)."""
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary("/qdrant.Points/Query", lambda m: m.SerializeToString(),
                                   messages("QueryResponse").FromString)

        def send(**body):
            request = json_format.ParseDict({"collectionName": "texts", "limit": 100, **body}, messages("QueryPoints")())
            return [(p.id.num, np.float32(p.score)) for p in call(request, timeout=ANSWER_TIMEOUT_S).result]

        yield send


def rest(server, **body):
    points = server.post(f"{PATH}/points/query", {"limit": 100, **body}).result["points"]
    return [(p["id"], np.float32(p["score"])) for p in points]


OPTIONS = [
    ({"fields": {"title": 3, "body": 1}}, {}),
    ({"fields": {"title": 1, "body": 0.5}, "fuzzy": 1}, {}),
    ({"fields": {"title": 1}, "fuzzy": 2, "prefix": True, "max_expansions": 1}, {}),
    ({"fields": {"body": 2}, "prefix": True}, {}),
    ({"fields": {"title": 1, "body": 1}, "required": ["ship"], "excluded": ["moby"]}, {}),
    ({"fields": {"title": 1, "body": 1}, "minimum_should_match": 2}, {"minimum_should_match": 2}),
    ({"fields": {"title": 1, "body": 1}, "minimum_should_match": "60%"}, {"minimum_should_match_percent": 60}),
    ({"fields": {"body": 1}, "scoring": {"bm25": {"k": 0.5, "b": 0.25}}}, {"bm25": {"k": 0.5, "b": 0.25}}),
]


@pytest.mark.parametrize("options, of_grpc", OPTIONS)
@pytest.mark.parametrize("text", ["whale ship", "whles and shps", "the old sea di"])
def test_options_of_text_queries(server, query, options, of_grpc, text):
    other = {name: value for name, value in options.items() if name not in ("minimum_should_match", "scoring")}
    wanted = rest(server, query={"text": {"query": text, **options}})
    assert query(query={"text": {"query": text, **other, **of_grpc}}) == wanted


def test_using_prefetches_fusion_and_formula(server, query):
    text = {"text": {"query": "whale ship"}}
    assert query(query=text, using="body") == rest(server, query=text, using="body") != []
    inputs = [{"query": text, "using": "body", "limit": 10}, {"query": text, "using": "title", "limit": 10}]
    for fusion, of_grpc in (({"fusion": "rrf"}, {"fusion": "RRF"}), ({"fusion": "dbsf"}, {"fusion": "DBSF"}),
                            ({"rrf": {"k": 3, "weights": [2, 1]}}, {"rrf": {"k": 3, "weights": [2, 1]}})):
        assert query(query=of_grpc, prefetch=inputs) == rest(server, query=fusion, prefetch=inputs) != []
    wanted = rest(server, query={"formula": {"sum": ["$score[0]", {"mult": [0.5, "n"]}]}, "defaults": {"$score[0]": 0}},
                  prefetch=inputs)
    formula = {"expression": {"sum": {"sum": [{"variable": "$score[0]"},
                                              {"mult": {"mult": [{"constant": 0.5}, {"variable": "n"}]}}]}},
               "defaults": {"$score[0]": {"integerValue": 0}}}
    assert query(query={"formula": formula}, prefetch=inputs) == wanted != []


@pytest.mark.parametrize("kind, of_grpc", [("text", "text"), ("text_any", "textAny"), ("phrase", "phrase")])
@pytest.mark.parametrize("text, fuzzy, prefix", [("whle shp", 1, False), ("mobi di", 1, True), ("sh", 0, True), ("ships", 0, False)])
def test_conditions_on_words(server, query, kind, of_grpc, text, fuzzy, prefix):
    for key in ("title", "body"):
        ids = {i for i, _ in rest(server, filter={"must": [{"key": key, "match": {kind: text, "fuzzy": fuzzy, "prefix": prefix}}]})}
        match = {of_grpc: text, "fuzzy": fuzzy, "lastIsPrefix": prefix}
        assert {i for i, _ in query(filter={"must": [{"field": {"key": key, "match": match}}]})} == ids


@pytest.mark.parametrize("text, words", [({"fields": {"title": 1, "none": 1}}, "`none` has no index"),
                                         ({"fields": {"title": -1}}, "fields"),
                                         ({"fields": {"title": 1}, "fuzzy": 3}, "fuzzy"),
                                         ({"fields": {"title": 1}, "minimum_should_match_percent": 101}, "minimum")])
def test_errors(query, text, words):
    with pytest.raises(grpc.RpcError) as error:
        query(query={"text": {"query": "whale", **text}})
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and words in error.value.details()
