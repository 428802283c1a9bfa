#include "encoders/codes/int8_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

constexpr float kLargestCode = 127;

bool are_codes(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) {
    return value >= -128 && value <= kLargestCode && value == std::trunc(value);
  });
}

/// Writes the whole numbers nearest to `in[i] * factor`, which are at most 128 in size.
void write_codes(std::span<const float> in, float factor, std::byte* codes) {
  /// Floats from 2^23 to 2^24 are the whole numbers: adding this one rounds to nearest even.
  constexpr float kMagic = 0x1.8p23F;
  for (std::size_t i = 0; i < in.size(); ++i) {
    codes[i] = static_cast<std::byte>(std::bit_cast<std::uint32_t>(in[i] * factor + kMagic) & 255U);
  }
}

double length_of(const std::byte* codes, std::size_t n) {
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t code = static_cast<std::int8_t>(codes[i]);
    squares += static_cast<std::uint32_t>(code * code);
  }
  return std::sqrt(static_cast<double>(squares));
}

void write_scale(float scale, std::byte* row) { std::memcpy(row, &scale, sizeof(scale)); }

}  // namespace

void encode_int8(std::span<const float> in, RowLength length, std::byte* row) {
  std::byte* codes = row + sizeof(float);
  const float largest = kernels().grid.largest(in.data(), in.size());
  const float scale = short_scale(double{largest} / double{kLargestCode});
  if (length == RowLength::kKept && are_codes(in)) {
    write_scale(1, row);
    return write_codes(in, 1, codes);
  }
  if (scale < std::numeric_limits<float>::min()) {
    std::memset(row, 0, sizeof(float) + in.size());
    return;
  }
  write_codes(in, 1 / scale, codes);
  // Of length 1 the scale is a function of the codes alone, and needs no rounding.
  write_scale(
      length == RowLength::kOne ? static_cast<float>(1 / length_of(codes, in.size())) : scale, row);
}

void decode_int8(const std::byte* row, std::size_t dim, float* out) {
  float scale = 0;
  std::memcpy(&scale, row, sizeof(scale));
  const auto* codes = reinterpret_cast<const std::int8_t*>(row + sizeof(scale));
  kernels().convert.i8_to_f32(codes, dim, scale, out);
}

}  // namespace quiver::encoders
