// The shape of a job about documents and where its parts lie in the memory of a lane. Runs on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/tiles/margin.h"
#include "gpu_cuda/documents.cuh"
#include "gpu_cuda/pieces.cuh"

namespace quiver::gpu_cuda {

/// Distance of query tokens in shared memory: an odd number of 64 bytes, so that those that a warp reads at a time lie
/// in different banks.
__host__ __device__ inline uint32_t token_pitch(uint32_t stride) { return stride / 64 % 2 == 1 ? stride : stride + 64; }
inline uint32_t shared_of_tile(uint32_t stride, uint32_t n_groups) {
  return n_groups * QV_TOKEN_GROUP * token_pitch(stride);
}

/// Tokens of a part in device memory.
struct DocumentRows {
  const int8_t* tokens;
  const qv_document* documents;
  uint64_t n_documents;
  uint32_t stride;
};

/// Groups of a tile: few for few tokens, and as many as fit the shared memory of a block. 0: not even two do.
inline uint32_t tile_groups_of(uint32_t n_groups, uint32_t stride, uint32_t most_shared) {
  constexpr uint32_t kChoices[] = {8, 4, 2};
  uint32_t chosen = 0;
  for (const uint32_t choice : kChoices) {
    if (shared_of_tile(stride, choice) > most_shared) continue;
    if (chosen == 0 || choice >= n_groups) chosen = choice;
  }
  return chosen;
}

inline uint32_t tiles_of(const DocumentShape& shape) {
  return (shape.n_groups + shape.tile_groups - 1) / shape.tile_groups;
}

/// `tile_groups` is 0 where the job does not fit the device.
inline DocumentShape shape_of(const qv_documents& job, const DocumentRows& rows, uint32_t most_shared) {
  const qv_token_query& last = job.queries[job.n_queries - 1];
  DocumentShape shape = {};
  shape.n_documents = rows.n_documents;
  shape.stride = rows.stride;
  shape.n_queries = job.n_queries;
  shape.n_groups = last.first_group + last.n_groups;
  shape.tile_groups = tile_groups_of(shape.n_groups, rows.stride, most_shared);
  shape.n_slabs = static_cast<uint32_t>((rows.n_documents + kSlabDocuments - 1) / kSlabDocuments);
  uint32_t most = 0;
  for (uint32_t i = 0; i < job.n_queries; ++i) most = std::max(most, job.queries[i].k);
  shape.room = static_cast<uint32_t>(std::min<uint64_t>(gpu::tiles::room(most), rows.n_documents));
  shape.capacity = job.capacity;
  shape.rounding = job.rounding;
  return shape;
}

/// Where the job's inputs go on the device.
struct DocumentInputs {
  int8_t* tokens;
  qv_token_query* queries;
  uint64_t* masks;
};

inline uint64_t padded_token_bytes(const DocumentShape& shape) {
  return uint64_t{tiles_of(shape)} * shape.tile_groups * QV_TOKEN_GROUP * shape.stride;
}

inline DocumentMemory memory_of(const qv_documents& job, const DocumentRows& rows, const DocumentShape& shape,
                                Pieces& pieces, DocumentInputs& inputs) {
  inputs.tokens = pieces.take<int8_t>(padded_token_bytes(shape));
  inputs.queries = pieces.take<qv_token_query>(shape.n_queries);
  DocumentMemory memory = {};
  memory.tokens = rows.tokens;
  memory.documents = rows.documents;
  memory.query_tokens = inputs.tokens;
  memory.queries = inputs.queries;
  memory.masks =
      masks_of(job.masks, are_all_masked(job.queries, job.n_queries), shape.n_documents, pieces, inputs.masks);
  memory.query_of = pieces.take<uint32_t>(shape.n_groups);
  memory.scores = pieces.take<float>(uint64_t{shape.n_queries} * shape.n_documents);
  memory.slabs = pieces.take<float>(uint64_t{shape.n_queries} * shape.n_slabs);
  memory.searches = pieces.take<DocumentSearch>(shape.n_queries);
  memory.found = pieces.take<Found>(uint64_t{shape.n_queries} * shape.room);
  memory.out_documents = job.documents;
  memory.out_n = job.n_documents;
  return memory;
}

}  // namespace quiver::gpu_cuda
