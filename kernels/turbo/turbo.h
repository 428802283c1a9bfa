// Levels of turbo vectors: from values to packed codes, and from codes to floats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quiver {

/// Sizes of the levels of 4 bits: the best quantizer of a normal distribution (Max 1960, table 1,
/// 16 levels). Codes 0 to 7 are the negative levels, largest first; codes 8 to 15 the positive
/// ones.
inline constexpr std::array<float, 8> kTurboSizes = {0.1284F, 0.3881F, 0.6568F, 0.9424F,
                                                     1.2562F, 1.6181F, 2.0690F, 2.7326F};
/// Between one size and the next: a value beyond it has the next.
inline constexpr std::array<float, 7> kTurboBounds = [] {
  std::array<float, 7> bounds{};
  for (std::size_t i = 0; i < 7; ++i) bounds[i] = (kTurboSizes[i] + kTurboSizes[i + 1]) / 2;
  return bounds;
}();

/// Sums over values and the sizes of their levels.
struct TurboSums {
  double dot = 0;
  double squares = 0;  ///< of the sizes
};

/// Exact. Codes are read at any alignment. `out` is `[n]`.
struct TurboKernels {
  /// `out[i] = levels[c]`; `levels` is `[16]`. Code `c` is the low half of byte i / 2 of `codes` if
  /// i is even, else the high half.
  void (*four_bits)(const std::byte* codes, std::size_t n, const float* levels, float* out);
  /// `out[i] = (2 c - 255) * scale`; `codes` is `[n]` bytes.
  void (*eight_bits)(const std::byte* codes, std::size_t n, float scale, float* out);
  /// `out[i] = (2 c - 65535) * scale`; `codes` is `[n]` little-endian numbers of 16 bits.
  void (*sixteen_bits)(const std::byte* codes, std::size_t n, float scale, float* out);
  /// Sums over `|in[i]| * factor`. In f32, in 16 lanes; every 128 values move to f64.
  TurboSums (*measure)(const float* in, std::size_t n, float factor);
  /// Writes the codes of the levels nearest to `in[i] * factor`, in the layout of `four_bits`.
  void (*encode)(const float* in, std::size_t n, float factor, std::byte* codes);
};

}  // namespace quiver
