#include "encoders/codes/turbo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// Rows on disk depend on it.
constexpr std::uint64_t kTurboSeed = 0x715552b0;

constexpr auto kLevels = [] {
  std::array<float, 16> levels{};
  for (std::size_t i = 0; i < 8; ++i) {
    levels[8 + i] = kTurboSizes[i];
    levels[7 - i] = -kTurboSizes[i];
  }
  return levels;
}();

/// Where the largest value of a vector lies, by the outermost level. It is nearest to that level
/// with each of them (2.7326 * .9 > 2.4008). The largest of many normal values is 4.3 times their
/// deviation with 65,536 dimensions: 1.6. Twice as many factors lower the error by 1 %.
constexpr std::array<float, 8> kFactors = {1.0F, 0.9F, 1.08F, 1.17F, 1.27F, 1.37F, 1.48F, 1.6F};

float largest_of(const std::vector<float>& values) {
  return kernels().grid.largest(values.data(), values.size());
}

/// Writes codes of 4 bits, by the factor of `kFactors` with the greatest cosine; returns the length
/// of the levels.
double encode_four(const std::vector<float>& values, std::byte* codes) {
  const auto& kernel = kernels().turbo;
  const float unit = kTurboSizes.back() / largest_of(values);
  float best = unit;
  double best_cosine = -1;  // times the length of `values`, which is the same for all
  double length = 0;
  for (const float factor : kFactors) {
    const TurboSums sums = kernel.measure(values.data(), values.size(), unit * factor);
    const double cosine = sums.dot / double{unit * factor} / std::sqrt(sums.squares);
    if (cosine <= best_cosine) continue;
    best_cosine = cosine;
    best = unit * factor;
    length = std::sqrt(sums.squares);
  }
  kernel.encode(values.data(), values.size(), best, codes);
  return length;
}

/// Writes codes of 8 bits; returns the length of the levels, odd numbers up to 255.
double encode_eight(const std::vector<float>& values, std::byte* bytes) {
  auto* codes = reinterpret_cast<std::uint8_t*>(bytes);
  kernels().grid.encode(values.data(), values.size(), 127.5F / largest_of(values), 128, codes);
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int32_t level = 2 * codes[i] - 255;
    squares += static_cast<std::uint32_t>(level * level);
  }
  return std::sqrt(static_cast<double>(squares));
}

/// Writes codes of 16 bits, little-endian; returns the length of the levels, odd numbers up to
/// 65535.
double encode_sixteen(const std::vector<float>& values, std::byte* codes) {
  constexpr std::int64_t kMost = 65535;
  const double factor = double{kMost} / double{largest_of(values)};
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double place = (double{values[i]} * factor + (kMost + 1)) / 2;  // at least 0.49
    const std::int64_t code = std::min(static_cast<std::int64_t>(place), kMost);
    codes[2 * i] = static_cast<std::byte>(code & 255);
    codes[2 * i + 1] = static_cast<std::byte>(code >> 8);
    const auto level = static_cast<double>(2 * code - kMost);
    squares += level * level;
  }
  return std::sqrt(squares);
}

float scale_of(const std::byte* row) {
  float scale = 0;
  std::memcpy(&scale, row, sizeof(scale));
  return scale;
}

/// Levels times `scale`.
void to_levels(const std::byte* row, std::uint32_t dim, std::uint32_t bits, float scale,
               float* out) {
  const auto& kernel = kernels().turbo;
  const std::byte* codes = row + sizeof(float);
  if (bits == 8) return kernel.eight_bits(codes, dim, scale, out);
  if (bits == 16) return kernel.sixteen_bits(codes, dim, scale, out);
  std::array<float, 16> levels = kLevels;
  for (float& level : levels) level *= scale;
  kernel.four_bits(codes, dim, levels.data(), out);
}

}  // namespace

TurboCode::TurboCode(std::uint32_t dim, std::uint32_t bits)
    : bits_(bits), rotation_(dim, kTurboSeed) {}

void TurboCode::encode(const float* in, RowLength length, std::byte* row) const {
  thread_local std::vector<float> values;
  const auto& convert = kernels().convert;
  const double norm = convert.norm(in, dim());
  std::memset(row, 0, row_bytes());
  if (norm == 0) return;
  values.resize(dim());
  convert.scale(in, dim(), 1.0 / norm, values.data());
  rotation_.apply(values.data(), values.data());
  std::byte* codes = row + sizeof(float);
  const double of_levels = bits_ == 4   ? encode_four(values, codes)
                           : bits_ == 8 ? encode_eight(values, codes)
                                        : encode_sixteen(values, codes);
  // Of length 1 the scale is a function of the codes alone, and needs no rounding.
  const float scale = length == RowLength::kOne ? static_cast<float>(1.0 / of_levels)
                                                : short_scale(norm / of_levels);
  if (scale < std::numeric_limits<float>::min()) {
    std::memset(row, 0, row_bytes());
    return;
  }
  std::memcpy(row, &scale, sizeof(scale));
}

// Scaled last: sums of the inverse rotation are large, and large vectors would overflow.
void TurboCode::decode(const std::byte* row, float* out) const {
  const float scale = scale_of(row);
  if (scale == 0) {
    std::fill_n(out, dim(), 0.0F);
    return;
  }
  to_levels(row, dim(), bits_, 1.0F, out);
  rotation_.apply_inverse(out, out);
  for (std::uint32_t i = 0; i < dim(); ++i) out[i] *= scale;
}

void TurboCode::decode_rotated(const std::byte* row, std::uint32_t dim, std::uint32_t bits,
                               float* out) {
  const float scale = scale_of(row);
  if (scale == 0) {
    std::fill_n(out, dim, 0.0F);
    return;
  }
  to_levels(row, dim, bits, scale, out);
}

}  // namespace quiver::encoders
