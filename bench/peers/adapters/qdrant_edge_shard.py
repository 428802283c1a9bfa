"""Qdrant Edge: one shard of Qdrant in this process. HNSW for dense rows, exact inverted lists for sparse rows; for token
sets exhaustive MaxSim, or HNSW over MaxSim. It limits a token set to fewer than 1,048,576 values.

One optimised segment, one search thread. Points have no payload; a search returns ids and scores only.
"""
import shutil
import tempfile
from pathlib import Path

from peer import Peer

FIELD = "v"
INDEX_FILES = ("vector_index", "id_tracker")
ONE_SEGMENT_KB = 1 << 30


def directory_bytes(folder, names):
    """Bytes of all files below `folder` with a path component that begins with one of the names."""
    return sum(p.stat().st_size for p in Path(folder).rglob("*")
               if p.is_file() and any(part.startswith(names) for part in p.relative_to(folder).parts))


class Edge(Peer):
    package = "qdrant-edge-py"
    upsert = 1000  # points per call

    def __init__(self, shard, folder, row_bytes, holder=None):
        self.shard, self.folder, self.row_bytes, self.holder = shard, folder, row_bytes, holder
        self.parameters = None

    @classmethod
    def build(cls, data, parameters):
        import qdrant_edge as edge
        holder = tempfile.TemporaryDirectory()
        optimizers = edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1, max_segment_size=ONE_SEGMENT_KB)
        config = edge.EdgeConfig(optimizers=optimizers, max_search_threads=1, **cls.fields(edge, data, parameters))
        shard = edge.EdgeShard.create(holder.name, config)
        rows = data.rows()
        for first in range(0, len(rows), cls.upsert):
            points = [edge.Point(i, cls.vector(edge, rows[i])) for i in range(first, min(first + cls.upsert, len(rows)))]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        return cls(shard, holder.name, data.row_bytes(), holder)

    def save(self, folder):
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)

    @classmethod
    def load(cls, folder, data, parameters):
        import qdrant_edge as edge
        return cls(edge.EdgeShard.load(str(folder)), folder, data.row_bytes())

    def bytes(self):
        """Bytes of its index and id files; its own copy of the rows counts as f32."""
        return directory_bytes(self.folder, INDEX_FILES), self.row_bytes

    def query(self, queries, row):
        import qdrant_edge as edge
        return self.nearest(edge, queries[row])

    def search(self, query, k):
        import qdrant_edge as edge
        return self.shard.search(edge.SearchRequest(query=query, limit=k, params=self.parameters, with_vector=False,
                                                    with_payload=False))

    @staticmethod
    def ids_of(found):
        return [point.id for point in found]


class Dense(Edge):
    kinds = ("dense",)
    metrics = ("dot", "cosine", "euclid")
    builds = [{"m": 16, "ef_construct": 100}, {"m": 32, "ef_construct": 200}]
    sweep = {"hnsw_ef": (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)}

    @classmethod
    def name(cls):
        return "qdrant-edge HNSW"

    @classmethod
    def fields(cls, edge, data, parameters):
        distance = {"dot": edge.Distance.Dot, "cosine": edge.Distance.Cosine, "euclid": edge.Distance.Euclid}[data.metric]
        graph = edge.HnswIndexConfig(full_scan_threshold=10, max_indexing_threads=1, **parameters)
        return {"vectors": edge.EdgeVectorParams(size=data.dim, distance=distance), "hnsw_config": graph}

    @staticmethod
    def vector(edge, row):
        return row.tolist()

    @staticmethod
    def nearest(edge, row):
        return edge.Query.Nearest(row.tolist())

    def use(self, search):
        import qdrant_edge as edge
        self.parameters = edge.SearchParams(hnsw_ef=search["hnsw_ef"])


class Sparse(Edge):
    kinds = ("sparse",)
    exact = True

    @classmethod
    def name(cls):
        return "qdrant-edge sparse"

    @classmethod
    def fields(cls, edge, data, parameters):
        return {"sparse_vectors": {FIELD: edge.EdgeSparseVectorParams(full_scan_threshold=1)}}

    @staticmethod
    def sparse(edge, row):
        return edge.SparseVector(row[0].tolist(), row[1].tolist())

    @classmethod
    def vector(cls, edge, row):
        return {FIELD: cls.sparse(edge, row)}

    @classmethod
    def nearest(cls, edge, row):
        return edge.Query.Nearest(cls.sparse(edge, row), using=FIELD)


class MultiScan(Dense):
    kinds = ("multi",)
    metrics = ("dot",)
    builds = [{}]
    sweep = {}
    exact = True
    upsert = 50

    @classmethod
    def name(cls):
        return "qdrant-edge MaxSim"

    @classmethod
    def fields(cls, edge, data, parameters):
        comparator = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
        graph = edge.HnswIndexConfig(full_scan_threshold=10, max_indexing_threads=1, **cls.graph(parameters))
        return {"hnsw_config": graph,
                "vectors": edge.EdgeVectorParams(size=data.dim, distance=edge.Distance.Dot, multivector_config=comparator)}

    @staticmethod
    def graph(parameters):
        return {"m": 0, "ef_construct": 4}

    def use(self, search):
        import qdrant_edge as edge
        self.parameters = edge.SearchParams(exact=True)


class MultiHnsw(MultiScan):
    """A graph over whole token sets. Building compares documents with documents, at 50 times the cost of a query."""
    builds = [{"m": 8, "ef_construct": 32}]
    sweep = {"hnsw_ef": (16, 32, 64, 128, 256, 512)}
    exact = False

    @classmethod
    def name(cls):
        return "qdrant-edge HNSW MaxSim"

    @staticmethod
    def graph(parameters):
        return parameters

    def use(self, search):
        import qdrant_edge as edge
        self.parameters = edge.SearchParams(hnsw_ef=search["hnsw_ef"])


PEERS = [Dense, Sparse, MultiScan, MultiHnsw]
