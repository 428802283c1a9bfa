// Selection by the threads of a block.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/tiles/select.h"
#include "gpu_cuda/warp.cuh"

namespace quiver::gpu_cuda {

/// The score of what is not there.
inline constexpr float kNone = -INFINITY;

/// A row, or a document, that may be among the best, and the middle of the interval of its score.
struct Found {
  uint32_t row;
  float center;
};

/// A lower end that is not a number certifies nothing.
__device__ inline float or_none(float lower) { return lower == lower ? lower : kNone; }

/// The k-th largest of n values, by four digits of their keys, from the highest; kNone if there are fewer. All threads
/// of the block call it and get the same.
template <class ValueOf>
__device__ float kth_largest(uint32_t n, uint32_t k, ValueOf value_of) {
  __shared__ uint32_t counts[256];
  __shared__ uint32_t digit_found;
  __shared__ uint32_t rest;
  if (k == 0 || n < k) return kNone;
  uint32_t prefix = 0;
  uint32_t wanted = k;
  for (int shift = 24; shift >= 0; shift -= 8) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      const uint32_t key = gpu::tiles::key_of_bits(__float_as_uint(value_of(i)));
      if (shift == 24 || key >> (shift + 8) == prefix) atomicAdd(&counts[key >> shift & 255], 1U);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t left = wanted;
      uint32_t digit = 255;
      while (counts[digit] < left) left -= counts[digit--];
      digit_found = digit;
      rest = left;
    }
    __syncthreads();
    prefix = prefix << 8 | digit_found;
    wanted = rest;
  }
  return __uint_as_float(gpu::tiles::bits_of_key(prefix));
}

}  // namespace quiver::gpu_cuda
