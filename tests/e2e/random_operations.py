"""Random operations against the server and the stock client's local mode, for as many steps as asked.

A step is one change or one read; every read is compared. Prints each difference with the seed that repeats it, and
ends with 1 if there was one.
Usage: random_operations.py [--steps N] [--seed S]
"""
import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from qdrant_client import models  # noqa: E402

from quiver_server import SMALL_SEGMENTS, Server  # noqa: E402
from random_data import DENSE_DIM, TEXT_DIM, TOKEN_DIM  # noqa: E402
from test_oracle import FIELDS, Changes, assert_same_points, close, named_pair  # noqa: E402

STEPS_PER_COLLECTION = 400


class Reads:
    """Random questions of every kind, asked of both sides and compared."""

    def __init__(self, pair, changes):
        self.pair, self.changes, self.data, self.random = pair, changes, pair.data, pair.data.random

    def field(self):
        return self.random.choice(FIELDS)

    def vector(self, field):
        return {"image": lambda: self.data.floats(DENSE_DIM), "text": lambda: self.data.floats(TEXT_DIM),
                "words": self.data.sparse, "tokens": lambda: self.data.matrix(TOKEN_DIM)}[field]()

    def filter(self):
        return self.data.filter(self.pair.ids, FIELDS) if self.random.random() < 0.5 else None

    def nearest(self):
        field = self.field()
        self.pair.query(query=self.vector(field), using=field, query_filter=self.filter(),
                        limit=self.random.randint(1, 40), offset=self.random.choice([0, 0, 2]))

    def recommend(self):
        field = self.field()
        strategy = self.random.choice(list(models.RecommendStrategy))
        positive = [self.vector(field) for _ in range(self.random.randint(1, 3))]
        negative = [self.vector(field) for _ in range(self.random.randint(0, 2))]
        if strategy == models.RecommendStrategy.AVERAGE_VECTOR and field in ("tokens", "words"):
            positive, negative = positive[:1], []  # local mode has no average of these
        query = models.RecommendQuery(recommend=models.RecommendInput(positive=positive, negative=negative,
                                                                      strategy=strategy))
        self.pair.query(query=query, using=field, query_filter=self.filter(), limit=self.random.randint(1, 20))

    def pairs(self, field, fewest):
        return [models.ContextPair(positive=self.vector(field), negative=self.vector(field))
                for _ in range(self.random.randint(fewest, 3))]

    def discover(self):
        field = self.field()
        query = models.DiscoverQuery(discover=models.DiscoverInput(target=self.vector(field),
                                                                   context=self.pairs(field, 0)))
        self.pair.query(query=query, using=field, query_filter=self.filter(), limit=self.random.randint(1, 20))

    def context(self):
        field = self.field()
        query = models.ContextQuery(context=self.pairs(field, 1))
        self.pair.query(query=query, using=field, query_filter=self.filter(), limit=self.random.randint(1, 20))

    def fusion(self):
        prefetch = [models.Prefetch(query=self.vector(field), using=field, limit=self.random.randint(1, 50),
                                    filter=self.filter()) for field in self.random.sample(FIELDS, 2)]
        limit = self.random.randint(1, 30)
        if not all([self.is_ranked_alike(one) for one in prefetch]):
            return
        self.pair.query(query=models.FusionQuery(fusion=models.Fusion.RRF), prefetch=prefetch,
                        limit=limit)

    def is_ranked_alike(self, prefetch):
        """Compares a prefetch by itself. False if points whose scores differ by rounding alone have changed places:
        then their ranks differ, and so do fused scores."""
        one = {"query": prefetch.query, "using": prefetch.using, "query_filter": prefetch.filter}
        ours = self.pair.query(**one, limit=prefetch.limit)
        theirs = self.pair.theirs.query_points(self.pair.name, **one, limit=prefetch.limit).points
        return [hit.id for hit in ours] == [hit.id for hit in theirs]

    def scroll(self):
        self.pair.scroll_all(scroll_filter=self.filter(), with_payload=True, with_vectors=True)

    def count(self):
        ours, theirs = self.pair.both_count(self.filter())
        assert ours == theirs, f"count {ours}, wanted {theirs}"

    def retrieve(self):
        ours, theirs = self.pair.both("retrieve", self.changes.some(), with_payload=True, with_vectors=True)
        assert_same_points(ours, theirs)

    def facet(self):
        key = self.random.choice(["city", "tags", "n", "ok"])
        ours, theirs = self.pair.both("facet", key=key, facet_filter=self.filter(), limit=1000, exact=True)
        count = lambda answer: {(type(hit.value), hit.value): hit.count for hit in answer.hits}
        assert count(ours) == count(theirs), f"facet {key}: {count(ours)}, wanted {count(theirs)}"

    def groups(self):
        field = self.field()
        # Groups of the hits are compared by their scores: ties at the cut may fall either way.
        ours, theirs = self.pair.both("query_points_groups", group_by="city", query=self.vector(field), using=field,
                                      query_filter=self.filter(), limit=20, group_size=3)
        scores = lambda answer: {group.id: [hit.score for hit in group.hits] for group in answer.groups}
        a, b = scores(ours), scores(theirs)
        assert a.keys() == b.keys(), f"groups {sorted(a)}, wanted {sorted(b)}"
        for group in a:
            assert len(a[group]) == len(b[group]) and all(map(close, a[group], b[group])), f"group {group}"

    def all(self):
        return [self.nearest, self.recommend, self.discover, self.context, self.fusion, self.scroll, self.count,
                self.retrieve, self.facet, self.groups]


def run_collection(server, name, seed, steps):
    """Returns the differences found, as texts."""
    pair = named_pair(server, name, seed, "before")
    changes = Changes(pair)
    reads = Reads(pair, changes)
    writes = [changes.upsert, changes.upsert_filtered, changes.upsert_mode, changes.delete, changes.set_payload,
              changes.set_payload_under_key, changes.overwrite_payload, changes.delete_payload, changes.clear_payload,
              changes.update_vectors, changes.delete_vectors, changes.batch]
    draw, differences = random.Random(seed), []
    for step in range(steps):
        is_write = draw.random() < 0.4
        operation = draw.choice(writes if is_write else reads.all())
        try:
            operation()
            if is_write:
                changes.refresh()
        except Exception as error:  # a difference, or a call that failed on one side only
            differences.append(f"seed {seed}, step {step}, {operation.__name__}: {type(error).__name__}: {error}"[:600])
            if is_write:
                break  # the sides may hold different points from here on
    pair.ours.delete_collection(name)
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began, done, differences, seed = time.monotonic(), 0, [], options.seed
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory) / "data", env=SMALL_SEGMENTS).start()
        while done < options.steps:
            steps = min(STEPS_PER_COLLECTION, options.steps - done)
            found = run_collection(server, f"random-{seed}", seed, steps)
            for text in found:
                print(text, flush=True)
            differences += found
            done, seed = done + steps, seed + 1
        server.stop()
    print(f"{done} steps, {len(differences)} differences, {time.monotonic() - began:.0f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
