#!/usr/bin/env python3
"""DSPy over Quiver: a retriever of passages as a module of a program.

    pip install dspy qdrant-client
    examples/integrations/dspy_retriever.py --url http://127.0.0.1:6333
"""
import uuid

import dspy
from qdrant_client import models
from shared import DIM, N_RECENT, PAPERS, TITLES, arguments, client, dense, told


class Passages(dspy.Module):
    """Retrieves titles. A program with a language model would answer from them."""

    def __init__(self, stock, collection, k=3):
        super().__init__()
        self.stock, self.collection, self.k = stock, collection, k

    def forward(self, question, since=None):
        newer = models.Filter(must=[models.FieldCondition(key="year", range=models.Range(gte=since))]) if since else None
        hits = self.stock.query_points(self.collection, query=dense(question), query_filter=newer, limit=self.k).points
        return dspy.Prediction(passages=[hit.payload["document"] for hit in hits], years=[hit.payload["year"] for hit in hits])


def main():
    stock = client(arguments(__doc__))
    name = f"dspy-{uuid.uuid4().hex[:8]}"
    stock.create_collection(name, vectors_config=models.VectorParams(size=DIM, distance=models.Distance.COSINE))
    points = [models.PointStruct(id=i, vector=dense(paper["title"]), payload={"document": paper["title"], "year": int(paper["created"][:4])})
              for i, paper in enumerate(PAPERS)]
    stock.upsert(name, points, wait=True)
    retrieve = Passages(stock, name)
    found = {title: retrieve(question=title).passages[0] for title in TITLES[:5]}
    years = Passages(stock, name, k=100)(question=TITLES[0], since=2015).years
    assert len(years) == N_RECENT and min(years) >= 2015
    stock.delete_collection(name)
    told("dspy", found)


if __name__ == "__main__":
    main()
