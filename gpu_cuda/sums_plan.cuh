// The shape of a job about sums and where its parts lie in the memory of a lane. Runs on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/tiles/margin.h"
#include "gpu_cuda/pieces.cuh"
#include "gpu_cuda/sums.cuh"

namespace quiver::gpu_cuda {

/// Of the sums of a range.
inline constexpr uint32_t kSumBytes = QV_RANGE_ROWS * sizeof(uint16_t);

/// Queries of a block, each with the sums of a range in shared memory.
inline uint32_t warps_of_sums(uint32_t most_shared) {
  constexpr uint32_t kMostWarps = 7;
  return std::min(kMostWarps, most_shared / kSumBytes);
}

/// Runs of a part in device memory.
struct StoredRuns {
  const uint16_t* runs;
  const uint32_t* places;
  uint64_t n_values;
};

inline SumShape shape_of(const qv_sums& job, const StoredRuns& runs, uint32_t most_shared) {
  SumShape shape = {};
  shape.n_values = runs.n_values;
  shape.n_rows = job.n_rows;
  shape.n_ranges = (job.n_rows + QV_RANGE_ROWS - 1) / QV_RANGE_ROWS;
  shape.n_queries = job.n_queries;
  shape.n_warps = std::min(warps_of_sums(most_shared), job.n_queries);
  uint32_t most = 0;
  for (uint32_t i = 0; i < job.n_queries; ++i) most = std::max(most, job.queries[i].k);
  shape.room = std::min(gpu::tiles::room(most), shape.n_ranges * QV_RANGE_ROWS);
  shape.capacity = job.capacity;
  return shape;
}

/// Where the job's inputs go on the device.
struct SumInputs {
  qv_sum_term* terms;
  qv_sum_query* queries;
  uint64_t* masks;
};

inline SumMemory memory_of(const qv_sums& job, const StoredRuns& runs, const SumShape& shape, Pieces& pieces,
                           SumInputs& inputs) {
  inputs.terms = pieces.take<qv_sum_term>(job.n_terms);
  inputs.queries = pieces.take<qv_sum_query>(shape.n_queries);
  SumMemory memory = {};
  memory.runs = runs.runs;
  memory.places = runs.places;
  memory.terms = inputs.terms;
  memory.queries = inputs.queries;
  memory.masks = masks_of(job.masks, false, shape.n_rows, pieces, inputs.masks);
  memory.searches = pieces.take<SumSearch>(shape.n_queries);
  memory.found = pieces.take<FoundSum>(uint64_t{shape.n_queries} * shape.room);
  memory.out_rows = job.rows;
  memory.out_sums = job.sums;
  memory.out_n = job.n_found;
  return memory;
}

}  // namespace quiver::gpu_cuda
