// Sums of numbers without rounding errors.
#pragma once

#include <array>
#include <cstdint>

#include "payload/filter.h"

namespace quiver::payload {

/// Adds numbers exactly and rounds once, when it is asked for the sum. So the sum depends neither
/// on the order of the numbers nor on how they are divided into parts. A fixed-point number with
/// limbs for every bit that a double can have: the small superaccumulator of R. Neal, "Fast Exact
/// Summation Using Small and Large Superaccumulators" (arXiv 1505.05571), section 2, with limbs of
/// 32 bits. An addition takes a few nanoseconds.
class ExactSum {
 public:
  /// Adds `number`, which is finite, `times` times.
  void add(const Number& number, std::uint32_t times = 1);
  /// The sum as an integer if it is one and fits; otherwise the nearest double, which is infinite
  /// beyond the range of doubles.
  [[nodiscard]] Number sum() const;

 private:
  /// Limb `i` counts units of 2^(32 i - kFractionBits).
  static constexpr int kFractionBits = 1152;
  static constexpr int kLimbBits = 32;
  static constexpr std::size_t kLimbs = 72;
  using Limbs = std::array<std::int64_t, kLimbs>;

  /// Adds `sign * magnitude * 2^exponent * times`.
  void add_scaled(std::uint64_t magnitude, int exponent, int sign, std::uint32_t times);
  static void carry(Limbs& limbs);

  Limbs limbs_{};
  std::uint32_t n_additions_ = 0;  ///< since the last carry
};

}  // namespace quiver::payload
