// Similarities of rows with one bit a dimension. The index `osq` uses `hamming` and
// `common`; `dot_4bit` waits for fields of bits (docs/decisions/0028).
#pragma once

#include <cstdint>

#include "kernels/row_kernels.h"

namespace quiver {

/// Exact. Here `dim` counts bytes of eight dimensions, <= 65,536. The format says what a bit means.
struct BinaryKernels {
  /// Number of bits that differ.
  RowKernels<std::uint8_t, std::uint32_t> hamming;
  /// Number of bits set in both.
  RowKernels<std::uint8_t, std::uint32_t> common;
  /// Dot product of 4-bit integers and bits. The query is four planes of `dim` bytes; plane p has
  /// bit p of each integer.
  RowKernels<std::uint8_t, std::uint32_t> dot_4bit;
};

}  // namespace quiver
