"""Keys, tokens and rights; HTTPS; what browsers, logs and compression need. With the stock client where it has a say."""
import base64
import gzip
import hashlib
import hmac
import http.client
import json
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import comes_true, patience
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from quiver_server import ANSWER_TIMEOUT_S, Server, binary

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")

SECRET, ALT_SECRET, READER = "my top secret", "my other secret", "boo-hoo, this can only read!"
KEYS = {"QUIVER__SERVICE__API_KEY": SECRET, "QUIVER__SERVICE__ALT_API_KEY": ALT_SECRET,
        "QUIVER__SERVICE__READ_ONLY_API_KEY": READER, "QUIVER__SERVICE__JWT_RBAC": "true"}
VECTORS = {"vectors": {"size": 2, "distance": "Dot"}}
POINT = {"points": [{"id": 1, "vector": [1, 2], "payload": {"a": 1}}]}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims, secret=SECRET, header=None):
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header or {"alg": "HS256", "typ": "JWT"}, claims))
    return f"{text}.{base64url(hmac.digest(secret.encode(), text.encode(), hashlib.sha256))}"


def grant(access, collection="c"):
    return token({"access": [{"collection": collection, "access": access}]})


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with keys, and collections c and d with a point each."""
    server = Server(tmp_path_factory.mktemp("access") / "data", env=KEYS).start()
    for name in ("c", "d"):
        assert server.put(f"/collections/{name}", VECTORS, headers=bearer(SECRET)).status == 200
        assert server.put(f"/collections/{name}/points?wait=true", POINT, headers=bearer(SECRET)).status == 200
    yield server
    server.close()


# Keys and tokens.


def test_stock_client_with_each_key(guarded):
    for key in (SECRET, ALT_SECRET, token({}), token({"access": "m"}), token({}, ALT_SECRET)):
        client = guarded.client(api_key=key)
        assert client.count("c").count == 1
        client.upsert("c", [models.PointStruct(id=1, vector=[1, 2])], wait=True)
    for key in (READER, token({"access": "r"})):
        client = guarded.client(api_key=key)
        assert client.count("c").count == 1 and len(client.get_collections().collections) == 2
        with pytest.raises(UnexpectedResponse) as refused:
            client.delete_collection("c")
        assert refused.value.status_code == 403
        assert json.loads(refused.value.content)["status"]["error"] == "Forbidden: Global manage access is required"


def test_stock_client_with_a_token_for_one_collection(guarded):
    client = guarded.client(api_key=grant("rw"))
    assert [c.name for c in client.get_collections().collections] == ["c"]
    client.upsert("c", [models.PointStruct(id=2, vector=[3, 4])], wait=True)
    client.delete("c", [2], wait=True)
    assert client.query_points("c", [1, 2]).points[0].id == 1
    client.create_payload_index("c", "a", models.PayloadSchemaType.INTEGER)
    client.delete_payload_index("c", "a")
    for refused in (lambda: client.count("d"), lambda: client.delete_collection("c"),
                    lambda: client.query_points("c", 1, lookup_from=models.LookupLocation(collection="d"))):
        with pytest.raises(UnexpectedResponse) as answer:
            refused()
        assert answer.value.status_code == 403


@pytest.mark.parametrize("access, method, path, text", [
    ("r", "PUT", "/collections/c/points", "Write access to collection c is required"),
    ("r", "PUT", "/collections/c/index", "Write access to collection c is required"),
    ("prw", "PUT", "/collections/c/index", "Only points access is allowed for collection c"),
    ("rw", "GET", "/collections/d", "Access to collection d is required"),
    ("rw", "GET", "/collections/none", "Access to collection none is required"),
    ("rw", "DELETE", "/collections/c", "Global access is required"),
    ("rw", "GET", "/metrics", "Global access is required"),
])
def test_texts_of_refusals(guarded, access, method, path, text):
    answer = guarded.request(method, path, {}, headers=bearer(grant(access)))
    assert (answer.status, answer.error) == (403, f"Forbidden: {text}")


def test_bad_tokens(guarded):
    now = int(time.time())
    good = token({"access": "r"})
    cases = [
        (token({"exp": now - 3600}), 403, "ExpiredSignature"),
        (token({}, "wrong"), 403, "InvalidSignature"),
        (token({}, READER), 403, "InvalidSignature"),
        (token({}, header={"alg": "none"}), 401, "Invalid API key or JWT"),
        (good.rsplit(".", 1)[0] + ".", 403, "InvalidSignature"),
        (good + ".", 401, "Invalid API key or JWT"),
        ("x", 401, "Invalid API key or JWT"),
        # Signed with the first key it is no token, and the second key did not sign it.
        (token({"access": "everything"}), 403, "InvalidSignature"),
    ]
    for text, status, body in cases:
        answer = guarded.get("/collections", headers=bearer(text))
        assert (answer.status, answer.text) == (status, body), text
        assert answer.headers["content-type"].startswith("text/plain")
    assert guarded.get("/collections", headers=bearer(token({"exp": now + 60}))).status == 200
    assert guarded.get("/collections", headers={"api-key": good}).status == 200


def test_value_exists(guarded):
    claims = {"value_exists": {"collection": "valid", "matches": [{"key": "id", "value": "t42"}, {"key": "n", "value": 5}]}}
    scroll = lambda: guarded.post("/collections/c/points/scroll", {}, headers=bearer(token(claims)))  # noqa: E731
    key = bearer(SECRET)
    assert (scroll().status, scroll().text) == (403, "Invalid JWT, stateful validation failed")
    guarded.put("/collections/valid", {}, headers=key)
    assert (scroll().status, scroll().text) == (401, "Invalid JWT, stateful validation failed")
    point = {"points": [{"id": 1, "vector": {}, "payload": {"id": "t42", "n": 5}}]}
    assert guarded.put("/collections/valid/points?wait=true", point, headers=key).status == 200
    with ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(lambda _: scroll(), range(40))} == {200}
    guarded.post("/collections/valid/points/delete?wait=true", {"points": [1]}, headers=key)
    assert scroll().status == 401
    guarded.delete("/collections/valid", headers=key)


def test_aliases_and_lists_show_what_may_be_read(guarded):
    actions = [{"create_alias": {"collection_name": name, "alias_name": f"alias_{name}"}} for name in "cd"]
    assert guarded.post("/collections/aliases", {"actions": actions}, headers=bearer(SECRET)).status == 200
    assert guarded.post("/collections/aliases", {"actions": []}, headers=bearer(grant("rw"))).status == 403
    aliases = guarded.get("/aliases", headers=bearer(grant("r"))).result["aliases"]
    assert aliases == [{"alias_name": "alias_c", "collection_name": "c"}]
    # A grant holds for the name that it has, not for other names of the same collection.
    assert guarded.get("/collections/alias_c", headers=bearer(grant("r"))).status == 403
    assert guarded.get("/collections/alias_c", headers=bearer(grant("r", "alias_c"))).status == 200
    telemetry = guarded.get("/telemetry?details_level=2", headers=bearer(grant("r"))).result
    assert telemetry["collections"]["number_of_collections"] == 1
    assert not {"requests", "memory", "quota"} & set(telemetry)
    assert {"requests", "memory"} <= set(guarded.get("/telemetry?details_level=2", headers=bearer(READER)).result)


def test_secrets_are_not_printed():
    settings = {"service.api_key": SECRET, "service.alt_api_key": ALT_SECRET, "service.read_only_api_key": READER}
    args = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    printed = subprocess.run([binary(), "serve", "--print-config", *args], capture_output=True, check=True, text=True)
    assert "alt_api_key" in printed.stdout
    assert not any(secret in printed.stdout + printed.stderr for secret in settings.values())


@pytest.mark.parametrize("setting, text", [
    ("service.alt_api_key=x", "service.alt_api_key is set without service.api_key"),
    ("service.jwt_rbac=true", "service.jwt_rbac is set without service.api_key"),
    ("service.enable_tls=true", "service.enable_tls is true without tls.cert"),
    ("service.verify_https_client_certificate=true", "needs service.enable_tls"),
])
def test_settings_that_do_not_fit(setting, text):
    refused = subprocess.run([binary(), "serve", "--print-config", "--set", setting], capture_output=True, text=True)
    assert refused.returncode != 0 and text in refused.stderr


# HTTPS.


class Certificates:
    """An authority, and certificates that it signs, as files in a folder."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key",
                     "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name, host="127.0.0.1"):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
                     "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName=IP:{host},DNS:localhost\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-out", f"{name}.pem", "-days", "2", "-extfile", f"{name}.ext")

    def path(self, name):
        return str(self.folder / name)


class TlsServer(Server):
    def __init__(self, data_dir, certificates, settings=None, client=None):
        self.certificates = certificates
        files = {"service.enable_tls": "true", "tls.cert": certificates.path("server.pem"), "tls.key": certificates.path("server.key")}
        super().__init__(data_dir, args=[part for key, value in (files | (settings or {})).items() for part in ("--set", f"{key}={value}")])
        self.context = ssl.create_default_context(cafile=certificates.path("ca.pem"))
        if client:
            self.context.load_cert_chain(certificates.path(f"{client}.pem"), certificates.path(f"{client}.key"))

    def _connection(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=ANSWER_TIMEOUT_S, context=self.context)

    def serial(self):
        """The serial number of the certificate that a new connection gets."""
        with self.connect() as plain, self.context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
            return secure.getpeercert()["serialNumber"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    certificates.sign("server")
    certificates.sign("client")
    return certificates


@pytest.fixture(scope="module")
def https(tmp_path_factory, certificates):
    server = TlsServer(tmp_path_factory.mktemp("https") / "data", certificates, {"service.max_connections": 20}).start()
    yield server
    server.close()


def test_stock_client_over_https(https, certificates):
    client = QdrantClient(host="127.0.0.1", port=https.port, https=True, verify=certificates.path("ca.pem"), check_compatibility=False,
                          timeout=int(ANSWER_TIMEOUT_S))
    client.create_collection("c", models.VectorParams(size=200, distance=models.Distance.DOT))
    points = [models.PointStruct(id=i, vector=[float(i)] * 200, payload={"text": "x" * 1000}) for i in range(2000)]
    for first in range(0, len(points), 1000):
        client.upsert("c", points[first:first + 1000], wait=True)
    found, _ = client.scroll("c", limit=2000, with_vectors=True)
    assert [p.id for p in found] == list(range(2000)) and all(len(p.vector) == 200 for p in found)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: client.query_points("c", [1.0] * 200, limit=i).points, range(1, 60)))
    assert [len(points) for points in answers] == list(range(1, 60))


def test_a_slow_reader_gets_a_large_answer_whole(https):
    https.put("/collections/large", VECTORS)
    text = "".join(chr(ord("a") + i * i % 23) for i in range(8 << 20))
    https.put("/collections/large/points?wait=true", {"points": [{"id": 1, "vector": [1, 2], "payload": {"text": text}}]})
    with https.connect() as plain, https.context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        secure.sendall(b"GET /collections/large/points/1 HTTP/1.1\r\nconnection: close\r\n\r\n")
        time.sleep(0.3)
        received = b""
        while part := secure.recv(1 << 16):
            received += part
    assert text.encode() in received and received.endswith(b"}")


def test_many_requests_in_one_packet(https):
    request = b"GET /healthz HTTP/1.1\r\n\r\n"
    with https.connect() as plain, https.context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        secure.sendall(request * 200 + request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        received = b""
        while part := secure.recv(1 << 16):
            received += part
    assert received.count(b"HTTP/1.1 200 OK") == 201


def test_plain_http_gets_a_reason(https):
    with https.connect() as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = b""
        while part := plain.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ") and b"HTTPS only" in answer
    assert https.get("/healthz").status == 200


def test_garbage_ends_the_connection(https):
    for data in (b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600, b"\xff" * 5000):
        with https.connect() as plain:
            plain.sendall(data)
            try:
                while plain.recv(4096):
                    pass
            except ConnectionError:
                pass
    assert https.get("/healthz").status == 200


def test_old_protocols_are_refused(https):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(https.certificates.path("ca.pem"))
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with https.connect() as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_http_1_1_is_chosen_among_protocols(https):
    context = ssl.create_default_context(cafile=https.certificates.path("ca.pem"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    with https.connect() as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
        assert secure.selected_alpn_protocol() == "http/1.1"


def test_too_many_connections_get_a_reason(https):
    held = [https.connect() for _ in range(20)]
    try:
        answers = []
        for _ in range(3):
            with https.connect() as plain:
                with https.context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                    secure.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
                    answers.append(secure.recv(4096))
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers), answers
    finally:
        for connection in held:
            connection.close()
    assert comes_true(lambda: https.get("/healthz").status == 200)


def test_clients_with_certificates(tmp_path, certificates):
    settings = {"service.verify_https_client_certificate": "true", "tls.ca_cert": certificates.path("ca.pem")}
    server = TlsServer(tmp_path / "data", certificates, settings, client="client").start()
    try:
        assert server.get("/collections").status == 200
        known = QdrantClient(host="127.0.0.1", port=server.port, https=True, verify=server.context, check_compatibility=False)
        assert known.get_collections().collections == []
        stranger = ssl.create_default_context(cafile=certificates.path("ca.pem"))
        other = Certificates(tmp_path / "other")
        other.sign("client")
        impostor = ssl.create_default_context(cafile=certificates.path("ca.pem"))
        impostor.load_cert_chain(other.path("client.pem"), other.path("client.key"))
        for context in (stranger, impostor):
            with server.connect() as plain, pytest.raises((ssl.SSLError, ConnectionError)):
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                    secure.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    if not secure.recv(1):
                        raise ConnectionError("closed")
    finally:
        server.close()


def test_changed_certificates_are_loaded(tmp_path):
    certificates = Certificates(tmp_path / "certificates")
    certificates.sign("server")
    server = TlsServer(tmp_path / "data", certificates, {"tls.cert_ttl_s": 0.05}).start()
    try:
        first = server.serial()
        good = (tmp_path / "certificates/server.pem").read_bytes()
        (tmp_path / "certificates/server.pem").write_text("no certificate")
        time.sleep(0.1)
        assert server.serial() == first
        assert "the former certificates stay in use" in server.log.read_text()
        (tmp_path / "certificates/server.pem").write_bytes(good)
        certificates.sign("server")
        time.sleep(0.1)
        assert server.serial() != first
    finally:
        server.close()


def test_bad_certificates_at_the_start(tmp_path, certificates):
    for broken, key in (("missing.pem", "server.key"), ("server.pem", "client.key"), ("server.key", "server.key")):
        settings = {"tls.cert": certificates.path(broken), "tls.key": certificates.path(key)}
        server = TlsServer(tmp_path / "data", certificates, settings).start(wait=False)
        assert server.process.wait(patience(10)) not in (0, None)
        assert "cannot be used" in server.log_tail()


# The edge of HTTP.


@pytest.fixture(scope="module")
def edge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edge")
    env = KEYS | {"QUIVER__SERVICE__ENABLE_CORS": "true", "QUIVER__SERVICE__COMPRESS_ABOVE_KB": "1", "QUIVER__AUDIT__ENABLED": "true",
                  "QUIVER__AUDIT__DIR": str(folder / "audit")}
    server = Server(folder / "data", env=env).start()
    server.audit_dir = folder / "audit"
    assert server.put("/collections/c", VECTORS, headers=bearer(SECRET)).status == 200
    points = [{"id": i, "vector": [i, 1], "payload": {"text": "many words " * 20}} for i in range(1000)]
    assert server.put("/collections/c/points?wait=true", {"points": points}, headers=bearer(SECRET)).status == 200
    yield server
    server.close()


def test_browsers_may_ask_first(edge):
    headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "PUT",
               "Access-Control-Request-Headers": "authorization, content-type"}
    answer = edge.request("OPTIONS", "/collections/c/points", headers=headers)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-headers"] == "authorization, content-type"
    assert int(answer.headers["access-control-max-age"]) > 0
    plain = edge.get("/collections", headers=bearer(SECRET) | {"Origin": "https://a.example"})
    assert plain.headers["access-control-allow-origin"] == "*" and plain.headers["access-control-expose-headers"] == "*"
    refused = edge.get("/collections", headers={"Origin": "https://a.example"})
    assert refused.status == 401 and refused.headers["access-control-allow-origin"] == "*"


def test_answers_are_compressed_for_those_who_ask(edge):
    def scroll(encoding, limit):
        headers = bearer(SECRET) | ({"Accept-Encoding": encoding} if encoding else {})
        return edge.post("/collections/c/points/scroll", {"limit": limit}, headers=headers)

    plain = scroll(None, 1000)
    assert "content-encoding" not in plain.headers
    zipped = scroll("gzip, deflate", 1000)
    assert zipped.headers["content-encoding"] == "gzip" and zipped.headers["vary"] == "accept-encoding"
    assert len(zipped.body) < len(plain.body) / 5
    assert json.loads(gzip.decompress(zipped.body))["result"] == plain.result
    assert scroll("gzip, zstd", 1000).body[:4] == b"\x28\xb5\x2f\xfd"
    assert "content-encoding" not in scroll("gzip", 1).headers
    assert "content-encoding" not in scroll("br, identity", 1000).headers
    assert "content-encoding" not in scroll("gzip;q=0", 1000).headers
    assert len(edge.client(api_key=SECRET).scroll("c", limit=1000)[0]) == 1000


def audit_lines(server):
    return [json.loads(line) for file in sorted(server.audit_dir.iterdir()) for line in file.read_text().splitlines()]


def test_audit_log(edge):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    who = token({"access": [{"collection": "c", "access": "r"}], "subject": "alice"})
    answer = edge.get("/collections/c/points/1", headers=bearer(who) | {"X-Request-Id": "r-17", "traceparent": trace})
    assert answer.headers["x-request-id"] == "r-17" and answer.headers["traceparent"] == trace
    edge.put("/collections/c/points", POINT, headers=bearer(who) | {"X-Request-Id": "r-18"})
    edge.get("/collections/c", headers=bearer("wrong") | {"X-Request-Id": "r-19"})
    edge.get("/collections/none", headers={"api-key": READER, "X-Tracing-Id": "r-20"})
    edge.get("/healthz", headers={"X-Request-Id": "r-21"})
    edge.get("/nowhere", headers=bearer(SECRET) | {"X-Request-Id": "r-22"})
    bad = edge.get("/collections", headers=bearer(SECRET) | {"X-Request-Id": "a b", "traceparent": "x"})
    assert "x-request-id" not in bad.headers and "traceparent" not in bad.headers
    lines = {line["request_id"]: line for line in audit_lines(edge) if "request_id" in line}
    assert lines["r-17"].pop("time").endswith("Z")
    assert lines["r-17"] == {"transport": "rest", "verb": "GET /collections/{collection_name}/points/{id}", "collection": "c",
                             "caller": "token", "subject": "alice", "outcome": "ok", "status": 200, "request_id": "r-17",
                             "trace_id": trace[3:35], "remote": "127.0.0.1"}
    assert (lines["r-18"]["outcome"], lines["r-18"]["status"], lines["r-18"]["caller"]) == ("denied", 403, "token")
    assert (lines["r-19"]["outcome"], lines["r-19"]["caller"], lines["r-19"]["collection"]) == ("denied", "none", "c")
    assert (lines["r-20"]["outcome"], lines["r-20"]["caller"]) == ("failed", "read_only_api_key")
    assert "r-21" not in lines and lines["r-22"]["status"] == 404
    text = "".join(file.read_text() for file in edge.audit_dir.iterdir())
    assert SECRET not in text and who not in text
    assert all(file.stat().st_mode & 0o077 == 0 for file in edge.audit_dir.iterdir())


def test_audit_log_that_cannot_be_written_ends_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    server = Server(tmp_path / "data", args=["--set", "audit.enabled=true", "--set", f"audit.dir={tmp_path}/file"]).start(wait=False)
    assert server.process.wait(patience(10)) not in (0, None)
    assert "audit log" in server.log_tail()


def test_import_and_export_over_https(https, certificates, tmp_path):
    lines = "".join(json.dumps({"id": i, "vector": [i, 1], "payload": {"n": i}}) + "\n" for i in range(3000))
    (tmp_path / "points.jsonl").write_text(lines)
    url = f"https://localhost:{https.port}"

    def run(*args, ca="ca.pem"):
        flags = ["--ca", certificates.path(ca)] if ca else []
        return subprocess.run([binary(), *args, "--url", url, "--collection", "imported", *flags], capture_output=True, text=True)

    source = ("import", "--points", str(tmp_path / "points.jsonl"), "--create", json.dumps(VECTORS))
    stranger = run(*source, "--retry", "0", ca=None)
    assert stranger.returncode != 0 and "certificate" in stranger.stderr, stranger.stderr
    done = run(*source)
    assert done.returncode == 0, done.stderr
    assert https.post("/collections/imported/points/count", {}).result["count"] == 3000
    exported = run("export", "--out", str(tmp_path / "out.jsonl"))
    assert exported.returncode == 0, exported.stderr
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3000
