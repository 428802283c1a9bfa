// What rows of codes with one scale share.
#pragma once

#include <bit>
#include <cstdint>

namespace quiver::encoders {

/// Length of what is decoded: that of the vector, or 1.
enum class RowLength : std::uint8_t { kKept, kOne };

/// Rounds the scale of a row to 16 significant bits. Vectors whose lengths differ by rounding then
/// have the same scale, and products with codes of 8 bits are exact.
[[nodiscard]] inline float short_scale(double scale) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scale));
  return std::bit_cast<float>((bits + 0x80U) & ~0xffU);
}

}  // namespace quiver::encoders
