// Sums of impacts (docs/gpu.md).
#pragma once

#include <cstdint>

#include "gpu/abi.h"
#include "gpu_cuda/masks.cuh"
#include "gpu_cuda/select.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// What a query looks for, while the job runs.
struct SumSearch {
  uint32_t bar;      ///< a sum that k rows certainly reach; at least 1
  uint32_t n_found;  ///< may be more than there is room for
  uint32_t is_done;  ///< no pass is needed any more
};

struct FoundSum {
  uint32_t row;
  uint32_t sum;
};

/// All in device memory, but for the last three.
struct SumMemory {
  const uint16_t* runs;
  const uint32_t* places;       ///< [terms of the part, n_ranges]
  const qv_sum_term* terms;     ///< [n_terms], of the queries
  const qv_sum_query* queries;  ///< [n_queries]
  Masks masks;
  SumSearch* searches;          ///< [n_queries]
  FoundSum* found;              ///< [n_queries, room]
  uint32_t* out_rows;           ///< [n_queries, capacity], pinned
  uint32_t* out_sums;           ///< [n_queries, capacity], pinned
  uint32_t* out_n;              ///< [n_queries], pinned
};

struct SumShape {
  uint64_t n_values;  ///< of the runs
  uint32_t n_rows;
  uint32_t n_ranges;
  uint32_t n_queries;
  uint32_t n_warps;  ///< of a block, a query each
  uint32_t room;     ///< for `found` of one query
  uint32_t capacity;
};

/// Queues all kernels of a job.
qv_status launch_sums(const SumShape& shape, const SumMemory& memory, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
