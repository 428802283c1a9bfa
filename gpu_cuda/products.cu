// A warp takes a pair of a query and a row, 16 bytes of the row a lane.
#include "gpu_cuda/products.cuh"

#include <cstdint>

namespace quiver::gpu_cuda {
namespace {

constexpr uint32_t kPairsOfBlock = 8;
constexpr uint32_t kProductThreads = 32 * kPairsOfBlock;

/// Adds the product of 16 bytes of a row with those of the query.
__device__ int add_bytes_of_row(const uint32_t (&row)[4], const int8_t* query, int sum) {
  uint32_t values[4];
  load_16(values, query);
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) sum = dot_bytes(row[i], values[i], sum);
  return sum;
}

template <uint32_t kBits>
__global__ void __launch_bounds__(kProductThreads) multiply_pairs(ProductShape shape, ProductMemory memory) {
  const uint32_t pair = blockIdx.x * kPairsOfBlock + threadIdx.x / 32;
  if (pair >= shape.n_pairs) return;
  const int8_t* const row = memory.bytes + uint64_t{memory.rows[pair]} * shape.stride;
  const int8_t* const query =
      memory.queries + uint64_t{memory.query_of[pair]} * values_of_row(shape.stride, kBits);
  int sum = 0;
  for (uint32_t at = threadIdx.x % 32 * 16; at < shape.stride; at += 32 * 16) {
    uint32_t words[4];
    load_16(words, row + at);
    if (kBits == 8) {
      sum = add_bytes_of_row(words, query + at, sum);
      continue;
    }
    uint32_t low[4];
    uint32_t high[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      low[i] = words[i] & 0x0F0F0F0FU;
      high[i] = words[i] >> 4 & 0x0F0F0F0FU;
    }
    sum = add_bytes_of_row(low, query + 2 * at, sum);
    sum = add_bytes_of_row(high, query + 2 * at + 16, sum);
  }
  for (uint32_t step = 1; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
  if (threadIdx.x % 32 == 0) memory.products[pair] = sum;
}

}  // namespace

qv_status launch_products(const ProductShape& shape, const ProductMemory& memory, cudaStream_t stream) {
  if (shape.n_pairs == 0) return QV_DONE;
  const uint32_t n_blocks = (shape.n_pairs + kPairsOfBlock - 1) / kPairsOfBlock;
  const auto kernel = shape.n_bits == 8 ? multiply_pairs<8> : multiply_pairs<4>;
  launch(kernel, n_blocks, kProductThreads, stream, shape, memory);
  return status_of(cudaGetLastError());
}

}  // namespace quiver::gpu_cuda
