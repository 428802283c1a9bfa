// Similarities of an f32 query and stored rows.
#pragma once

#include <cstdint>

#include "kernels/row_kernels.h"
#include "kernels/similarity.h"

namespace quiver {

/// Stored rows of one type are converted to f32 in registers.
using DenseKernels = RowKernels<float, float>;
struct DenseFamily {
  DenseKernels table[kSimilarities][kRowTypes];
  /// Dot product of bf16 and bf16, summed in f32. Subnormal values and sums may count as zero.
  RowKernels<std::uint16_t, float> bf16_dot;
};

}  // namespace quiver
