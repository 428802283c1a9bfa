"""What blocks of the documentation take for granted. Each function gets the sandbox of the page."""
import numpy as np

from docs_blocks import blocks_of
from quiver_server import REPOSITORY, Server

TOPICS = ["graph neural networks", "whales and ships", "running dogs", "learning to rank", "sparse vectors in space"]


def papers(sandbox):
    """60 points with the fields and payload that the pages on searching speak of."""
    server, random = sandbox.server, np.random.default_rng(1)
    server.put("/collections/papers", {"vectors": {"dense": {"size": 3, "distance": "Cosine"}},
                                       "sparse_vectors": {"sparse": {}}}).result
    for name in ("abstract", "title", "text"):
        server.put("/collections/papers/index?wait=true",
                   {"field_name": name, "field_schema": {"type": "text", "scoring": True}}).result
    points = []
    for i in range(1, 61):
        text = f"{TOPICS[i % 5]} and {TOPICS[i % 3]}, part {i}"
        points.append({"id": i, "payload": {"title": text, "text": text, "abstract": text, "year": 1990 + i % 35},
                       "vector": {"dense": random.random(3).tolist(),
                                  "sparse": {"indices": [3, 17, 20 + i], "values": random.random(3).tolist()}}})
    server.put("/collections/papers/points?wait=true", {"points": points}).result


def books(sandbox):
    """Three documents of a few tokens."""
    server = sandbox.server
    field = {"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}}
    server.put("/collections/books", {"vectors": {"tokens": field}}).result
    documents = {1: [[1, 0], [0, 0.8]], 2: [[0.1, 0.2]], 3: [[0.8, 0.6]]}
    points = [{"id": id, "vector": {"tokens": tokens}} for id, tokens in documents.items()]
    server.put("/collections/books/points?wait=true", {"points": points}).result


def notes(sandbox):
    """A collection `docs` without vectors of an image."""
    sandbox.server.put("/collections/docs", {"vectors": {"title": {"size": 4, "distance": "Cosine"}}}).result


def nothing(sandbox):
    """No collections."""
    for collection in sandbox.server.get("/collections").result["collections"]:
        sandbox.server.delete(f"/collections/{collection['name']}").result


def client(sandbox):
    """`client` and `models` in Python."""
    text = ("from qdrant_client import QdrantClient, models\n"
            f"client = QdrantClient('http://127.0.0.1:{sandbox.server.port}', check_compatibility=False)\n")
    sandbox.in_python(text)


def arrays(sandbox):
    """rows.npy and queries.npy, and a collection `docs` of such rows."""
    sample = REPOSITORY / "examples/arxiv-3k"
    rows = np.load(sample / "dense.npy")[:300].astype("f4")
    np.save(sandbox.folder / "rows.npy", rows)
    np.save(sandbox.folder / "queries.npy", np.load(sample / "queries.dense.npy")[:40])
    server = sandbox.server
    server.put("/collections/docs", {"vectors": {"size": rows.shape[1], "distance": "Dot"}}).result
    points = [{"id": i, "vector": row} for i, row in enumerate(rows.tolist())]
    server.put("/collections/docs/points?wait=true", {"points": points}).result


def directory(sandbox):
    """A data directory without a server: DIR and ./quiver-data, with a collection `docs`; NEW is not there."""
    server = Server(sandbox.folder / "quiver-data").start()
    server.put("/collections/docs", {"vectors": {"size": 2, "distance": "Dot"}}).result
    server.put("/collections/docs/points?wait=true", {"points": [{"id": 1, "vector": [1, 2]}]}).result
    server.stop()
    sandbox.words |= {"DIR": server.data_dir, "NEW": sandbox.folder / "new-directory", "NAME": "docs"}


def sample(sandbox):
    """The collection `papers` of the cookbook, loaded as its first page says."""
    sandbox.run(blocks_of("docs/cookbook/index.md")[0])
