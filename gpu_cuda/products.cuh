// Products with second codes (docs/gpu.md).
#pragma once

#include <cstdint>

#include "gpu/abi.h"
#include "gpu_cuda/pieces.cuh"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// Second codes of a part in device memory.
struct StoredBytes {
  const int8_t* bytes;  ///< [n_rows, stride]
  uint32_t stride;
  uint32_t n_bits;  ///< 8 or 4
};

struct ProductShape {
  uint32_t stride;
  uint32_t n_bits;
  uint32_t n_queries;
  uint32_t n_pairs;
};

/// All in device memory.
struct ProductMemory {
  const int8_t* bytes;
  const int8_t* queries;     ///< [n_queries, values_of_row]
  const uint32_t* rows;      ///< [n_pairs]
  const uint32_t* query_of;  ///< [n_pairs]
  int32_t* products;         ///< [n_pairs]
};

__host__ __device__ inline uint32_t values_of_row(uint32_t stride, uint32_t n_bits) { return stride * 8 / n_bits; }

inline ProductShape shape_of(const qv_products& job, const StoredBytes& bytes) {
  return {bytes.stride, bytes.n_bits, job.n_queries, job.n_pairs};
}

/// Where the job's inputs go on the device.
struct ProductInputs {
  int8_t* queries;
  uint32_t* rows;
  uint32_t* query_of;
};

inline ProductMemory memory_of(const qv_products& /*job*/, const StoredBytes& bytes, const ProductShape& shape,
                               Pieces& pieces, ProductInputs& inputs) {
  inputs.queries = pieces.take<int8_t>(uint64_t{shape.n_queries} * values_of_row(shape.stride, shape.n_bits));
  inputs.rows = pieces.take<uint32_t>(shape.n_pairs);
  inputs.query_of = pieces.take<uint32_t>(shape.n_pairs);
  return {bytes.bytes, inputs.queries, inputs.rows, inputs.query_of, pieces.take<int32_t>(shape.n_pairs)};
}

/// Queues the kernel of a job.
qv_status launch_products(const ProductShape& shape, const ProductMemory& memory, cudaStream_t stream);

}  // namespace quiver::gpu_cuda
