"""The alert rules and the board in deploy/: every metric and label that they name is one of the server's."""
import contextlib
import json
import re
import subprocess

import pytest
from patience import patience
from quiver_server import REPOSITORY

RULES = REPOSITORY / "deploy/prometheus/quiver.rules.yml"
BOARD = REPOSITORY / "deploy/grafana/quiver.json"
# Words of PromQL, and what Prometheus itself adds.
LANGUAGE = {"increase", "sum", "by", "rate", "histogram_quantile", "topk", "changes", "or", "and", "on", "up", "label_values"}
ADDED_LABELS = {"instance", "job", "le"}


def rules():
    text = RULES.read_text()
    assert text.count("- alert: ") == len(re.findall(r"^ +expr: ", text, re.M))
    return re.findall(r"^ +expr: (.*)$", text, re.M)


def board():
    return json.loads(BOARD.read_text())


def board_expressions():
    shown = [target["expr"] for panel in board()["panels"] for target in panel.get("targets", [])]
    chosen = [variable["query"]["query"] for variable in board()["templating"]["list"] if variable["type"] == "query"]
    return shown + chosen


def names_in(expression):
    """Metrics of a PromQL expression, and the labels it names."""
    plain = re.sub(r'"[^"]*"', '""', expression)
    labels = set(re.findall(r"(\w+)(?:=~|=|!=|!~)\"", plain))
    for group in re.findall(r"\bby \(([^)]*)\)", plain):
        labels |= {name.strip() for name in group.split(",")}
    labels |= set(re.findall(r"label_values\(\w+, (\w+)\)", plain))
    plain = re.sub(r"label_values\((\w+), \w+\)", r"\1", plain)
    plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)", " ", plain)
    return set(re.findall(r"\b[a-z]\w*\b", plain)) - LANGUAGE, labels


def samples_of(text):
    """Sample names and their labels: {name: {label, …}}."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        name = re.match(r"\w+", line).group()
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', line))
    return found


@pytest.fixture
def samples(new_server):
    server = new_server(grpc=True, env={"QUIVER__TRACING__ENDPOINT": "http://127.0.0.1:1"}).start()
    server.put("/collections/a", {"vectors": {"size": 2, "distance": "Dot"}}).result
    server.put("/collections/a/points?wait=true", {"points": [{"id": 1, "vector": [1, 2]}]}).result
    server.post("/collections/a/points/query", {"query": [1, 2], "params": {"recall": .9}}).result
    found = samples_of(server.get("/metrics").text)
    # Servers without a cluster or a GPU lack these: the names in the code stand for them.
    code = "\n".join((REPOSITORY / "app/serve" / name).read_text() for name in ("cluster_node.cc", "device_metrics.cc"))
    for name in re.findall(r'"((?:quiver_cluster|gpu)_\w+)"', code):
        found[name] = set(re.findall(r'\{"(\w+)", ', code))
    return found


@pytest.mark.parametrize("expressions", [rules, board_expressions])
def test_every_name_is_one_of_the_servers(samples, expressions):
    checked = 0
    for expression in expressions():
        metrics, labels = names_in(expression)
        assert metrics or "up{" in expression, expression
        known = set()
        for metric in metrics:
            assert metric in samples, f"{metric} in {expression}"
            known |= samples[metric]
            checked += 1
        assert labels <= known | ADDED_LABELS, f"{labels - known} in {expression}"
    assert checked >= 10


def test_the_names_are_found_by_this_test():
    metrics, labels = names_in('sum by (instance, le) (rate(a_total{status=~"5..", x="by"}[5m])) / topk(10, b) > 0.01')
    assert (metrics, labels) == ({"a_total", "b"}, {"instance", "le", "status", "x"})


def test_the_board_has_no_overlaps():
    taken = set()
    ids = [panel["id"] for panel in board()["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_promtool_accepts_the_rules():
    """Where promtool is installed (Debian's package prometheus)."""
    try:
        ran = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no promtool")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_readiness_is_a_metric(new_server):
    server = new_server().start()
    server.put("/collections/a", {"vectors": {"size": 2, "distance": "Dot"}}).result
    assert server.metric("server_ready") == 1
    server.stop()
    (server.data_dir / "collections/00000001/shard-0/rows/CURRENT").unlink()
    server.start(wait=False)
    server.wait_ready("/livez")
    assert server.get("/readyz").status == 503 and server.metric("server_ready") == 0


def request_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_request_log_has_a_line_for_each_request(new_server, tmp_path):
    log = tmp_path / "requests.jsonl"
    server = new_server(env={"QUIVER__LOG__REQUESTS": str(log), "QUIVER__LOG__SLOW_MS": "0.0001"}, grpc=True).start()
    server.put("/collections/a", {"vectors": {"size": 2, "distance": "Dot"}}).result
    assert server.get("/collections/missing").status == 404
    assert server.get("/nowhere").status == 404
    with contextlib.closing(server.client(prefer_grpc=True, grpc_port=server.grpc_port)) as client:
        assert client.count("a").count == 0
    answer = server.request("POST", "/collections/a/points/count", json.dumps({}).encode(),
                            {"content-type": "application/json", "x-request-id": "r-1"})
    assert answer.status == 200
    server.stop()
    lines = request_lines(log)
    by_endpoint = {(line["transport"], line["endpoint"], line["status"]): line for line in lines}
    created = by_endpoint["rest", "/collections/{collection_name}", 200]
    assert created["method"] == "PUT" and created["collection"] == "a" and created["ms"] > 0
    assert created["remote"] == "127.0.0.1" and created["answer_bytes"] > 10
    assert by_endpoint["rest", "/collections/{collection_name}", 404]["collection"] == "missing"
    assert ("rest", "?", 404) in by_endpoint
    counted = [line for line in lines if line["transport"] == "grpc" and line["endpoint"].endswith("Points/Count")]
    assert counted and counted[0]["status"] == 0 and counted[0]["collection"] == "a"
    assert [line["endpoint"] for line in lines if line.get("request_id") == "r-1"] == [
        "/collections/{collection_name}/points/count"]
    assert all(line["slow"] for line in lines)
    assert "slow request: PUT /collections/{collection_name} collection `a`: 200 after" in server.log_tail()


def test_no_request_is_logged_unless_asked(new_server):
    server = new_server().start()
    server.put("/collections/a", {"vectors": {"size": 2, "distance": "Dot"}}).result
    server.stop()
    assert "slow request" not in server.log_tail()


def test_a_request_log_that_cannot_be_written_stops_the_start(new_server, tmp_path):
    server = new_server(env={"QUIVER__LOG__REQUESTS": str(tmp_path / "not/there")})
    server.start(wait=False)
    assert server.process.wait(patience(30)) != 0
    assert "cannot open the request log" in server.log_tail()
