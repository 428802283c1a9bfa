// The certified pass over all documents of tokens (docs/gpu.md).
#pragma once

#include <cstdint>

#include "gpu/abi.h"
#include "gpu_cuda/masks.cuh"
#include "gpu_cuda/select.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// What a query looks for, while the job runs.
struct DocumentSearch {
  float bar;         ///< a score that k documents certainly reach
  uint32_t n_found;  ///< may be more than there is room for
};

/// Documents that share an entry of `slabs`.
inline constexpr uint32_t kSlabDocuments = 32;

/// All in device memory, but for the last two.
struct DocumentMemory {
  const int8_t* tokens;          ///< of the documents, [groups * QV_TOKEN_GROUP, stride]
  const qv_document* documents;  ///< [n_documents]
  const int8_t* query_tokens;    ///< [n_tiles * groups of a tile * QV_TOKEN_GROUP, stride], zeros beyond the queries
  const qv_token_query* queries; ///< [n_queries]
  Masks masks;                   ///< of documents
  uint32_t* query_of;            ///< [groups of the queries]
  float* scores;                 ///< [n_queries, n_documents]: the middle of the interval; only of those that may be named
  float* slabs;                  ///< [n_queries, n_slabs]: the best lower end
  DocumentSearch* searches;      ///< [n_queries]
  Found* found;                  ///< [n_queries, room]
  uint32_t* out_documents;       ///< [n_queries, capacity], pinned
  uint32_t* out_n;               ///< [n_queries], pinned
};

struct DocumentShape {
  uint64_t n_documents;
  uint32_t stride;
  uint32_t n_queries;
  uint32_t n_groups;       ///< of the queries
  uint32_t tile_groups;    ///< of the queries that a block compares
  uint32_t n_slabs;        ///< of one query
  uint32_t room;           ///< for `found` of one query
  uint32_t capacity;
  float rounding;
};

/// Queues all kernels of a job.
qv_status launch_documents(const DocumentShape& shape, const DocumentMemory& memory, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
