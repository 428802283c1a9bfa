#!/usr/bin/env python3
"""Haystack's QdrantDocumentStore over Quiver: dense, sparse and hybrid retrievers in a pipeline, filters, deletes.

    pip install qdrant-haystack
    examples/integrations/haystack_store.py --url http://127.0.0.1:6333
"""
import uuid
from urllib.parse import urlsplit

from haystack import Document, Pipeline
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.retrievers.qdrant import (QdrantEmbeddingRetriever, QdrantHybridRetriever,
                                                                QdrantSparseEmbeddingRetriever)
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from shared import DIM, N_RECENT, PAPERS, TITLES, arguments, client, dense, sparse, told


def sparse_embedding(text):
    indices, values = sparse(text)
    return SparseEmbedding(indices=indices, values=values)


def main():
    options = arguments(__doc__)
    parts = urlsplit(options.url)
    store = QdrantDocumentStore(host=parts.hostname, port=parts.port, https=parts.scheme == "https",
                                prefer_grpc=options.grpc_port is not None, grpc_port=options.grpc_port or 6334,
                                index=f"haystack-{uuid.uuid4().hex[:8]}", embedding_dim=DIM, use_sparse_embeddings=True,
                                progress_bar=False, recreate_index=True, client_kwargs={"check_compatibility": False})
    documents = [Document(content=paper["title"], embedding=dense(paper["title"]), sparse_embedding=sparse_embedding(paper["title"]),
                          meta={"year": int(paper["created"][:4])}) for paper in PAPERS]
    assert store.write_documents(documents, policy=DuplicatePolicy.OVERWRITE) == len(documents) == store.count_documents()
    pipeline = Pipeline()
    pipeline.add_component("dense", QdrantEmbeddingRetriever(store, top_k=3))
    pipeline.add_component("sparse", QdrantSparseEmbeddingRetriever(store, top_k=3))
    pipeline.add_component("hybrid", QdrantHybridRetriever(store, top_k=3))
    found = {}
    for title in TITLES[:5]:
        vector, words = dense(title), sparse_embedding(title)
        answers = pipeline.run({"dense": {"query_embedding": vector}, "sparse": {"query_sparse_embedding": words},
                                "hybrid": {"query_embedding": vector, "query_sparse_embedding": words}})
        firsts = {answer["documents"][0].content for answer in answers.values()}
        found[title] = firsts.pop() if len(firsts) == 1 else firsts
    recent = {"field": "meta.year", "operator": ">=", "value": 2015}
    assert {d.meta["year"] >= 2015 for d in store.filter_documents(recent)} == {True}
    hits = QdrantEmbeddingRetriever(store, top_k=100, filters=recent).run(dense(TITLES[0]))["documents"]
    assert len(hits) == N_RECENT and all(hit.meta["year"] >= 2015 for hit in hits)
    store.delete_documents([documents[7].id])
    assert store.count_documents() == len(documents) - 1
    client(options).delete_collection(store.index)
    told("qdrant-haystack", found)


if __name__ == "__main__":
    main()
