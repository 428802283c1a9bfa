// Similarities of rows with one bit a dimension, and estimates from them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/row_kernels.h"

namespace quiver {

/// Follows the bits of a sign code.
struct SignFactors {
  float scale = 0;
  float add = 0;
  float n_ones = 0;  ///< bits that are set
  float unused = 0;
};

/// Rows of sign codes: `n_bit_bytes` of bits, their `SignFactors`, zeros up to `stride`.
struct SignCodes {
  const std::byte* rows = nullptr;
  std::size_t stride = 0;
  std::size_t n_bit_bytes = 0;
};

/// A query as integers u of 4 bits or of 1, one a dimension: its value is about least + step * u.
struct SignQueryView {
  const std::uint8_t* planes = nullptr;  ///< each of `SignCodes::stride` bytes; 0 beyond the bits
  std::uint32_t n_planes = 4;            ///< 4 or 1
  float least = 0;
  float step = 0;
  float half_sum = 0;  ///< half the sum of the values
  float base = 0;
};

/// Exact. Here `dim` counts bytes of eight dimensions, <= 65,536. The format says what a bit means.
struct BinaryKernels {
  /// Number of bits that differ.
  RowKernels<std::uint8_t, std::uint32_t> hamming;
  /// Number of bits set in both.
  RowKernels<std::uint8_t, std::uint32_t> common;
  /// Dot product of 4-bit integers and bits. The query is four planes of `dim` bytes; plane p has
  /// bit p of each integer.
  RowKernels<std::uint8_t, std::uint32_t> dot_4bit;
  /// With y = bit - 1/2, writes `base + (add + scale * <query, y>)` for row `ids[i]`; the greatest
  /// float instead of NaN. Prefetches ahead.
  void (*estimate)(const SignQueryView& query, const SignCodes& codes, const std::uint32_t* ids,
                   std::size_t n, float* out);
};

}  // namespace quiver
