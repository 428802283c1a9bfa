#pragma once

#include <cstdint>
#include <span>

namespace quiver::encoders {

/// Codes of 1 to 8 bits a dimension that estimate scalar products without bias (RaBitQ: Gao and
/// Long, SIGMOD 2024; more bits: Gao et al., SIGMOD 2025). A vector r, usually what a rotation made
/// of a residual, is kept as the point y of the grid `u - (2^bits - 1) / 2`, u in 0 .. 2^bits - 1,
/// at the smallest angle to it. Then <q, r> is about `scale() * <q, y>` for any q: exactly so
/// where q is parallel to r, and with errors of mean 0 elsewhere, over random rotations.
struct RabitqFactors {
  double norm_squared = 0;       ///< |r|^2
  double dot = 0;                ///< <r, y>; 0 for the zero vector
  double code_norm_squared = 0;  ///< |y|^2

  /// |r|^2 / <r, y>, or 0 for the zero vector.
  [[nodiscard]] float scale() const;
  /// The cosine between r and y; 1 for the zero vector.
  [[nodiscard]] double cosine() const;
  /// |error of <q, r>| / |q| of one standard deviation at most, of vectors of `dim` dimensions.
  /// Errors are nearly normal: beyond 1.9 of these in 6 % of pairs, beyond 3 in 0.3 %.
  [[nodiscard]] float deviation(std::uint32_t dim) const;
};

/// Encodes finite values; `bits` is 1 to 8 and `codes` has room for `r.size()` bytes, one value u
/// each. Vectors without a value of 1e-35 or more count as zero,
/// whose codes are any. Same bits on every instruction level.
RabitqFactors rabitq_encode(std::span<const float> r, std::uint32_t bits, std::uint8_t* codes);

}  // namespace quiver::encoders
