// Rounding to a grid of evenly spaced points.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Sums over the grid points y nearest to scaled values v.
struct GridSums {
  float dot = 0;      ///< <v, y>
  float squares = 0;  ///< |y|^2
};

/// The grid has the `2 * half` numbers from `0.5 - half` to `half - 0.5`; `half` is a whole number
/// from 1 to 128. Exact. Values are finite, also after scaling.
struct GridKernels {
  /// The largest absolute value.
  float (*largest)(const float* in, std::size_t n);
  GridSums (*measure)(const float* in, std::size_t n, float scale, float half);
  /// Writes the number of the grid point nearest to `in[i] * scale`; the lowest point is number 0.
  void (*encode)(const float* in, std::size_t n, float scale, float half, std::uint8_t* codes);
};

}  // namespace quiver
