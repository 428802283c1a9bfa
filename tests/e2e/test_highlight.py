"""Highlights of queries, batches, groups and scrolls; while growing, sealed, and after a restart."""

import pytest
from patience import comes_true
from quiver_server import Server

ENV = {"QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05", "QUIVER__OPTIMIZER__SEAL_ROWS": "4"}
PATH = "/collections/papers"
LONG = "Filler words come first. " * 20 + "Running dogs chase cats. " + "More filler follows here. " * 20
POINTS = [
    {"title": "The cat ran", "abstract": LONG, "tags": ["dogs", 5, "a running man"], "kind": "a"},
    {"title": "Dogs & <cats>", "abstract": "Nothing.", "authors": [{"bio": "likes dogs"}, {"bio": "likes cats"}], "kind": "b"},
    {"title": "漢字 und Straße 😀 Katze", "abstract": "nichts", "kind": "c"},
    {"title": 7, "kind": "c"},
]
ENGLISH = {"type": "text", "stemmer": {"type": "snowball", "language": "english"}, "stopwords": "english", "scoring": True}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("highlight") / "data", env=ENV).start()
    server.put(PATH, {"vectors": {"size": 1, "distance": "Dot"}}).result
    for key in ("title", "abstract", "tags"):
        server.put(f"{PATH}/index?wait=true", {"field_name": key, "field_schema": ENGLISH}).result
    points = [{"id": i, "vector": [10 - i], "payload": payload} for i, payload in enumerate(POINTS, 1)]
    server.put(f"{PATH}/points?wait=true", {"points": points}).result
    yield server
    server.stop()


def highlights(server, highlight, **request):
    points = server.post(f"{PATH}/points/query", {"highlight": highlight, "limit": 10, **request}).result["points"]
    return {p["id"]: p["highlights"] for p in points}


def texts(found, field):
    return {i: [f["text"] for f in fields[field]] for i, fields in found.items() if field in fields}


def check_words(server):
    found = highlights(server, {"fields": ["title", "abstract", "tags"], "query": "the cat runs dog"})
    assert texts(found, "title") == {1: ["The <b>cat</b> ran"], 2: ["<b>Dogs</b> & <<b>cats</b>>"]}
    assert texts(found, "tags") == {1: ["<b>dogs</b>", "a <b>running</b> man"]}
    assert [f["element"] for f in found[1]["tags"]] == [0, 2]
    assert found[3] == {} and found[4] == {}
    [fragment] = found[1]["abstract"]
    assert "element" not in fragment
    assert "<b>Running</b> <b>dogs</b> chase <b>cats</b>." in fragment["text"]
    plain = fragment["text"].replace("<b>", "").replace("</b>", "")
    assert LONG[fragment["offset"]:fragment["offset"] + len(plain)] == plain and len(plain) <= 160
    assert [LONG[begin:end] for begin, end in fragment["matches"]] == ["Running", "dogs", "cats"]


def test_words_of_the_request(server):
    check_words(server)


def test_positions_are_code_points(server):
    found = highlights(server, {"fields": ["title"], "query": "katze"})
    [fragment] = found[3]["title"]
    title = POINTS[2]["title"]
    assert [title[begin:end] for begin, end in fragment["matches"]] == ["Katze"]


def test_options(server):
    highlight = {"fields": ["abstract"], "query": "dogs", "pre": "<<", "post": ">>", "fragments": 1, "fragment_length": 16}
    assert texts(highlights(server, highlight), "abstract") == {1: ["<<dogs>> chase"]}
    assert texts(highlights(server, {**highlight, "fragments": 0}), "abstract") == {1: [LONG.replace("dogs", "<<dogs>>")]}
    highlight = {"fields": ["title"], "query": "cats", "escape": "html"}
    assert texts(highlights(server, highlight), "title")[2] == ["Dogs &amp; &lt;<b>cats</b>&gt;"]


def test_nested_paths(server):
    found = highlights(server, {"fields": ["authors[].bio", "tags[]"], "query": "cats running"})
    assert texts(found, "authors[].bio") == {2: ["likes <b>cats</b>"]}, "no index: no stems"
    assert texts(found, "tags[]") == {1: ["a <b>running</b> man"]}, "the index of tags"
    assert found[2]["authors[].bio"][0]["element"] == 1


def test_words_of_a_text_query(server):
    text_query = {"query": {"text": "cat"}, "using": "title"}
    expected = {1: ["The <b>cat</b> ran"], 2: ["Dogs & <<b>cats</b>>"]}
    found = highlights(server, {"fields": ["title", "abstract"]}, **text_query)
    assert texts(found, "title") == expected and 1 in texts(found, "abstract")
    found = highlights(server, {"fields": ["title"]}, prefetch=[text_query, {"query": [1.0]}], query={"fusion": "rrf"})
    assert texts(found, "title") == expected
    condition = {"must": [{"key": "title", "match": {"text": "dogs"}}]}
    found = highlights(server, {"fields": ["title"]}, filter=condition, **text_query)
    assert texts(found, "title") == {2: ["Dogs & <<b>cats</b>>"]}, "a text query goes before conditions"
    found = highlights(server, {"fields": ["title"], "query": "dogs"}, **text_query)
    assert texts(found, "title") == {2: ["<b>Dogs</b> & <cats>"]}


@pytest.mark.parametrize("match", [{"text": "dog"}, {"text_any": "dogs x"}, {"phrase": "dogs"}])
def test_words_of_conditions(server, match):
    condition = {"key": "title", "match": match}
    for conditions in ({"must": [condition]}, {"should": [{"must": [condition]}]}):
        found = highlights(server, {"fields": ["title", "abstract"]}, filter=conditions)
        assert found == {2: {"title": found[2]["title"]}}
        assert texts(found, "title") == {2: ["<b>Dogs</b> & <cats>"]}


def test_words_of_nested_conditions(server):
    nested = {"nested": {"key": "authors", "filter": {"must": [{"key": "bio", "match": {"text": "cats"}}]}}}
    found = highlights(server, {"fields": ["authors[].bio"]}, filter={"must": [nested]})
    assert texts(found, "authors[].bio") == {2: ["likes <b>cats</b>"]}


def test_batches_groups_and_scrolls(server):
    highlight = {"fields": ["title"], "query": "cats"}
    expected = {1: ["The <b>cat</b> ran"], 2: ["Dogs & <<b>cats</b>>"]}
    searches = [{"query": [1.0], "limit": 2, "highlight": highlight}, {"query": [2.0], "limit": 2}]
    first, second = server.post(f"{PATH}/points/query/batch", {"searches": searches}).result
    assert texts({p["id"]: p["highlights"] for p in first["points"]}, "title") == expected
    assert all("highlights" not in p for p in second["points"])
    groups = server.post(f"{PATH}/points/query/groups",
                         {"query": [1.0], "group_by": "kind", "highlight": highlight}).result["groups"]
    assert texts({h["id"]: h["highlights"] for g in groups for h in g["hits"]}, "title") == expected
    points = server.post(f"{PATH}/points/scroll", {"highlight": highlight}).result["points"]
    assert texts({p["id"]: p["highlights"] for p in points}, "title") == expected
    condition = {"must": [{"key": "title", "match": {"text": "cat"}}]}
    points = server.post(f"{PATH}/points/scroll", {"highlight": {"fields": ["title"]}, "filter": condition}).result["points"]
    assert texts({p["id"]: p["highlights"] for p in points}, "title") == expected


@pytest.mark.parametrize("highlight,status,said", [
    ({"fields": ["title"]}, 400, "highlight: no words to mark. Wanted `query`, a text query, or a text condition"),
    ({"fields": ["title"], "query": "a", "colour": "red"}, 400, "unknown field `colour`"),
    ({"query": "a"}, 400, "missing field `fields`"),
    ({"fields": [], "query": "a"}, 422, "number of fields 0 invalid"),
    ({"fields": [f"f{i}" for i in range(17)], "query": "a"}, 422, "number of fields 17 invalid"),
    ({"fields": ["title", "title"], "query": "a"}, 422, "`title` is there twice"),
    ({"fields": ["a[x]"], "query": "a"}, 400, "highlight.fields[0]"),
    ({"fields": ["title"], "query": "a", "fragments": 101}, 422, "from 0 to 100"),
    ({"fields": ["title"], "query": "a", "fragment_length": 15}, 422, "from 16 to 10000"),
    ({"fields": ["title"], "query": "a", "fragment_length": 10001}, 422, "from 16 to 10000"),
    ({"fields": ["title"], "query": "a", "pre": "x" * 101}, 422, "must have at most 100"),
    ({"fields": ["title"], "query": "a", "escape": "xml"}, 400, "unknown variant `xml`"),
    ({"fields": ["title"], "query": 5}, 400, "invalid type"),
])
def test_what_is_refused(server, highlight, status, said):
    for path, body in (("query", {"highlight": highlight}), ("scroll", {"highlight": highlight}),
                       ("query/batch", {"searches": [{"highlight": highlight}]})):
        answer = server.post(f"{PATH}/points/{path}", body)
        assert answer.status == status and said in answer.text, (path, answer.text)


def test_sealed_and_after_a_restart(server):
    assert comes_true(lambda: len(list(server.files("**/column-*.qvc"))) >= 3)
    check_words(server)
    server.stop()
    server.start()
    check_words(server)
