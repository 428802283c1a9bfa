// Selection from 16-bit sums, one a row.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// `n` is a multiple of 64 and `sums` starts on a cache line. Exact.
struct SumKernels {
  /// Writes the positions of `sums[i] >= threshold` in ascending order and returns their number. If
  /// `allowed` is not nullptr, only rows whose bit is set there count. `positions` has room for
  /// `n`.
  std::size_t (*at_least)(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                          const std::uint64_t* allowed, std::uint16_t* positions);
  /// The number that `at_least` would return.
  std::size_t (*count_at_least)(const std::uint16_t* sums, std::size_t n, std::uint16_t threshold,
                                const std::uint64_t* allowed);
};

}  // namespace quiver
