// Codes of one bit a dimension, compared by the number of bits that differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quiver::encoders::osq {

[[nodiscard]] constexpr std::size_t sign_bytes(std::size_t n_values) { return (n_values + 7) / 8; }

/// Bit d % 8 of byte d / 8 is 1 if `values[d]` > 0. Of a row's principal coordinates this is the
/// sign of the standardised value, because their means are 0. Writes `sign_bytes(values.size())`
/// bytes.
inline void write_signs(std::span<const float> values, std::byte* out) {
  for (std::size_t first = 0; first < values.size(); first += 8) {
    unsigned byte = 0;
    for (std::size_t d = first; d < values.size() && d < first + 8; ++d) {
      byte |= (values[d] > 0 ? 1U : 0U) << (d - first);
    }
    out[first / 8] = static_cast<std::byte>(byte);
  }
}

}  // namespace quiver::encoders::osq
