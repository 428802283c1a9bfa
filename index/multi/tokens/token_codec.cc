#include "index/multi/tokens/token_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "encoders/transforms/random_bits.h"
#include "index/multi/tokens/sections.h"
#include "kernels/kernels.h"

namespace quiver::index::multi {
namespace {

/// Values sampled: 16,384 tokens of 128 dimensions.
constexpr std::size_t kSampleValues = std::size_t{1} << 21;
constexpr std::size_t kMinSampleTokens = 64;

/// 8-bit codes reach kReachFactor times as far as all but kOutlierShare of the sample's
/// coordinates: 4.5 standard deviations of a normal distribution. There the largest error was
/// smallest on tokens of arxiv-3k (at 4 deviations 2.7 times as large, at 5 1.1 times). Widely
/// different lengths are covered; one long token among many is not.
constexpr double kOutlierShare = 1e-4;
constexpr float kReachFactor = 1.16F;
/// Largest level of 4 and 2 bits, in standard deviations (`PackedLevels`).
constexpr float kReach4Bits = 2.7326F;
constexpr float kReach2Bits = 1.5104F;
constexpr float kLargestLevel = 127;

using LevelCodes = std::array<std::uint8_t, 256>;

/// Code with the nearest level, indexed by level + 128; ties go to the higher code.
template <std::size_t n>
constexpr LevelCodes nearest_codes(const std::uint8_t (&levels)[n]) {
  LevelCodes codes{};
  for (int value = 0; value < 256; ++value) {
    std::size_t code = 0;
    while (code + 1 < n && 2 * value >= levels[code] + levels[code + 1]) ++code;
    codes[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(code);
  }
  return codes;
}
constexpr LevelCodes kCodes4Bits = nearest_codes(PackedLevels::k4Bits);
constexpr LevelCodes kCodes2Bits = nearest_codes(PackedLevels::k2Bits);

std::uint8_t byte_of(std::int8_t level) { return static_cast<std::uint8_t>(level + 128); }

/// The level that its code stands for.
float coded(std::int8_t level, std::uint32_t bits) {
  const std::uint8_t byte = byte_of(level);
  if (bits == 4) return static_cast<float>(PackedLevels::k4Bits[kCodes4Bits[byte]]) - 128.0F;
  if (bits == 2) return static_cast<float>(PackedLevels::k2Bits[kCodes2Bits[byte]]) - 128.0F;
  return level;
}

float per_unit(float unit) {
  const float inverse = 1.0F / unit;
  return std::isfinite(inverse) ? inverse : 0.0F;
}

/// `[n, dim]`: all tokens, or a sample picked by `seed`.
std::vector<float> sample_of(const TokenSource& tokens, std::size_t padded_dim,
                             std::uint64_t seed) {
  const std::size_t most = std::max(kMinSampleTokens, kSampleValues / padded_dim);
  const std::size_t n = std::min<std::uint64_t>(most, tokens.n_tokens());
  std::vector<float> sample(n * tokens.dim());
  for (std::size_t i = 0; i < n; ++i) {
    const bool all = n == tokens.n_tokens();
    const std::uint64_t token = all ? i : encoders::random_bits(~seed, i) % tokens.n_tokens();
    tokens.read(token, sample.data() + i * tokens.dim());
  }
  return sample;
}

std::vector<float> mean_of(const std::vector<float>& rows, std::size_t dim) {
  std::vector<double> sums(dim);
  for (std::size_t i = 0; i < rows.size(); ++i) sums[i % dim] += rows[i];
  const auto n = static_cast<double>(std::max<std::size_t>(1, rows.size() / dim));
  std::vector<float> mean(dim);
  std::transform(sums.begin(), sums.end(), mean.begin(),
                 [n](double sum) { return static_cast<float>(sum / n); });
  return mean;
}

void subtract(const float* token, const std::vector<float>& mean, float* out) {
  for (std::size_t d = 0; d < mean.size(); ++d) out[d] = token[d] - mean[d];
}

std::vector<float> rotated_sample(std::vector<float> rows, const TokenCodec& codec) {
  const std::size_t dim = codec.facts().dim;
  const std::size_t padded_dim = codec.facts().padded_dim;
  std::vector<float> rotated(rows.size() / dim * padded_dim);
  for (std::size_t i = 0; i < rows.size() / dim; ++i) {
    float* row = rows.data() + i * dim;
    subtract(row, codec.mean(), row);
    codec.rotation().apply(row, rotated.data() + i * padded_dim);
  }
  return rotated;
}

double squares_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return sum;
}

/// Largest absolute value, without the share `kOutlierShare` of the largest.
float reach_of(std::vector<float> values) {
  const auto n_beyond =
      static_cast<std::size_t>(static_cast<double>(values.size()) * kOutlierShare);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(n_beyond);
  std::nth_element(values.begin(), at, values.end(),
                   [](float a, float b) { return std::abs(a) > std::abs(b); });
  return std::abs(*at);
}

/// Drops outliers, so that a few tokens of another length do not set the scale of all. Leaves a
/// multiple of 16 values, as kernels need.
void drop_beyond(float reach, std::vector<float>& values) {
  std::erase_if(values, [reach](float value) { return std::abs(value) > reach; });
  values.resize(values.size() / 16 * 16);
}

bool is_codec(const CodecFacts& facts, std::uint32_t dim) {
  const bool known_bits = facts.bits == 8 || facts.bits == 4 || facts.bits == 2;
  return facts.dim == dim && known_bits && facts.rotation_version == encoders::Rotation::kVersion &&
         facts.padded_dim == encoders::Rotation(dim, 0).padded_dim() && std::isfinite(facts.unit) &&
         std::isfinite(facts.step);
}

}  // namespace

TokenCodec::TokenCodec(const CodecFacts& facts, std::vector<float> mean)
    : facts_(facts), mean_(std::move(mean)), rotation_(facts.dim, facts.rotation_seed) {
  facts_.padded_dim = rotation_.padded_dim();
}

TokenCodec TokenCodec::fit(const TokenSource& tokens, std::uint32_t bits, std::uint64_t seed) {
  CodecFacts facts;
  facts.dim = tokens.dim();
  facts.bits = bits;
  facts.rotation_version = encoders::Rotation::kVersion;
  facts.rotation_seed = seed;
  const encoders::Rotation rotation(facts.dim, seed);
  std::vector<float> sample = sample_of(tokens, rotation.padded_dim(), seed);
  TokenCodec codec(facts, mean_of(sample, facts.dim));
  if (sample.empty()) return codec;
  std::vector<float> rotated = rotated_sample(std::move(sample), codec);
  const float reach = kReachFactor * reach_of(rotated);
  drop_beyond(reach, rotated);
  codec.set_unit(rotated, reach);
  codec.set_step(rotated);
  return codec;
}

void TokenCodec::set_unit(const std::vector<float>& coordinates, float reach) {
  const double mean_square = squares_of(coordinates) / static_cast<double>(coordinates.size());
  facts_.spread = static_cast<float>(std::sqrt(mean_square));
  const float largest = facts_.bits == 4   ? facts_.spread * kReach4Bits
                        : facts_.bits == 2 ? facts_.spread * kReach2Bits
                                           : reach;
  facts_.unit = largest / kLargestLevel;
}

/// With levels y of coordinates x, step = sum x^2 / sum x y: step * <q, y> then has no bias if q
/// points along x, as it does for tokens that are found.
void TokenCodec::set_step(const std::vector<float>& coordinates) {
  std::vector<std::int8_t> levels(coordinates.size());
  kernels().codes.to_bytes(coordinates.data(), coordinates.size(), per_unit(facts_.unit),
                           levels.data());
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double level = coded(levels[i], facts_.bits);
    products += coordinates[i] * level;
    squares += level * level;
  }
  const double total = squares_of(coordinates);
  const double step = products > 0 ? total / products : 0;
  facts_.step = static_cast<float>(step);
  const double error = std::max(0.0, total - 2 * step * products + step * step * squares);
  facts_.error = static_cast<float>(std::sqrt(error / static_cast<double>(coordinates.size())));
}

Result<TokenCodec> TokenCodec::open(const SectionReader& reader, std::uint32_t dim) {
  QV_TRY(const auto facts, reader.get<CodecFacts>(kTokenFacts, 0, 1));
  QV_TRY(const auto mean, reader.get<float>(kTokenMean, 0, dim));
  if (!is_codec(facts[0], dim)) {
    return reader.damaged(fmt::format(
        "codec of {} bits for {} dimensions, {} rotated by version {}; wanted 8, 4 or 2 for {}",
        facts[0].bits, facts[0].dim, facts[0].padded_dim, facts[0].rotation_version, dim));
  }
  return TokenCodec(facts[0], std::vector<float>(mean.begin(), mean.end()));
}

void TokenCodec::write(SectionWriter& writer) const {
  writer.section(kTokenFacts, std::span<const CodecFacts>(&facts_, 1));
  writer.section(kTokenMean, std::span<const float>(mean_));
}

TokenEncoder::TokenEncoder(const TokenCodec& codec)
    : codec_(codec),
      centred_(codec.facts().dim),
      rotated_(codec.facts().padded_dim),
      levels_(codec.facts().padded_dim) {}

void TokenEncoder::encode(const float* token, std::byte* out) {
  const CodecFacts& facts = codec_.facts();
  subtract(token, codec_.mean(), centred_.data());
  codec_.rotation().apply(centred_.data(), rotated_.data());
  kernels().codes.to_bytes(rotated_.data(), rotated_.size(), per_unit(facts.unit), levels_.data());
  if (facts.bits == 8) {
    std::transform(levels_.begin(), levels_.end(), out,
                   [](std::int8_t level) { return std::byte{byte_of(level)}; });
    return;
  }
  const LevelCodes& codes = facts.bits == 4 ? kCodes4Bits : kCodes2Bits;
  const std::size_t group_bytes = std::size_t{4} * facts.bits;
  for (std::size_t first = 0; first < levels_.size(); first += 32) {
    for (std::size_t j = 0; j < group_bytes; ++j) {
      unsigned packed = 0;
      for (std::size_t d = j, shift = 0; d < 32; d += group_bytes, shift += facts.bits) {
        packed |= unsigned{codes[byte_of(levels_[first + d])]} << shift;
      }
      *out++ = static_cast<std::byte>(packed);
    }
  }
}

}  // namespace quiver::index::multi
