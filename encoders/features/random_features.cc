#include "encoders/features/random_features.h"

#include <algorithm>
#include <cmath>

#include "encoders/transforms/random_bits.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// Partial sums, so that the compiler can vectorise; their order is fixed.
constexpr std::size_t kLanes = 16;

/// Error function for x >= 0, within 3e-7 (Abramowitz and Stegun 1964, 7.1.28). It needs products,
/// sums and one quotient only, whose bits do not depend on a library.
inline float erf_of(float x) {
  float p = 0.0000430638F;
  for (const float c :
       {0.0002765672F, 0.0001520143F, 0.0092705272F, 0.0422820123F, 0.0705230784F, 1.0F}) {
    p = p * x + c;
  }
  for (int i = 0; i < 4; ++i) p *= p;  // may become infinite, which gives 1
  return 1.0F - 1.0F / p;
}

/// GELU: x times the normal distribution function at x.
inline float gelu(float x) {
  constexpr float kHalfRoot = 0.70710678F;  // sqrt(1/2)
  return 0.5F * x * (1.0F + std::copysign(erf_of(std::abs(x) * kHalfRoot), x));
}

struct Norm {
  float mean = 0;
  float factor = 0;  ///< 1 / deviation; 0 without one
};

/// `n` is a multiple of `kLanes`.
Norm norm_of(const float* values, std::size_t n) {
  float sums[kLanes] = {};
  float squares[kLanes] = {};
  for (std::size_t i = 0; i < n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      sums[lane] += value;
      squares[lane] += value * value;
    }
  }
  double sum = 0;
  double square = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum += sums[lane];
    square += squares[lane];
  }
  const double mean = sum / static_cast<double>(n);
  const double variance = square / static_cast<double>(n) - mean * mean;
  if (variance <= 0) return {};
  return {static_cast<float>(mean), static_cast<float>(1.0 / std::sqrt(variance))};
}

}  // namespace

RandomFeatures::RandomFeatures(std::uint32_t token_dim, std::uint32_t n_features,
                               std::uint64_t seed)
    : token_dim_(token_dim), n_features_(n_features) {
  do {
    rotations_.emplace_back(token_dim, random_bits(seed, rotations_.size()));
  } while (room() < n_features);
}

std::size_t RandomFeatures::room() const {
  return rotations_.size() * rotations_.front().padded_dim();
}

void RandomFeatures::rotate(const float* unit, float* out) const {
  for (const Rotation& rotation : rotations_) {
    rotation.apply(unit, out);
    out += rotation.padded_dim();
  }
}

void RandomFeatures::sum(const TokenSet& tokens, float* out) const {
  const ConvertKernels& convert = kernels().convert;
  std::vector<float> unit(token_dim_);
  std::vector<float> values(room());
  std::fill_n(out, n_features_, 0.0F);
  for (std::size_t t = 0; t < tokens.n; ++t) {
    const float* token = tokens.values + t * token_dim_;
    const double length = convert.norm(token, token_dim_);
    if (length == 0) continue;
    convert.scale(token, token_dim_, 1.0 / length, unit.data());
    rotate(unit.data(), values.data());
    const Norm norm = norm_of(values.data(), n_features_);
    const auto weight = static_cast<float>(length * std::sqrt(2.0 / n_features_));
    for (std::size_t i = 0; i < n_features_; ++i) {
      out[i] += weight * gelu((values[i] - norm.mean) * norm.factor);
    }
  }
}

}  // namespace quiver::encoders
