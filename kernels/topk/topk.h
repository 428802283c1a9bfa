// Selection for a top-k heap, and of set bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Exact.
struct TopKKernels {
  /// Writes the positions of `scores[i] >= threshold` in ascending order and returns their number.
  /// Equal scores are kept, so that ids can break ties; NaN is never kept. `positions` has room for
  /// `n`, all of which may be written.
  std::size_t (*at_least)(const float* scores, std::size_t n, float threshold,
                          std::uint32_t* positions);
  /// Writes `first + i` for each set bit i of `words`, ascending, and returns their number.
  /// `positions` has room for 64 * `n_words`, all of which may be written.
  std::size_t (*set_bits)(const std::uint64_t* words, std::size_t n_words, std::uint32_t first,
                          std::uint32_t* positions);
};

}  // namespace quiver
