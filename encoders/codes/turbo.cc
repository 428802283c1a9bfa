#include "encoders/codes/turbo.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// Rows on disk depend on it.
constexpr std::uint64_t kTurboSeed = 0x715552b0;

/// Levels of 4 bits by size: the centres of the best quantizer of a normal distribution (Max 1960,
/// table 1, 16 levels). Codes 0 to 7 are the negative ones, largest first.
constexpr std::array<float, 8> kSizes = {0.1284F, 0.3881F, 0.6568F, 0.9424F,
                                         1.2562F, 1.6181F, 2.0690F, 2.7326F};

constexpr auto kLevels = [] {
  std::array<float, 16> levels{};
  for (std::size_t i = 0; i < 8; ++i) {
    levels[8 + i] = kSizes[i];
    levels[7 - i] = -kSizes[i];
  }
  return levels;
}();

/// Between one size and the next.
constexpr auto kBounds = [] {
  std::array<float, 7> bounds{};
  for (std::size_t i = 0; i < 7; ++i) bounds[i] = (kSizes[i] + kSizes[i + 1]) / 2;
  return bounds;
}();

/// Where the largest value of a vector lies, by the outermost level. It is nearest to that level
/// with each of them (2.7326 * .9 > 2.4008). The largest of many normal values is 4.3 times their
/// deviation with 65,536 dimensions: 1.6. Twice as many factors lower the error by 1 %.
constexpr std::array<float, 8> kFactors = {1.0F, 0.9F, 1.08F, 1.17F, 1.27F, 1.37F, 1.48F, 1.6F};

std::uint32_t size_of(float value) {
  std::uint32_t size = 0;
  for (const float bound : kBounds) size += value > bound ? 1 : 0;
  return size;
}

/// Sums over values and their levels.
struct LevelSums {
  double dot = 0;
  double squares = 0;
};

/// In eight partial sums, so that loops run over registers.
LevelSums measure(const std::vector<float>& values, float factor) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> dot{};
  std::array<double, kLanes> squares{};
  const auto add = [&](std::size_t lane, float value) {
    const float scaled = std::abs(value) * factor;
    float size = kSizes[0];
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      size = scaled > kBounds[i] ? kSizes[i + 1] : size;
    }
    dot[lane] += double{scaled} * double{size};
    squares[lane] += double{size} * double{size};
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) add(i % kLanes, values[i]);
  LevelSums sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.dot += dot[lane];
    sums.squares += squares[lane];
  }
  return sums;
}

float largest_of(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The factor of `kFactors` with the greatest cosine, for values as they are.
float best_factor(const std::vector<float>& values) {
  const float unit = kSizes.back() / largest_of(values);
  float best = unit;
  double best_cosine = -1;  // times the length of `values`, which is the same for all
  for (const float factor : kFactors) {
    const LevelSums sums = measure(values, unit * factor);
    const double cosine = sums.dot / double{unit * factor} / std::sqrt(sums.squares);
    if (cosine <= best_cosine) continue;
    best_cosine = cosine;
    best = unit * factor;
  }
  return best;
}

/// Writes codes of 4 bits; returns the length of the levels.
double encode_four(const std::vector<float>& values, std::byte* codes) {
  const float factor = best_factor(values);
  double squares = 0;
  std::memset(codes, 0, (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t size = size_of(std::abs(values[i]) * factor);
    const std::uint32_t code = values[i] < 0 ? 7 - size : 8 + size;
    codes[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? code : code << 4);
    squares += double{kSizes[size]} * double{kSizes[size]};
  }
  return std::sqrt(squares);
}

/// Writes codes of 8 or 16 bits, little-endian; returns the length of the levels, odd numbers up to
/// 2^bits - 1.
double encode_even(const std::vector<float>& values, std::uint32_t bits, std::byte* codes) {
  const double most = (1 << bits) - 1;
  const double factor = most / double{largest_of(values)};
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = std::floor((double{values[i]} * factor + most + 1) / 2);
    const auto code = static_cast<std::uint32_t>(std::clamp(step, 0.0, most));
    codes[i * bits / 8] = static_cast<std::byte>(code & 255);
    if (bits == 16) codes[2 * i + 1] = static_cast<std::byte>(code >> 8);
    const double level = 2.0 * code - most;
    squares += level * level;
  }
  return std::sqrt(squares);
}

/// Rounds to 16 significant bits, so that lengths that differ by rounding have the same scale.
float rounded(double scale) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scale));
  return std::bit_cast<float>((bits + 0x80U) & ~0xffU);
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

void TurboCode::encode(const float* in, Length length, std::byte* row) const {
  thread_local std::vector<float> values;
  const auto& convert = kernels().convert;
  const double norm = convert.norm(in, dim());
  std::memset(row, 0, row_bytes());
  if (norm == 0) return;
  values.resize(dim());
  convert.scale(in, dim(), 1.0 / norm, values.data());
  rotation_.apply(values.data(), values.data());
  std::byte* codes = row + sizeof(float);
  const double of_levels =
      bits_ == 4 ? encode_four(values, codes) : encode_even(values, bits_, codes);
  // Of length 1 the scale is a function of the codes alone, and needs no rounding.
  const float scale =
      length == Length::kOne ? static_cast<float>(1.0 / of_levels) : rounded(norm / of_levels);
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
