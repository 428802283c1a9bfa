// Scalar quantization with a number of bits that differs by dimension: how bits are given out, and
// where the cells of a dimension lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quiver::encoders::osq {

/// Largest number of bits of a dimension.
inline constexpr std::uint32_t kMaxBits = 8;

/// Bits of each dimension. Each bit goes to the dimension with the largest expected error, which a
/// bit divides by 4 (greedy reverse water-filling). No dimension gets more than kMaxBits, one
/// without variance gets none. The sum is `budget`, or kMaxBits for each dimension with variance if
/// that is less.
[[nodiscard]] std::vector<std::uint8_t> allocate_bits(std::span<const double> variances,
                                                      std::uint64_t budget);

struct LloydRule {
  double tolerance = 0.005;  ///< ends when the error falls by a smaller share, >= 0
  std::uint32_t max_iterations = 250;
};

/// Limits of `n_cells` cells, `[n_cells + 1]`, ascending, for the values of one dimension: at first
/// cells of equal population, then improved by Lloyd's algorithm. The first and last limit are the
/// smallest and largest value. `sorted` ascends and is not empty; 1 <= n_cells <= 256.
[[nodiscard]] std::vector<float> cell_limits(std::span<const float> sorted, std::uint32_t n_cells,
                                             const LloydRule& rule);

/// The cell of `value`: the number of inner limits that are not greater. Values outside all cells
/// belong to the first or last one. `limits` as of `cell_limits`.
[[nodiscard]] std::uint8_t cell_of(std::span<const float> limits, float value);

}  // namespace quiver::encoders::osq
