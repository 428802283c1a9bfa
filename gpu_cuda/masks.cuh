// Which rows the queries of a job may name.
#pragma once

#include <cstdint>

#include "gpu/abi.h"
#include "gpu_cuda/pieces.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// In device memory.
struct Masks {
  const uint64_t* words;  ///< [n, n_words]; nullptr: all rows
  uint64_t* any;          ///< [n_words]: rows that some query may name; nullptr: all rows
  uint64_t n_words;       ///< of a mask
  uint32_t n;
};

/// Where a job's masks go on the device; nullptr: it has none. `are_all_masked`: no query may name all rows.
inline Masks masks_of(const qv_masks& job, bool are_all_masked, uint64_t n_rows, Pieces& pieces, uint64_t*& input) {
  const uint64_t n_words = (n_rows + 63) / 64;
  input = job.n == 0 ? nullptr : pieces.take<uint64_t>(job.n * n_words);
  uint64_t* const any = job.n == 0 || !are_all_masked ? nullptr : job.n == 1 ? input : pieces.take<uint64_t>(n_words);
  return {input, any, n_words, job.n};
}

inline uint64_t bytes_of_masks(const qv_masks& job, uint64_t n_rows) { return job.n * ((n_rows + 63) / 64) * 8; }

template <class Query>
bool are_all_masked(const Query* queries, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    if (queries[i].mask == QV_ALL_ROWS) return false;
  }
  return true;
}

__device__ inline bool is_set(const uint64_t* words, uint64_t row) { return (words[row / 64] >> (row % 64) & 1) != 0; }

/// Whether a query with that mask may name the row.
__device__ inline bool allows(const Masks& masks, uint32_t mask, uint64_t row) {
  return masks.words == nullptr || mask == QV_ALL_ROWS || is_set(masks.words + mask * masks.n_words, row);
}

/// Whether some query may name the row.
__device__ inline bool any_allows(const Masks& masks, uint64_t row) {
  return masks.any == nullptr || is_set(masks.any, row);
}

/// Queues what fills in `any`.
void launch_join_masks(const Masks& masks, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
