"""Seeded random points, payloads and filters on which local mode and the server must agree.

Cases that local mode gets wrong (LOCAL_MODE_DEFECTS in test_oracle.py) are left out here and tested by hand there.
"""
import random
import uuid
from datetime import datetime, timedelta, timezone

import numpy as np
from qdrant_client import models

CITIES = ["Berlin", "Paris", "Rome", "Oslo", "São Paulo", "東京", "new york"]
TAGS = ["red", "green", "blue", "black", "white"]
WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"]  # none is part of another
EPOCH = datetime(2020, 1, 1, tzinfo=timezone.utc)
DATETIME_FORMATS = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"]
DENSE_DIM, TEXT_DIM, TOKEN_DIM, SPARSE_DIM = 16, 7, 5, 60

INDEXES = {
    "city": "keyword", "tags": "keyword", "n": "integer", "big": "integer", "price": "float", "ok": "bool",
    "ts": "datetime", "loc": "geo", "arr[].a": "integer", "arr[].b": "keyword", "obj.x": "integer",
    "obj.y.z": "keyword", "maybe": "keyword", "mixed": "keyword", "uid": "uuid",
    "title": models.TextIndexParams(type="text", tokenizer=models.TokenizerType.WORD, lowercase=True),
}
ORDER_INDEXES = {"rank": "integer", "weight": "float", "when": "datetime"}


class RandomData:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self._unique = 0

    # vectors

    def floats(self, dim):
        return self.numpy.standard_normal(dim).astype(np.float32).tolist()

    def matrix(self, dim):
        return [self.floats(dim) for _ in range(self.random.randint(1, 6))]

    def sparse(self, n_max=12):
        n = self.random.randint(1, n_max)
        indices = self.numpy.choice(SPARSE_DIM, n, replace=False).tolist()  # in any order
        values = (self.numpy.random(n) + 0.05).astype(np.float32).tolist()
        return models.SparseVector(indices=indices, values=values)

    def named_vectors(self, whole):
        """One vector for every field, or for some. `tokens` is always present, see LOCAL_MODE_DEFECTS."""
        vectors = {"tokens": self.matrix(TOKEN_DIM), "image": self.floats(DENSE_DIM), "text": self.floats(TEXT_DIM),
                   "words": self.sparse()}
        if not whole:
            for field in ("image", "text", "words"):
                if self.random.random() < 0.15:
                    del vectors[field]
        return vectors

    # ids and payloads

    def ids(self, n):
        """Small and huge integers, and UUIDs."""
        numbers = self.random.sample(range(1, 100 * n), n - n // 3 - n // 10)
        huge = [2**63 + self.random.getrandbits(62) for _ in range(n // 10)]
        uuids = [str(uuid.UUID(int=self.random.getrandbits(128))) for _ in range(n // 3)]
        ids = numbers + huge + uuids
        self.random.shuffle(ids)
        return ids

    def datetime_text(self):
        moment = EPOCH + timedelta(seconds=self.random.randrange(0, 10**8))
        return moment.strftime(self.random.choice(DATETIME_FORMATS))

    def geo(self):
        return {"lon": round(self.random.uniform(-180, 180), 6), "lat": round(self.random.uniform(-85, 85), 6)}

    def payload(self):
        r = self.random
        self._unique += 1
        whole = {
            "city": r.choice(CITIES),
            "tags": r.choices(TAGS, k=r.randint(0, 4)),
            "n": r.randint(-20, 20),
            "big": 2**60 + r.randint(0, 9),
            "price": r.choice([round(r.uniform(0, 100), 3), r.uniform(-1e9, 1e9), r.uniform(0, 1e-6)]),
            "ok": r.random() < 0.5,
            "ts": self.datetime_text() if r.random() < 0.8 else [self.datetime_text(), self.datetime_text()],
            "loc": self.geo() if r.random() < 0.7 else [self.geo(), self.geo()],
            "title": " ".join(r.choices(WORDS, k=r.randint(1, 5))),
            "arr": [{"a": r.randint(0, 9), "b": r.choice(TAGS)} for _ in range(r.randint(0, 4))],
            "obj": {"x": r.randint(0, 9), "y": {"z": r.choice(TAGS), "w": 1.5}},
            "maybe": r.choice([None, [], [None], "some", "thing"]),
            "mixed": r.choice(["3", 3, "4", 4]),
            "uid": str(uuid.UUID(int=r.randint(0, 5))),
        }
        kept = {key: value for key, value in whole.items() if r.random() < 0.85}
        order = {"rank": self._unique * 7 % 10007, "weight": self._unique * 0.37,
                 "when": (EPOCH + timedelta(hours=self._unique)).strftime("%Y-%m-%dT%H:%M:%SZ")}
        return kept | order

    # filters

    def bounds(self, draw):
        r = self.random
        lower, upper = r.choice(["gt", "gte", None]), r.choice(["lt", "lte", None])
        if lower is None and upper is None:
            lower = "gte"
        low, high = sorted([draw(), draw()])
        return {k: v for k, v in ((lower, low), (upper, high)) if k}

    def field_condition(self):
        r = self.random
        field = models.FieldCondition
        match_value = lambda key, value: field(key=key, match=models.MatchValue(value=value))
        match_any = lambda key, values: field(key=key, match=models.MatchAny(any=values))
        match_except = lambda key, values: field(key=key, match=models.MatchExcept(**{"except": values}))
        in_range = lambda key, draw: field(key=key, range=models.Range(**self.bounds(draw)))
        moment = lambda: EPOCH + timedelta(seconds=r.randrange(0, 10**8))
        kinds = [
            lambda: match_value("city", r.choice(CITIES)),
            lambda: match_value("tags", r.choice(TAGS)),
            lambda: match_value("n", r.randint(-20, 20)),
            lambda: match_value("big", 2**60 + r.randint(0, 9)),
            lambda: match_value("ok", r.random() < 0.5),
            lambda: match_value("mixed", r.choice(["3", 3])),
            lambda: match_value("uid", str(uuid.UUID(int=r.randint(0, 5)))),
            lambda: match_value("obj.y.z", r.choice(TAGS)),
            lambda: match_value("arr[].b", r.choice(TAGS)),
            lambda: match_value("arr[0].a", r.randint(0, 9)),
            lambda: match_any("city", r.sample(CITIES, r.randint(0, 4))),
            lambda: match_any("n", [r.randint(-20, 20) for _ in range(8)]),
            lambda: match_any("tags", r.sample(TAGS, 2)),
            lambda: match_except("city", r.sample(CITIES, r.randint(1, 4))),
            lambda: match_except("tags", r.sample(TAGS, 2)),
            lambda: match_except("n", [r.randint(-20, 20) for _ in range(8)]),
            lambda: field(key="title", match=models.MatchText(text=r.choice(WORDS))),
            lambda: field(key="title", match=models.MatchTextAny(text_any=" ".join(r.sample(WORDS, 2)))),
            lambda: in_range("n", lambda: r.randint(-25, 25)),
            lambda: in_range("n", lambda: r.uniform(-25, 25)),
            lambda: in_range("big", lambda: 2**60 + r.randint(0, 9) * 1.0),
            lambda: in_range("price", lambda: r.uniform(-10, 110)),
            lambda: in_range("obj.x", lambda: r.randint(0, 9)),
            lambda: in_range("arr[].a", lambda: r.randint(0, 9)),
            lambda: field(key="ts", range=models.DatetimeRange(**self.bounds(moment))),
            lambda: self.geo_condition(),
            lambda: field(key=r.choice(["tags", "arr", "city"]),
                          values_count=models.ValuesCount(**r.choice([
                              {"gte": 1}, {"gt": 1}, {"gte": 2, "lt": 4}, {"gt": 0, "lte": 2}]))),
        ]
        return r.choice(kinds)()

    def geo_condition(self):
        r = self.random
        kind = r.randrange(3)
        if kind == 0:
            center = models.GeoPoint(**self.geo())
            return models.FieldCondition(
                key="loc", geo_radius=models.GeoRadius(center=center, radius=r.uniform(1e5, 1e7)))
        if kind == 1:
            south, north = sorted([r.uniform(-85, 85), r.uniform(-85, 85)])
            west, east = r.uniform(-180, 180), r.uniform(-180, 180)  # west > east crosses the antimeridian
            return models.FieldCondition(key="loc", geo_bounding_box=models.GeoBoundingBox(
                top_left=models.GeoPoint(lon=west, lat=north), bottom_right=models.GeoPoint(lon=east, lat=south)))
        lon, lat = r.uniform(-100, 100), r.uniform(-40, 40)
        outer, hole = self.ring(lon, lat, 70, 40), self.ring(lon, lat, 20, 10)
        return models.FieldCondition(key="loc", geo_polygon=models.GeoPolygon(
            exterior=outer, interiors=[hole] if r.random() < 0.5 else None))

    def ring(self, lon, lat, width, height):
        """A closed ring around a centre, star-shaped, so that it never crosses itself."""
        n = self.random.randint(3, 8)
        shift = self.random.random()
        points = []
        for k in range(n):
            angle, size = 2 * np.pi * (k + shift) / n, self.random.uniform(0.5, 1)
            points.append(models.GeoPoint(lon=float(lon + width * size * np.cos(angle)),
                                          lat=float(lat + height * size * np.sin(angle))))
        return models.GeoLineString(points=points + points[:1])

    def condition(self, ids, fields, depth):
        r = self.random
        draw = r.random()
        if depth > 0 and draw < 0.15:
            return self.filter(ids, fields, depth - 1)
        if draw < 0.22:
            return models.HasIdCondition(has_id=r.sample(ids, min(len(ids), 40)))
        if draw < 0.28:
            return models.HasVectorCondition(has_vector=r.choice(fields))
        if draw < 0.34:
            key = r.choice(["maybe", "city", "obj.y", "absent"])
            return models.IsNullCondition(is_null=models.PayloadField(key=key))
        if draw < 0.42:
            key = r.choice(["maybe", "tags", "arr", "obj.x", "absent"])
            return models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
        if draw < 0.50:
            inner = [models.FieldCondition(key="a", range=models.Range(gte=r.randint(0, 9))),
                     models.FieldCondition(key="b", match=models.MatchValue(value=r.choice(TAGS)))]
            inner = models.Filter(**{r.choice(["must", "should", "must_not"]): inner})
            return models.NestedCondition(nested=models.Nested(key=r.choice(["arr", "arr[]"]), filter=inner))
        return self.field_condition()

    def filter(self, ids, fields, depth=2):
        """A random filter tree. `fields`: vector field names for has_vector."""
        r = self.random
        draw = lambda: [self.condition(ids, fields, depth) for _ in range(r.randint(1, 3))]
        clauses = {clause: draw() for clause in ("must", "should", "must_not") if r.random() < 0.45}
        if r.random() < 0.15:
            conditions = draw() + draw()
            clauses["min_should"] = models.MinShould(
                conditions=conditions, min_count=r.randint(1, len(conditions)))
        if not clauses:
            clauses = {"must": self.condition(ids, fields, depth)}  # one object instead of a list
        return models.Filter(**clauses)
