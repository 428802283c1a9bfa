// The certified pass by the products of four warps that compute capability 9.0 has.
#pragma once

#include <cstdint>

#include "gpu_cuda/dense.cuh"
#include "gpu_cuda/hopper.cuh"

namespace quiver::gpu_cuda {

/// How a job is cut for `compare_tiles_wide`. All queries of a block stay in its shared memory, rows stream past them.
struct WidePlan {
  uint32_t n_columns;  ///< queries of a block: 64, 128 or 256
  uint32_t slab;       ///< bytes of a vector that are copied at a time: 64 or 128
  uint32_t n_stages;   ///< slabs of rows under way, for each of a block's two groups of warps
  uint32_t n_bytes;    ///< shared memory of a block
};

/// n_columns 0: the job does not fit, or the device has other products. `most_shared`: bytes that a block may have.
WidePlan wide_plan(uint32_t stride, uint32_t n_queries, uint32_t most_shared);

/// What the copies need: matrices of bytes with vectors of `stride`.
struct WideMaps {
  CUtensorMap rows;
  CUtensorMap queries;
};

/// False if the driver refuses.
bool make_maps(const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan, WideMaps& out);

/// Queues one pass over all rows, or over the sample.
qv_status launch_wide(bool is_sample, const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan,
                      const WideMaps& maps, uint32_t n_multiprocessors, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
