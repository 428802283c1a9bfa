#!/usr/bin/env python3
"""LangChain's QdrantVectorStore over Quiver: dense, sparse and hybrid retrieval, filters, MMR, deletes.

    pip install langchain-qdrant
    examples/integrations/langchain_store.py --url http://127.0.0.1:6333
"""
import uuid

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore, RetrievalMode, SparseEmbeddings, SparseVector
from qdrant_client import models
from shared import DIM, N_RECENT, PAPERS, TITLES, arguments, client, dense, sparse, told


class Words(Embeddings):
    def embed_documents(self, texts):
        return [dense(text) for text in texts]

    def embed_query(self, text):
        return dense(text)


class SparseWords(SparseEmbeddings):
    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        indices, values = sparse(text)
        return SparseVector(indices=indices, values=values)


def main():
    stock = client(arguments(__doc__))
    name = f"langchain-{uuid.uuid4().hex[:8]}"
    stock.create_collection(name, vectors_config={"dense": models.VectorParams(size=DIM, distance=models.Distance.COSINE)},
                            sparse_vectors_config={"sparse": models.SparseVectorParams()})
    documents = [Document(page_content=paper["title"], metadata={"year": int(paper["created"][:4]), "primary": paper["primary"]})
                 for paper in PAPERS]
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, paper["arxiv_id"])) for paper in PAPERS]
    found = {}
    for mode in RetrievalMode:
        store = QdrantVectorStore(stock, name, embedding=Words(), retrieval_mode=mode, vector_name="dense",
                                  sparse_embedding=SparseWords(), sparse_vector_name="sparse")
        if mode is RetrievalMode.DENSE:
            QdrantVectorStore(stock, name, embedding=Words(), retrieval_mode=RetrievalMode.HYBRID, vector_name="dense",
                              sparse_embedding=SparseWords(), sparse_vector_name="sparse").add_documents(documents, ids=ids)
        for title in TITLES[:5]:
            found[title] = store.similarity_search(title, k=3)[0].page_content
    store = QdrantVectorStore(stock, name, embedding=Words(), vector_name="dense")
    recent = models.Filter(must=[models.FieldCondition(key="metadata.year", range=models.Range(gte=2015))])
    years = [hit.metadata["year"] for hit in store.similarity_search(TITLES[0], k=100, filter=recent)]
    assert len(years) == N_RECENT and min(years) >= 2015
    assert len(store.max_marginal_relevance_search(TITLES[0], k=5, fetch_k=20)) == 5
    assert store.as_retriever(search_kwargs={"k": 1}).invoke(TITLES[7])[0].page_content == TITLES[7]
    assert store.get_by_ids([ids[3]])[0].page_content == TITLES[3]
    store.delete([ids[7]])
    assert store.similarity_search(TITLES[7], k=1)[0].page_content != TITLES[7]
    stock.delete_collection(name)
    told("langchain-qdrant", found)


if __name__ == "__main__":
    main()
