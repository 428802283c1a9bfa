"""Analyzers of text indexes: stemmers, stop words, folding, prefixes, pairs, identifiers, phrases; also after sealing, a
change of options, and a restart."""

import pytest
from patience import comes_true
from qdrant_client import models
from quiver_server import Server

ENV = {"QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05", "QUIVER__OPTIMIZER__SEAL_ROWS": "4"}
TEXTS = {
    1: "The runners were running through São Paulo",
    2: "He runs a marathon, state of the art",
    3: "我们在北京大学学习",
    4: "call getHttpServer2 with user_id",
    5: "naïve Straßen der Stadt",
    6: ["one about cats", "another on dogs"],
}
ENGLISH = {"type": "text", "stemmer": {"type": "snowball", "language": "english"}, "stopwords": "english",
           "ascii_folding": True, "phrase_matching": True}
# Index, match, ids.
CASES = {
    "stem": (ENGLISH, {"text": "run"}, {1, 2}),
    "stem-of-the-query": (ENGLISH, {"text": "RUNNING marathons"}, {2}),
    "folded": (ENGLISH, {"text": "sao naive"}, set()),
    "folded-any": (ENGLISH, {"text_any": "SAO naive"}, {1, 5}),
    "stop-words-match-nothing": (ENGLISH, {"text": "the of"}, set()),
    "stop-words-count-for-nothing": (ENGLISH, {"text": "the marathon of"}, {2}),
    "phrase-without-stop-words": (ENGLISH, {"phrase": "states of arts"}, {2}),
    "phrase-in-order": (ENGLISH, {"phrase": "art state"}, set()),
    "within-one-string": (ENGLISH, {"text": "cat dog"}, set()),
    "no-stemmer": ({"type": "text", "stemmer": {"type": "none"}}, {"text": "runs"}, {2}),
    "german": ({"type": "text", "stopwords": {"languages": ["german"], "custom": ["Stadt"]}, "ascii_folding": True},
               {"text_any": "der stadt strassen"}, {5}),
    "custom-words": ({"type": "text", "stopwords": {"custom": ["Stadt"]}}, {"text": "stadt"}, set()),
    "prefix": ({"type": "text", "tokenizer": "prefix", "min_token_len": 2, "max_token_len": 5}, {"text": "run"}, {1, 2}),
    "prefix-cut": ({"type": "text", "tokenizer": "prefix", "min_token_len": 2, "max_token_len": 3}, {"text": "runxyz"}, {1, 2}),
    "prefix-too-short": ({"type": "text", "tokenizer": "prefix", "min_token_len": 2}, {"text": "r"}, set()),
    "pairs": ({"type": "text", "tokenizer": "multilingual"}, {"text": "北京"}, {3}),
    "pairs-in-a-phrase": ({"type": "text", "tokenizer": "multilingual", "phrase_matching": True}, {"phrase": "北京大学"}, {3}),
    "pairs-not-there": ({"type": "text", "tokenizer": "multilingual", "phrase_matching": True}, {"phrase": "京北"}, set()),
    "code": ({"type": "text", "tokenizer": "code"}, {"text": "http server user"}, {4}),
    "word-is-no-code": ({"type": "text"}, {"text": "server"}, set()),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("text") / "data", env=ENV, grpc=True).start()
    for case in CASES:
        create(server, case)
    yield server
    server.stop()


def name_of(case):
    return f"text-{case}"


def create(server, case):
    index, _, _ = CASES[case]
    path = f"/collections/{name_of(case)}"
    server.put(path, {"vectors": {"size": 1, "distance": "Dot"}}).result
    server.put(f"{path}/index?wait=true", {"field_name": "t", "field_schema": index}).result
    points = [{"id": i, "vector": [1], "payload": {"t": text}} for i, text in TEXTS.items()]
    server.put(f"{path}/points?wait=true", {"points": points}).result


def found(server, collection, match):
    body = {"filter": {"must": [{"key": "t", "match": match}]}, "limit": 100}
    return {p["id"] for p in server.post(f"/collections/{collection}/points/scroll", body).result["points"]}


def wait_until_sealed(server):
    assert comes_true(lambda: len(list(server.files("**/column-*.qvc"))) >= len(CASES))


def check_all(server):
    for case, (_, match, ids) in CASES.items():
        assert found(server, name_of(case), match) == ids, case


def test_conditions_use_the_analyzer(server):
    check_all(server)


def test_sealed_and_after_a_restart(server):
    wait_until_sealed(server)
    check_all(server)
    server.stop()
    server.start()
    check_all(server)
    info = server.get(f"/collections/{name_of('stem')}").result
    assert info["payload_schema"]["t"]["params"] == ENGLISH


def test_a_change_of_options_makes_tokens_anew(server):
    collection = name_of("word-is-no-code")
    path = f"/collections/{collection}/index?wait=true"
    for index, match, ids in ((ENGLISH, {"text": "run"}, {1, 2}), ({"type": "text"}, {"text": "run"}, set()),
                              ({"type": "text", "tokenizer": "prefix"}, {"text": "run"}, {1, 2}),
                              ({"type": "text"}, {"text": "server"}, set())):
        server.put(path, {"field_name": "t", "field_schema": index}).result
        assert found(server, collection, match) == ids, index
        body = {"points": [{"id": 50, "vector": [1], "payload": {"t": "nothing of it"}}]}
        server.put(f"/collections/{collection}/points?wait=true", body).result
        assert found(server, collection, match) == ids, index


@pytest.mark.parametrize("prefer_grpc", [False, True])
def test_stock_client(server, prefer_grpc):
    client = server.client(prefer_grpc=prefer_grpc, grpc_port=server.grpc_port)
    collection = f"text-client-{prefer_grpc}"
    client.create_collection(collection, vectors_config=models.VectorParams(size=1, distance=models.Distance.DOT))
    client.create_payload_index(collection, "t", wait=True, field_schema=models.TextIndexParams(
        type="text", tokenizer=models.TokenizerType.WORD, ascii_folding=True,
        stopwords=models.StopwordsSet(languages=[models.Language.ENGLISH], custom=["marathon"]),
        stemmer=models.SnowballParams(type=models.Snowball.SNOWBALL, language=models.SnowballLanguage.ENGLISH)))
    client.upsert(collection, wait=True, points=[
        models.PointStruct(id=i, vector=[1], payload={"t": text}) for i, text in TEXTS.items()])
    match = models.Filter(must=[models.FieldCondition(key="t", match=models.MatchText(text="the running SAO"))])
    assert [p.id for p in client.scroll(collection, scroll_filter=match)[0]] == [1]
    match = models.Filter(must=[models.FieldCondition(key="t", match=models.MatchText(text="marathons"))])
    assert [p.id for p in client.scroll(collection, scroll_filter=match)[0]] == [], "stop words have no stem"
    params = client.get_collection(collection).payload_schema["t"].params
    assert params.stemmer.language == models.SnowballLanguage.ENGLISH
    assert params.ascii_folding and params.stopwords.custom == ["marathon"]


@pytest.mark.parametrize("schema", [
    {"type": "text", "stemmer": {"type": "snowball"}}, {"type": "text", "stemmer": {"type": "snowball", "language": "latin"}},
    {"type": "text", "stopwords": "latin"}, {"type": "text", "stopwords": {"languages": ["latin"]}},
    {"type": "text", "tokenizer": "letters"}, {"type": "text", "ascii_folding": "yes"}])
def test_unknown_options_are_refused(server, schema):
    create_body = {"field_name": "t", "field_schema": schema}
    answer = server.put(f"/collections/{name_of('stem')}/index?wait=true", create_body)
    assert answer.status == 400, answer.text
