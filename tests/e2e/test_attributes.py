"""Filters on keys without a payload index: what segments know of their payload paths."""
import random
from pathlib import Path

from patience import comes_true

N = 3000
COLORS = ["red", "green", "blue", "cyan"]


def part_of(rng):
    return {"kind": rng.choice("xyz")} | ({"n": rng.randrange(5)} if rng.random() < 0.8 else {})


def payload_of(i, rng):
    return {
        "color": rng.choice(COLORS), "price": rng.randrange(100_000) / 100, "serial": f"SN-{i:07d}",
        "day": f"2025-{1 + i % 12:02d}-{1 + i % 28:02d}T10:00:00Z", "tags": rng.sample(COLORS, rng.randrange(4)),
        "box": {"side": i % 7}, "parts": [part_of(rng) for _ in range(rng.randrange(4))],
    } | ({"rare": None} if i % 50 == 0 else {})


def key(key, **condition):
    return {"must": [{"key": key, **condition}]}


FILTERS = {
    "value": (key("color", match={"value": "red"}), lambda p: p["color"] == "red"),
    "any": (key("color", match={"any": ["red", "blue"]}), lambda p: p["color"] in ("red", "blue")),
    "except": (key("color", match={"except": ["red"]}), lambda p: p["color"] != "red"),
    "range": (key("price", range={"gte": 100, "lt": 250.5}), lambda p: 100 <= p["price"] < 250.5),
    "many strings": (key("serial", match={"value": "SN-0000123"}), lambda p: p["serial"] == "SN-0000123"),
    "prefix": (key("serial", match={"prefix": "SN-00001"}), lambda p: p["serial"].startswith("SN-00001")),
    "text": (key("serial", match={"text": "99"}), lambda p: "99" in p["serial"]),
    "moment": (key("day", range={"gte": "2025-03-05T00:00:00Z", "lt": "2025-07-01T00:00:00Z"}),
               lambda p: "2025-03-05" <= p["day"] < "2025-07-01"),
    "array": (key("tags", match={"value": "cyan"}), lambda p: "cyan" in p["tags"]),
    "count": (key("tags", values_count={"gte": 2}), lambda p: len(p["tags"]) >= 2),
    "empty": ({"must": [{"is_empty": {"key": "tags"}}]}, lambda p: not p["tags"]),
    "null": ({"must": [{"is_null": {"key": "rare"}}]}, lambda p: "rare" in p),
    "inner": (key("box.side", match={"value": 3}), lambda p: p["box"]["side"] == 3),
    "nowhere": (key("colour", match={"value": "red"}), lambda p: False),
    "not": ({"must_not": [{"key": "box.side", "match": {"value": 3}}]}, lambda p: p["box"]["side"] != 3),
    "nested": ({"must": [{"nested": {"key": "parts", "filter": {"must": [
        {"key": "kind", "match": {"value": "x"}}, {"key": "n", "range": {"gte": 3}}]}}}]},
        lambda p: any(part["kind"] == "x" and part.get("n", 0) >= 3 for part in p["parts"])),
    "nested, one not": ({"must": [{"nested": {"key": "parts", "filter": {
        "must": [{"key": "kind", "match": {"value": "x"}}], "must_not": [{"key": "n", "match": {"value": 0}}]}}}]},
        lambda p: any(part["kind"] == "x" and part.get("n") != 0 for part in p["parts"])),
    "nested, without a value": ({"must": [{"nested": {"key": "parts", "filter": {
        "must": [{"key": "kind", "match": {"value": "y"}}, {"is_empty": {"key": "n"}}]}}}]},
        lambda p: any(part["kind"] == "y" and "n" not in part for part in p["parts"])),
    "nested, two of three": ({"must": [{"nested": {"key": "parts", "filter": {"min_should": {"min_count": 2, "conditions": [
        {"key": "kind", "match": {"value": "z"}}, {"key": "n", "range": {"lt": 2}}, {"key": "n", "match": {"value": 1}}]}}}}]},
        lambda p: any((part["kind"] == "z") + (part.get("n", 9) < 2) + (part.get("n") == 1) >= 2 for part in p["parts"])),
}


def check(server, name, payloads):
    for label, (condition, is_match) in FILTERS.items():
        wanted = {i for i, p in payloads.items() if is_match(p)}
        body = {"filter": condition, "limit": N, "with_payload": False}
        found = {p["id"] for p in server.post(f"/collections/{name}/points/scroll", body).result["points"]}
        assert found == wanted, label
        body = {"query": [1.0, 0.5], "filter": condition, "limit": 10}
        hits = server.post(f"/collections/{name}/points/query", body).result["points"]
        assert len(hits) == min(10, len(wanted)) and {hit["id"] for hit in hits} <= wanted, label


def attributes(server, name):
    return server.get(f"/v1/collections/{name}/indexes").result["payload"]


def wait_until_sealed(server, name):
    assert comes_true(lambda: attributes(server, name) and server.get(f"/collections/{name}").result["status"] == "green", 60)


def fill(server, name):
    rng = random.Random(5)
    server.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}}).result
    payloads = {i: payload_of(i, rng) for i in range(N)}
    points = [{"id": i, "vector": [rng.random(), rng.random()], "payload": p} for i, p in payloads.items()]
    for first in range(0, N, 500):
        server.put(f"/collections/{name}/points?wait=true", {"points": points[first:first + 500]}).result
    return payloads


def test_filters_while_growing_sealed_changed_and_reopened(new_server, name):
    server = new_server()
    server.start()
    payloads = fill(server, name)
    check(server, name, payloads)
    wait_until_sealed(server, name)
    check(server, name, payloads)
    described = {path["path"]: path for segment in attributes(server, name) for path in segment["paths"]}
    assert described["color"]["exact"] and described["color"]["entries"] == 9 + len(COLORS)
    assert {"price", "serial", "day", "tags", "box", "box.side", "parts", "parts[]", "parts[].kind", "rare"} <= described.keys()

    server.post(f"/collections/{name}/points/delete?wait=true", {"points": list(range(100, 200))}).result
    server.post(f"/collections/{name}/points/payload?wait=true", {"payload": {"color": "red"}, "points": [7, 8, 9]}).result
    for i in range(100, 200):
        del payloads[i]
    for i in (7, 8, 9):
        payloads[i]["color"] = "red"
    check(server, name, payloads)
    server.kill9()
    server.start()
    check(server, name, payloads)


def test_damaged_attributes_are_made_again(new_server, name):
    server = new_server()
    server.start()
    payloads = fill(server, name)
    wait_until_sealed(server, name)
    before = attributes(server, name)
    server.stop()
    files = [Path(server.data_dir) / file for file in server.files("**/attributes.qva")]
    assert files
    for number, file in enumerate(files):
        if number % 2 == 0:
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 0x40
            file.write_bytes(content)
        else:
            file.unlink()
    server.start()
    check(server, name, payloads)
    assert attributes(server, name) == before
