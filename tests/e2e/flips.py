"""Changed bytes in files of a server, and the answers of a collection beside what must be there."""
import collections
import mmap
import os
import random
import struct
import time

from patience import patience

DENSE_DIM, TOKEN_DIM, N_WORDS = 32, 16, 400
FIELDS = ("", "words", "tokens")
TRAILER, ENTRY = struct.Struct("<QIIQ8s"), struct.Struct("<IIQQQ")  # of a file of sections, and of one section in its table
# Segments of this size have an index of each kind soon.
ENV = {"QUIVER__OPTIMIZER__IDLE_SEAL_S": "0.05", "QUIVER__SCRUB__PERIOD_S": "0", "QUIVER__SCRUB__MB_PER_S": "4096"}


def floats(rng, n):
    return [float(rng.randint(-64, 64)) / 64 for _ in range(n)]


class Model:
    """A collection on a server: every point is known here, and so is every answer."""

    def __init__(self, server, name, seed, n_points):
        self.server, self.name, self.rng, self.points = server, name, random.Random(seed), {}
        others = set(server.files("collections/*"))
        server.put(self.path(), {
            "vectors": {"": {"size": DENSE_DIM, "distance": "Dot"},
                        "tokens": {"size": TOKEN_DIM, "distance": "Dot",
                                   "multivector_config": {"comparator": "max_sim"}}},
            "sparse_vectors": {"words": {}}, "optimizers_config": {"indexing_threshold": 1}}).result
        self.folder = server.data_dir / (set(server.files("collections/*")) - others).pop()
        for key, kind in (("color", "keyword"), ("n", "integer"), ("text", "text")):
            server.put(self.path("index?wait=true"), {"field_name": key, "field_schema": kind}).result
        for first in range(0, n_points, 500):
            self.put(range(first, min(first + 500, n_points)))
        self.wait_for_rest()
        self.questions = list(self.make_questions())
        self.right = None
        self.learn()

    def path(self, rest=""):
        return f"/collections/{self.name}" + (f"/{rest}" if rest else "")

    def point(self, number):
        rng = self.rng
        words = sorted(rng.sample(range(N_WORDS), 12))
        return {"id": number,
                "vector": {"": floats(rng, DENSE_DIM), "tokens": [floats(rng, TOKEN_DIM) for _ in range(6)],
                           "words": {"indices": words, "values": [rng.randint(1, 64) / 64 for _ in words]}},
                "payload": {"color": f"c{rng.randrange(7)}", "n": rng.randrange(1000), "free": rng.randrange(50),
                            "text": " ".join(f"w{rng.randrange(60)}" for _ in range(5))}}

    def put(self, numbers):
        points = [self.point(number) for number in numbers]
        self.server.put(self.path("points?wait=true"), {"points": points}).result
        self.points |= {point["id"]: point for point in points}

    def delete(self, numbers):
        self.server.post(self.path("points/delete?wait=true"), {"points": list(numbers)}).result
        for number in numbers:
            self.points.pop(number, None)

    def wait_for_rest(self):
        deadline = time.monotonic() + patience(120)
        while self.server.get(self.path()).result["status"] != "green":
            assert time.monotonic() < deadline, self.server.log_tail()
            time.sleep(0.05)

    def make_questions(self):
        rng = self.rng
        queries = {"": floats(rng, DENSE_DIM), "words": {"indices": [3, 77, 130, 255], "values": [1.0, 2.0, 0.5, 1.5]},
                   "tokens": [floats(rng, TOKEN_DIM) for _ in range(3)]}
        red = {"must": [{"key": "color", "match": {"value": "c3"}}]}
        high = {"must": [{"key": "n", "range": {"gte": 900}}]}
        free = {"must": [{"key": "free", "match": {"value": 7}}]}
        words = {"must": [{"key": "text", "match": {"text": "w5"}}]}
        for field in FIELDS:
            for filter in (None, red, high, free, words):
                body = {"query": queries[field], "using": field, "limit": 10, "params": {"exact": True}}
                yield "points/query", body | ({"filter": filter} if filter else {})
        for filter in (red, high, free, words):
            yield "points/count", {"exact": True, "filter": filter}
        yield "facet", {"key": "color", "exact": True, "limit": 20}

    def ask(self, path, body):
        """The answer; None if it was refused."""
        answer = self.server.post(self.path(path), body)
        if answer.status == 503:
            return None
        assert answer.status == 200, f"{path} {body}: {answer.status} {answer.text[:300]}"
        if path == "facet":
            return sorted((hit["value"], hit["count"]) for hit in answer.result["hits"])
        return answer.result

    def stored(self):
        """All points as the server has them, none if the answer is no JSON; None if it refused."""
        answer = self.server.post(self.path("points/scroll"), {"limit": 10 * len(self.points) + 10,
                                                               "with_payload": True, "with_vector": True})
        if answer.status == 503:
            return None
        try:
            answer.json
        except ValueError:  # a flipped bit in a payload
            return {}
        return {point["id"]: {key: point.get(key) for key in ("id", "vector", "payload")}
                for point in answer.result["points"]}

    def learn(self):
        """The answers that are right from now on. The points must be right already."""
        assert self.stored() == self.points, f"{self.name} differs before any fault"
        self.right = [self.ask(*question) for question in self.questions]

    def look(self):
        """(number of wrong answers, number of refused ones)."""
        given = [self.ask(*question) for question in self.questions] + [self.stored()]
        wanted = self.right + [self.points]
        n_refused = sum(answer is None for answer in given)
        return sum(a is not None and a != b for a, b in zip(given, wanted)), n_refused

    def segment_files(self):
        return files_below(self.folder, "segments")

    def row_files(self):
        return files_below(self.folder, "rows")


def files_below(folder, part):
    """Files with bytes in folders called `part`, by kind. A running server may remove some meanwhile."""
    kinds = collections.defaultdict(list)
    for directory, _, names in os.walk(folder):
        if f"/{part}" not in directory:
            continue
        for name in names:
            path = os.path.join(directory, name)
            if os.path.exists(path) and os.path.getsize(path):
                kinds[kind_of(path)].append(path)
    return kinds


def kind_of(path):
    """What a file is: its name, without the numbers of segments, columns and tables."""
    folder, name = os.path.split(path)
    stem = "".join("N" if c.isdigit() else c for c in name)
    if name.endswith(".qvc"):
        stem = "column"
    index = os.path.basename(folder)
    return f"{index.split('-')[2] if index.count('-') >= 2 else index}/{stem}" if index.startswith("index-") else stem


def section_places(path):
    """The middle of each section of a file of sections, and of its table (docs/formats/segment.md); of other files the middle."""
    with open(path, "rb") as file:
        bytes = file.read()
    *_, magic = trailer = TRAILER.unpack(bytes[-TRAILER.size:]) if len(bytes) >= TRAILER.size else (b"",)
    if not (magic.startswith(b"QV") and magic.endswith(b"END")):
        return [len(bytes) // 2]
    table_at, n_sections, *_ = trailer
    entries = [ENTRY.unpack_from(bytes, table_at + i * ENTRY.size) for i in range(n_sections)]
    places = [offset + size // 2 for _, _, offset, size, _ in entries if size]
    return places + [table_at + n_sections * ENTRY.size // 2]


def flip(path, rng, at=None):
    """Changes one bit, at a random place or `at`, as memory or a disk may: no call writes to the file.
    Returns the place; None if the file is gone or empty."""
    return changed(path, rng, at, through_mapping)


def overwrite(path, rng, at=None):
    """The same, as another program may."""
    return changed(path, rng, at, by_a_call)


def changed(path, rng, at, put):
    try:
        with open(path, "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return None
            at = rng.randrange(size) if at is None else at
            put(file.fileno(), at, os.pread(file.fileno(), 1, at)[0] ^ 1 << rng.randrange(8))
            return at
    except FileNotFoundError:
        return None


def through_mapping(file, at, byte):
    with mmap.mmap(file, 0) as mapped:
        mapped[at] = byte


def by_a_call(file, at, byte):
    os.pwrite(file, bytes([byte]), at)


def cut(path, rng):
    """Cuts a file short. Returns its new size; None if it is gone or empty."""
    try:
        size = os.path.getsize(path)
        if size == 0:
            return None
        left = rng.randrange(size)
        os.truncate(path, left)
        return left
    except FileNotFoundError:
        return None


def scrub(server):
    """Has all mapped files read again, and waits for the end of that."""
    wanted = server.post("/v1/scrub").result["done_after_passes"]
    deadline = time.monotonic() + patience(120)
    while server.get("/v1/scrub").result["passes"] < wanted:
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.02)


def wait_healed(model):
    """Asks until nothing is refused any more. Returns the wrong answers seen."""
    deadline = time.monotonic() + patience(120)
    n_wrong = 0
    while True:
        wrong, refused = model.look()
        n_wrong += wrong
        if refused == 0:
            return n_wrong
        assert time.monotonic() < deadline, model.server.log_tail()
        time.sleep(0.05)
