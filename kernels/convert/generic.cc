// The other levels have the same bits. Conversions are exact or correctly rounded. Products of two
// f32 are exact in f64, so only the order of the norm's 16 partial sums must agree.
#include <cmath>

#include "kernels/float8.h"
#include "kernels/half.h"
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

std::size_t f32_to_f16(const float* in, std::size_t n, std::uint16_t* out) {
  std::size_t n_overflowed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = float_to_half(in[i]);
    n_overflowed += std::isfinite(in[i]) && (out[i] & 0x7fffu) == 0x7c00u;
  }
  return n_overflowed;
}

void f16_to_f32(const std::uint16_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = half_to_float(in[i]);
}

void u8_to_f32(const std::uint8_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i];
}

std::size_t f32_to_u8(const float* in, std::size_t n, std::uint8_t* out) {
  std::size_t n_unfit = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool fits = in[i] >= 0 && in[i] <= 255 && in[i] == std::trunc(in[i]);
    out[i] = fits ? static_cast<std::uint8_t>(in[i]) : 0;
    n_unfit += fits ? 0 : 1;
  }
  return n_unfit;
}

void i8_to_f32(const std::int8_t* in, std::size_t n, float scale, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]) * scale;
}

void f32_to_bf16(const float* in, std::size_t n, std::uint16_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = float_to_bf16(in[i]);
}

void bf16_to_f32(const std::uint16_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = bf16_to_float(in[i]);
}

void e4m3_to_f32(const std::uint8_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = from_float8<E4m3>(in[i]);
}

void e5m2_to_f32(const std::uint8_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = from_float8<E5m2>(in[i]);
}

void bits_to_f32(const std::uint8_t* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = (in[i / 8] >> i % 8 & 1) != 0 ? 1.0f : -1.0f;
}

double norm(const float* in, std::size_t n) {
  double sums[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const double value = in[i];
    sums[i % kLanes] += value * value;
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return std::sqrt(sums[0]);
}

void scale(const float* in, std::size_t n, double factor, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i] * factor);
}

}  // namespace

constinit const ConvertKernels kConvertKernels = {
    f32_to_f16,  f16_to_f32,  u8_to_f32,   f32_to_u8,   i8_to_f32, f32_to_bf16,
    bf16_to_f32, e4m3_to_f32, e5m2_to_f32, bits_to_f32, norm,      scale};

}  // namespace quiver::generic
