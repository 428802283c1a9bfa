#!/usr/bin/env python3
"""LlamaIndex's QdrantVectorStore over Quiver: an index of nodes, hybrid retrieval, filters, deletes.

    pip install llama-index-vector-stores-qdrant
    examples/integrations/llama_index_store.py --url http://127.0.0.1:6333
"""
import uuid

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from shared import N_RECENT, PAPERS, TITLES, arguments, client, dense, sparse, told


class Words(BaseEmbedding):
    def _get_text_embedding(self, text):
        return dense(text)

    def _get_query_embedding(self, query):
        return dense(query)

    async def _aget_query_embedding(self, query):
        return dense(query)


def sparse_batch(texts):
    pairs = [sparse(text) for text in texts]
    return [indices for indices, _ in pairs], [values for _, values in pairs]


def main():
    stock = client(arguments(__doc__))
    name = f"llama-{uuid.uuid4().hex[:8]}"
    store = QdrantVectorStore(name, client=stock, enable_hybrid=True, sparse_doc_fn=sparse_batch, sparse_query_fn=sparse_batch)
    nodes = [TextNode(id_=str(uuid.uuid5(uuid.NAMESPACE_URL, paper["arxiv_id"])), text=paper["title"],
                      metadata={"year": int(paper["created"][:4])}, excluded_embed_metadata_keys=["year"]) for paper in PAPERS]
    index = VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=Words())
    found = {}
    for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.HYBRID):
        retriever = index.as_retriever(similarity_top_k=3, sparse_top_k=10, vector_store_query_mode=mode)
        for title in TITLES[:5]:
            found[title] = retriever.retrieve(title)[0].node.text
    recent = MetadataFilters(filters=[MetadataFilter(key="year", value=2015, operator=FilterOperator.GTE)])
    hits = index.as_retriever(similarity_top_k=100, filters=recent).retrieve(TITLES[0])
    assert len(hits) == N_RECENT and all(hit.node.metadata["year"] >= 2015 for hit in hits)
    store.delete_nodes([nodes[7].node_id])
    assert index.as_retriever(similarity_top_k=1).retrieve(TITLES[7])[0].node.text != TITLES[7]
    assert len(store.get_nodes([nodes[1].node_id, nodes[2].node_id])) == 2
    stock.delete_collection(name)
    told("llama-index-vector-stores-qdrant", found)


if __name__ == "__main__":
    main()
