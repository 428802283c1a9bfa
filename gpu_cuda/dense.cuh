// The certified pass over all rows (docs/gpu.md).
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/abi.h"
#include "gpu_cuda/masks.cuh"
#include "gpu_cuda/select.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// What a query looks for, while the job runs.
struct Search {
  float bar;         ///< a score that k rows certainly reach
  uint32_t n_found;  ///< may be more than there is room for
  uint32_t wanted;   ///< 1: the next pass is for this query, too
};

/// All in device memory, but for the last two. Queries are padded to a multiple of kQueryTile.
struct DenseMemory {
  const int8_t* rows;         ///< [n_tiles * kTileRows, stride], zeros beyond n_rows
  const qv_row* facts;        ///< [n_tiles * kTileRows]
  const int8_t* codes;        ///< [padded queries, stride]
  const qv_query* queries;    ///< [padded queries]
  Masks masks;
  float* margins;             ///< [n_tiles * kTileRows]; minus infinity: no query may name the row
  float* slabs;               ///< [n_queries, n_slabs]
  Search* searches;           ///< [padded queries]
  Found* found;               ///< [n_queries, room]
  uint32_t* out_rows;         ///< [n_queries, capacity], pinned
  uint32_t* out_n;            ///< [n_queries], pinned
};

struct DenseShape {
  uint64_t n_rows;
  uint32_t stride;
  uint32_t n_queries;
  uint32_t n_tiles;
  uint32_t sample_step;
  uint32_t n_slabs;  ///< of one query
  uint32_t room;     ///< for `found` of one query
  uint32_t capacity;
  float rounding;
  qv_query group;  ///< the largest numbers of all queries
};

/// Queries of a block.
inline constexpr uint32_t kQueryTile = 64;

/// Whether a query with that mask may name the row.
__device__ inline bool may_name(const DenseShape& shape, const DenseMemory& memory, uint32_t mask, uint64_t row) {
  return row < shape.n_rows && allows(memory.masks, mask, row);
}

/// Queues the comparison of all rows with all queries, or of the sample.
using ComparePass = std::function<qv_status(bool is_sample)>;

/// Queues all kernels of a job. `compare`: in place of the comparison that every device can do; may be empty.
qv_status launch_dense(const DenseShape& shape, const DenseMemory& memory, cudaStream_t stream,
                       const ComparePass& compare = {});

}  // namespace quiver::gpu_cuda
