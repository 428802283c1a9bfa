#pragma once

#include <cstddef>
#include <cstdint>

#include "encoders/codes/row_scale.h"
#include "encoders/transforms/square_rotation.h"

namespace quiver::encoders {

/// The code of a turbo vector: its form on disk, in memory and on the way back to the user.
///
/// The vector is rotated (SquareRotation), which makes its values look normally distributed. Each
/// is then replaced by the nearest of 16 levels (4 bits; Lloyd 1982, Max 1960) or of 256 or 65,536
/// evenly spaced ones (8, 16 bits). A row is the f32 scale of the levels, then the codes. The scale
/// keeps the length of the vector.
///
/// With 4 bits the encoder tries several factors and keeps the one with the greatest cosine. The
/// largest value always gets the outermost level. So a decoded vector has its own code as the one
/// with cosine 1, and `encode` gives the same bytes again (docs/decisions/0039).
///
/// All instruction levels give the same bits. Thread-safe.
class TurboCode {
 public:
  /// `bits`: 4, 8 or 16.
  TurboCode(std::uint32_t dim, std::uint32_t bits);

  [[nodiscard]] std::uint32_t dim() const { return rotation_.dim(); }
  [[nodiscard]] std::uint32_t bits() const { return bits_; }
  [[nodiscard]] const SquareRotation& rotation() const { return rotation_; }
  [[nodiscard]] std::size_t row_bytes() const {
    return sizeof(float) + (std::size_t{dim()} * bits_ + 7) / 8;
  }

  /// `in`: `[dim]`, finite, at most 3e38 long. `length`: of what is decoded, unless `in` is zero.
  /// Vectors whose scale would be below the smallest normal f32 become zero.
  void encode(const float* in, RowLength length, std::byte* row) const;
  /// `out`: `[dim]`.
  void decode(const std::byte* row, float* out) const;
  /// The vector before it is rotated back. Scalar products and Euclidean distances to rotated
  /// queries are those of `decode` to queries.
  static void decode_rotated(const std::byte* row, std::uint32_t dim, std::uint32_t bits,
                             float* out);

 private:
  std::uint32_t bits_;
  SquareRotation rotation_;
};

}  // namespace quiver::encoders
