// The scan of lists of codes (docs/gpu.md).
#pragma once

#include <cstdint>

#include "gpu/abi.h"
#include "gpu_cuda/select.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// All in device memory, but for the last three.
struct ListMemory {
  const char* blocks;            ///< [n_blocks, stride]
  const uint32_t* first_blocks;  ///< [n_lists + 1]
  const char* tables;            ///< [n_queries, 128 * n_lines]
  const qv_list_query* queries;  ///< [n_queries]
  const qv_visit* visits;        ///< [n_visits], by list
  float* scores;                 ///< [n_slots]
  uint32_t* positions;           ///< [n_slots]
  float* out_scores;             ///< [n_queries, capacity], pinned
  uint32_t* out_positions;       ///< [n_queries, capacity], pinned
  uint32_t* out_n;               ///< [n_queries], pinned
};

struct ListShape {
  uint32_t stride;  ///< bytes of a block
  uint32_t n_lines;
  uint32_t n_bits;
  uint32_t n_queries;
  uint32_t n_visits;
  uint32_t n_slots;
  uint32_t most_blocks;
  uint32_t tile_groups;  ///< groups of eight queries whose tables a block of threads has; 0: they do not fit
  uint32_t capacity;
};

/// Queues all kernels of a job.
qv_status launch_lists(const ListShape& shape, const ListMemory& memory, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
