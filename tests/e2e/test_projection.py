"""Pictures of a field in two dimensions over REST: the principal plane against numpy, the layout of neighbours by groups."""
import numpy as np
import pytest
from quiver_server import SMALL_SEGMENTS

N, DIM = 400, 12
PATH = "/v1/collections/things/points/projection"


def vectors():
    """Four tight groups; the first coordinates differ most."""
    random = np.random.default_rng(11)
    centers = random.standard_normal((4, DIM)) * ([6, 4] + [1] * (DIM - 2))
    return (centers[np.arange(N) % 4] + .3 * random.standard_normal((N, DIM))).astype("f4")


@pytest.fixture
def server(new_server):
    server = new_server(env=SMALL_SEGMENTS).start()
    server.put("/collections/things", {"shard_number": 2, "vectors": {
        "dense": {"size": DIM, "distance": "Euclid"},
        "many": {"size": DIM, "distance": "Cosine", "multivector_config": {"comparator": "max_sim"}},
    }, "sparse_vectors": {"words": {}, "weighed": {"modifier": "idf"}}}).result
    points = [{"id": i, "payload": {"group": i % 4},
               "vector": {"dense": row, "many": [row, row], "words": {"indices": [i % 4, 9], "values": [5, .1]}}}
              for i, row in enumerate(vectors().tolist())]
    server.put("/collections/things/points?wait=true", {"points": points}).result
    yield server
    server.stop()


def draw(server, **body):
    got = server.post(PATH, body).result
    return got["ids"], np.array([got["x"], got["y"]]).T, got.get("shares")


def test_the_plane_is_that_of_numpy(server):
    ids, places, shares = draw(server, using="dense")
    assert ids == list(range(N))
    rows = vectors().astype("f8")
    centred = rows - rows.mean(0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    wanted = centred @ directions[:2].T
    wanted *= np.sign((wanted * places).sum(0))
    np.testing.assert_allclose(places, wanted, atol=1e-2)
    np.testing.assert_allclose(shares, (singular ** 2 / (singular ** 2).sum())[:2], atol=1e-4)


@pytest.mark.parametrize("field", ["dense", "many", "words"])
def test_neighbours_lie_near_one_another(server, field):
    ids, places, shares = draw(server, using=field, layout="neighbours", k=8)
    assert ids == list(range(N)) and shares is None
    group = np.arange(N) % 4
    distances = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(N)
    assert (group[distances.argmin(1)] == group).mean() > .95
    assert (draw(server, using=field, layout="neighbours", k=8)[1] == places).all()
    assert (draw(server, using=field, layout="neighbours", k=8, seed=2)[1] != places).any()


def test_samples_and_filters(server):
    ids, places, _ = draw(server, using="dense", sample=50)
    assert len(ids) == len(places) == 50 and ids == sorted(ids) == draw(server, using="dense", sample=50)[0]
    assert draw(server, using="dense", sample=50, seed=1)[0] != ids
    odd = {"must": [{"key": "group", "match": {"value": 3}}]}
    assert draw(server, using="dense", filter=odd)[0] == list(range(3, N, 4))
    for layout in ("plane", "neighbours"):
        assert draw(server, using="dense", layout=layout, filter={"must": [{"has_id": [77777]}]})[0] == []
        assert draw(server, using="dense", layout=layout, filter={"must": [{"has_id": [7]}]})[0] == [7]


@pytest.mark.parametrize(("body", "status", "text"), [
    ({"using": "nowhere"}, 400, "nowhere"),
    ({"using": "words"}, 400, "has no principal directions"),
    ({"using": "weighed", "layout": "neighbours"}, 400, "`idf` modifier"),
    ({"using": "dense", "layout": "circle"}, 400, "unknown variant `circle`, expected `plane` or `neighbours`"),
    ({"using": "dense", "sample": 100_001}, 422, "must be 100000 or smaller"),
    ({"using": "dense", "sample": 0}, 422, "must be 1 or larger"),
    ({"using": "dense", "k": 1001}, 422, "must be 1000 or smaller"),
    ({"using": "dense", "colour": "kind"}, 400, "colour"),
])
def test_what_is_refused_says_why(server, body, status, text):
    answer = server.post(PATH, body)
    assert answer.status == status and text in answer.error, answer.text


def test_strict_mode_bounds_the_sample(server):
    server.request("PATCH", "/collections/things", {"strict_mode_config": {"enabled": True, "max_query_limit": 10}}).result
    assert server.post(PATH, {"using": "dense", "sample": 11}).status == 400
    assert len(draw(server, using="dense", sample=10)[0]) == 10


def test_points_of_shard_keys(new_server):
    server = new_server(env=SMALL_SEGMENTS).start()
    server.put("/collections/things", {"vectors": {"dense": {"size": DIM, "distance": "Euclid"}}, "sharding_method": "custom"}).result
    rows = vectors().tolist()
    for key, ids in (("north", range(0, 100)), ("south", range(50, 180))):
        server.put("/collections/things/shards", {"shard_key": key}).result
        server.put("/collections/things/points?wait=true", {"shard_key": key, "points": [
            {"id": i, "vector": {"dense": rows[i]}} for i in ids]}).result
    for layout in ("plane", "neighbours"):
        assert draw(server, using="dense", layout=layout, shard_key="south")[0] == list(range(50, 180))
        ids, places, _ = draw(server, using="dense", layout=layout)
        assert ids == sorted([*range(0, 100), *range(50, 180)])
        assert places.shape == (230, 2) and np.isfinite(places).all()
    answer = server.post(PATH, {"using": "dense", "shard_key": "west"})
    assert answer.status == 400 and "west" in answer.error, answer.text
    server.stop()
