#pragma once

#include <cstdint>
#include <span>

namespace quiver::encoders {

/// Codes of 1 to 8 bits a dimension that estimate scalar products without bias (RaBitQ: Gao and
/// Long, SIGMOD 2024; more bits: Gao et al., SIGMOD 2025).
///
/// A vector r, usually a rotated residual, is kept as the grid point y with the smallest angle to
/// it. The grid has the coordinates `u - (2^bits - 1) / 2`, u in 0 .. 2^bits - 1. Then <q, r> is
/// about `scale() * <q, y>`: exactly if q is parallel to r, otherwise with errors of mean 0 over
/// random rotations.
struct RabitqFactors {
  double norm_squared = 0;       ///< |r|^2
  double dot = 0;                ///< <r, y>; 0 for the zero vector
  double code_norm_squared = 0;  ///< |y|^2

  /// |r|^2 / <r, y>, or 0 for the zero vector.
  [[nodiscard]] float scale() const;
  /// Cosine of the angle between r and y; 1 for the zero vector.
  [[nodiscard]] double cosine() const;
  /// Upper bound of the standard deviation of the error of <q, r> / |q|, for `dim` dimensions.
  /// Errors are nearly normal: 6 % of pairs exceed 1.9 deviations, 0.3 % exceed 3.
  [[nodiscard]] float deviation(std::uint32_t dim) const;
};

/// Encodes finite values; `bits` is 1 to 8. Writes `r.size()` bytes of `codes`, one value u each. A
/// vector whose values are all below 1e-35 counts as zero; its codes are arbitrary. Same bits on
/// every instruction level.
RabitqFactors rabitq_encode(std::span<const float> r, std::uint32_t bits, std::uint8_t* codes);

}  // namespace quiver::encoders
