// Steps of orthonormal maps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Exact.
struct TransformKernels {
  /// Multiplies by the Hadamard matrix of `n` rows, in place and not normalised; `n` is a power of
  /// two, >= 64.
  void (*hadamard)(float* values, std::size_t n);
  /// `out[i] = in[i] * factor`, or times `-factor` where bit i % 32 of `signs[i / 32]` is set. `in`
  /// and `out` may be equal.
  void (*flip_signs)(const float* in, std::size_t n, const std::uint32_t* signs, float factor,
                     float* out);
  /// Each pair (a, b) of `first[i]` and `second[i]` becomes ((a + b) * factor, (a - b) * factor).
  void (*butterfly)(float* first, float* second, std::size_t n, float factor);
};

}  // namespace quiver
