// The shape of a job and where its parts lie in the memory of a lane. Runs on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/tiles/margin.h"
#include "gpu_cuda/dense.cuh"
#include "gpu_cuda/pieces.cuh"

namespace quiver::gpu_cuda {

inline uint64_t tiles_of(uint64_t n_rows) { return (n_rows + gpu::tiles::kTileRows - 1) / gpu::tiles::kTileRows; }
inline uint64_t padded_queries(uint64_t n) { return (n + kQueryTile - 1) / kQueryTile * kQueryTile; }

/// Rows in device memory: whole tiles, zero beyond the last row.
struct DenseRows {
  const int8_t* codes;
  const qv_row* facts;
  uint64_t n_rows;
  uint32_t stride;
};

inline DenseShape shape_of(const qv_dense& job, const DenseRows& rows) {
  DenseShape shape = {};
  shape.n_rows = rows.n_rows;
  shape.stride = rows.stride;
  shape.n_queries = job.n_queries;
  shape.n_tiles = static_cast<uint32_t>(tiles_of(rows.n_rows));
  shape.capacity = job.capacity;
  shape.rounding = job.rounding;
  for (uint32_t i = 0; i < job.n_queries; ++i) {
    const qv_query& query = job.queries[i];
    shape.group.length = std::max(shape.group.length, query.length);
    shape.group.error = std::max(shape.group.error, query.error);
    shape.group.square = std::max(shape.group.square, query.square);
    shape.group.half_over_scale = std::max(shape.group.half_over_scale, query.half_over_scale);
    shape.group.k = std::max(shape.group.k, query.k);
  }
  shape.sample_step = gpu::tiles::sample_step(shape.n_tiles, shape.group.k);
  const uint32_t n_sampled = (shape.n_tiles + shape.sample_step - 1) / shape.sample_step;
  shape.n_slabs = n_sampled * (gpu::tiles::kTileRows / gpu::tiles::kSlabRows);
  shape.room = gpu::tiles::room(shape.group.k);
  return shape;
}

/// Where the job's inputs go on the device.
struct DenseInputs {
  int8_t* codes;
  qv_query* queries;
  uint64_t* masks;
};

inline DenseMemory memory_of(const qv_dense& job, const DenseRows& rows, const DenseShape& shape, Pieces& pieces,
                             DenseInputs& inputs) {
  const uint64_t n_padded = padded_queries(job.n_queries);
  const uint64_t n_rows = uint64_t{shape.n_tiles} * gpu::tiles::kTileRows;
  inputs.codes = pieces.take<int8_t>(n_padded * shape.stride);
  inputs.queries = pieces.take<qv_query>(n_padded);
  DenseMemory memory = {};
  memory.rows = rows.codes;
  memory.facts = rows.facts;
  memory.codes = inputs.codes;
  memory.queries = inputs.queries;
  memory.masks =
      masks_of(job.masks, are_all_masked(job.queries, job.n_queries), shape.n_rows, pieces, inputs.masks);
  memory.margins = pieces.take<float>(n_rows);
  memory.slabs = pieces.take<float>(uint64_t{job.n_queries} * shape.n_slabs);
  memory.searches = pieces.take<Search>(n_padded);
  memory.found = pieces.take<Found>(uint64_t{job.n_queries} * shape.room);
  memory.out_rows = job.rows;
  memory.out_n = job.n_rows;
  return memory;
}

}  // namespace quiver::gpu_cuda
