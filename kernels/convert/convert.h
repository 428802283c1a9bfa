// Conversions between types of values, and normalisation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// Exact. `in` and `out` must not overlap, except in `scale`, where they may be equal.
struct ConvertKernels {
  /// Rounds to nearest even. Returns how many finite values became infinite (|x| >= 65520).
  std::size_t (*f32_to_f16)(const float* in, std::size_t n, std::uint16_t* out);
  void (*f16_to_f32)(const std::uint16_t* in, std::size_t n, float* out);
  void (*u8_to_f32)(const std::uint8_t* in, std::size_t n, float* out);
  /// Returns how many values are not whole numbers from 0 to 255; these become 0.
  std::size_t (*f32_to_u8)(const float* in, std::size_t n, std::uint8_t* out);
  /// `out[i] = in[i] * scale`
  void (*i8_to_f32)(const std::int8_t* in, std::size_t n, float scale, float* out);
  /// Rounds to nearest even; NaN stays NaN.
  void (*f32_to_bf16)(const float* in, std::size_t n, std::uint16_t* out);
  void (*bf16_to_f32)(const std::uint16_t* in, std::size_t n, float* out);
  /// Eight-bit floats (kernels/float8.h).
  void (*e4m3_to_f32)(const std::uint8_t* in, std::size_t n, float* out);
  void (*e5m2_to_f32)(const std::uint8_t* in, std::size_t n, float* out);
  /// 1 where bit i % 8 of byte i / 8 is set, else -1.
  void (*bits_to_f32)(const std::uint8_t* in, std::size_t n, float* out);
  /// Euclidean length. Sums in f64, so that squares neither overflow nor vanish.
  double (*norm)(const float* in, std::size_t n);
  /// `out[i] = float(double(in[i]) * factor)`. `scale(v, n, 1.0 / norm(v, n), v)` normalises unless
  /// the norm is 0.
  void (*scale)(const float* in, std::size_t n, double factor, float* out);
};

}  // namespace quiver
