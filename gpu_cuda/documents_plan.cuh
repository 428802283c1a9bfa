// The shape of a job about documents and where its parts lie in the memory of a lane. Runs on the host.
#pragma once

#include <cstdint>
#include <vector>

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

/// A query's scores are the sum of a line for each tile that has tokens of it.
struct DocumentLines {
  std::vector<uint32_t> of_group;
  std::vector<uint32_t> first;  ///< of each query, and the end
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

inline DocumentLines lines_of(const qv_documents& job, uint32_t tile_groups) {
  DocumentLines lines;
  uint32_t n = 0;
  for (uint32_t q = 0; q < job.n_queries; ++q) {
    lines.first.push_back(n);
    const qv_token_query& query = job.queries[q];
    for (uint32_t i = 0; i < query.n_groups; ++i) {
      const bool is_new_tile = i == 0 || (query.first_group + i) % tile_groups == 0;
      if (is_new_tile) ++n;
      lines.of_group.push_back(n - 1);
    }
  }
  lines.first.push_back(n);
  return lines;
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
  shape.capacity = job.capacity;
  shape.rounding = job.rounding;
  return shape;
}

/// Where the job's inputs go on the device; `allowed` may be null.
struct DocumentInputs {
  int8_t* tokens;
  uint32_t* line_of;
  uint32_t* first_line;
  qv_token_query* queries;
  uint64_t* allowed;
};

inline uint64_t padded_token_bytes(const DocumentShape& shape) {
  return uint64_t{tiles_of(shape)} * shape.tile_groups * QV_TOKEN_GROUP * shape.stride;
}

inline DocumentMemory memory_of(const qv_documents& job, const DocumentRows& rows, const DocumentShape& shape,
                                Pieces& pieces, DocumentInputs& inputs) {
  inputs.tokens = pieces.take<int8_t>(padded_token_bytes(shape));
  inputs.line_of = pieces.take<uint32_t>(shape.n_groups);
  inputs.first_line = pieces.take<uint32_t>(shape.n_queries + 1);
  inputs.queries = pieces.take<qv_token_query>(shape.n_queries);
  inputs.allowed = job.allowed == nullptr ? nullptr : pieces.take<uint64_t>((shape.n_documents + 63) / 64);
  DocumentMemory memory = {};
  memory.tokens = rows.tokens;
  memory.documents = rows.documents;
  memory.query_tokens = inputs.tokens;
  memory.line_of = inputs.line_of;
  memory.first_line = inputs.first_line;
  memory.queries = inputs.queries;
  memory.allowed = inputs.allowed;
  memory.scores = pieces.take<float>(uint64_t{shape.n_lines} * shape.n_documents);
  memory.searches = pieces.take<DocumentSearch>(shape.n_queries);
  memory.out_documents = job.documents;
  memory.out_n = job.n_documents;
  return memory;
}

}  // namespace quiver::gpu_cuda
