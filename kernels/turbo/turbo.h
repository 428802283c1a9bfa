// Levels of the codes of turbo vectors: from packed codes to floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Exact. Codes are read at any alignment. `out` is `[n]`.
struct TurboKernels {
  /// `out[i] = levels[c]`; `levels` is `[16]`. Code `c` is the low half of byte i / 2 of `codes` if
  /// i is even, else the high half.
  void (*four_bits)(const std::byte* codes, std::size_t n, const float* levels, float* out);
  /// `out[i] = (2 c - 255) * scale`; `codes` is `[n]` bytes.
  void (*eight_bits)(const std::byte* codes, std::size_t n, float scale, float* out);
  /// `out[i] = (2 c - 65535) * scale`; `codes` is `[n]` little-endian numbers of 16 bits.
  void (*sixteen_bits)(const std::byte* codes, std::size_t n, float scale, float* out);
};

}  // namespace quiver
