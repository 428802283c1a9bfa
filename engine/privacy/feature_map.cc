#include "engine/privacy/feature_map.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "encoders/transforms/random_bits.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::engine {
namespace {

/// Two independent normal numbers (Box and Muller 1958).
struct NormalPair {
  double first = 0;
  double second = 0;
};

NormalPair normal_pair(std::uint64_t seed, std::uint64_t i) {
  const double length = std::sqrt(-2 * std::log1p(-encoders::random_unit(seed, 2 * i)));
  const double angle = 2 * std::numbers::pi * encoders::random_unit(seed, 2 * i + 1);
  return {length * std::cos(angle), length * std::sin(angle)};
}

std::vector<float> draw_frequencies(const PrivateFeatures& features) {
  if (features.kernel == PrivateKernel::kCosine) return {};
  std::vector<float> frequencies(std::size_t{features.n_features} / 2 * features.dim);
  for (std::size_t i = 0; i < frequencies.size(); i += 2) {
    const auto pair = normal_pair(features.seed, i / 2);
    frequencies[i] = static_cast<float>(pair.first / features.bandwidth);
    if (i + 1 < frequencies.size()) {
      frequencies[i + 1] = static_cast<float>(pair.second / features.bandwidth);
    }
  }
  return frequencies;
}

/// Angles become cosines and sines. An angle beyond all numbers counts as 0.
void to_waves(std::size_t n_frequencies, float* row) {
  const float factor = 1 / std::sqrt(static_cast<float>(n_frequencies));
  for (std::size_t j = 0; j < n_frequencies; ++j) {
    const float angle = std::isfinite(row[j]) ? row[j] : 0;
    row[j] = factor * std::cos(angle);
    row[n_frequencies + j] = factor * std::sin(angle);
  }
}

}  // namespace

FeatureMap::FeatureMap(const PrivateFeatures& features)
    : features_(features), frequencies_(draw_frequencies(features)) {}

void FeatureMap::apply(float* vectors, std::size_t n, float* out) const {
  const std::size_t dim = features_.dim;
  if (features_.is_normalised) {
    for (std::size_t i = 0; i < n; ++i) index::to_unit_length(vectors + i * dim, dim);
  }
  if (features_.kernel == PrivateKernel::kCosine) {
    std::copy_n(vectors, n * dim, out);
    return;
  }
  const std::size_t n_frequencies = n_features() / 2;
  const auto& dots = kernels().dense(Similarity::kDot, RowType::kF32);
  dots.tile({vectors, dim, n}, features_.dim,
            reinterpret_cast<const std::byte*>(frequencies_.data()), dim * sizeof(float),
            n_frequencies, {out, n_features()});
  for (std::size_t i = 0; i < n; ++i) to_waves(n_frequencies, out + i * n_features());
}

void add_on_grid(std::span<const float> features, std::span<std::int64_t> sums) {
  constexpr auto kGrid = static_cast<float>(kGridOfFeatures);
  constexpr auto kMaxSquare = static_cast<std::uint64_t>(kGridOfFeatures * kGridOfFeatures);
  QV_CHECK(features.size() <= kMaxPrivateFeatures);  // or squares might overflow
  thread_local std::vector<std::int32_t> rounded;
  rounded.resize(features.size());
  // Slightly shortened, so that rounding does not lengthen them beyond 1.
  for (float scale = kGrid * (1 - 0x1p-20F);; scale /= 2) {
    std::uint64_t square = 0;
    for (std::size_t i = 0; i < features.size(); ++i) {
      const float value = std::clamp(features[i] * scale, 1 - kGrid, kGrid - 1);
      rounded[i] = std::isnan(value) ? 0 : static_cast<std::int32_t>(std::lrint(value));
      square += static_cast<std::uint64_t>(std::int64_t{rounded[i]} * rounded[i]);
    }
    if (square <= kMaxSquare) break;
  }
  for (std::size_t i = 0; i < features.size(); ++i) sums[i] += rounded[i];
}

}  // namespace quiver::engine
