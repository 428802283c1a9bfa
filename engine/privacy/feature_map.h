// Features whose scalar product is a kernel, or nearly, and sums of them as whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/private_sums.h"

namespace quiver::engine {

/// Features are rounded to multiples of 1 / kGridOfFeatures before they are summed: whole numbers
/// add up exactly, in any order, so one point changes a sum by its own features and nothing else.
inline constexpr std::int64_t kGridOfFeatures = std::int64_t{1} << 24;
/// A point counts as a quarter of a unit vector beside its features: for 3 % more noise in sums
/// the count comes with four times their noise.
inline constexpr std::int64_t kGridOfCount = kGridOfFeatures / 4;

/// phi(x) with |phi(x)| <= 1. Cosine: x scaled to length 1. Gaussian: random Fourier features
/// (Rahimi and Recht, NeurIPS 2007), of J = n_features / 2 frequencies w from N(0, 1/bandwidth^2):
/// cos(<w_j, x>) / sqrt(J), then sin(<w_j, x>) / sqrt(J). Recreated from its parameters. Immutable
/// and thread-safe.
class FeatureMap {
 public:
  /// Version of the map from seed to frequencies. Files depend on it.
  static constexpr std::uint32_t kVersion = 1;

  explicit FeatureMap(const PrivateFeatures& features);

  [[nodiscard]] const PrivateFeatures& params() const { return features_; }
  [[nodiscard]] std::size_t n_features() const { return features_.n_features; }
  /// `vectors`: `[n, dim]`, scaled in place if the features want so. `out`: `[n, n_features]`.
  void apply(float* vectors, std::size_t n, float* out) const;

 private:
  const PrivateFeatures features_;
  std::vector<float> frequencies_;  ///< `[J, dim]`; empty for the cosine
};

/// Adds the features of one point, `[sums.size()]`, rounded to the grid. What is added is never
/// longer than kGridOfFeatures, whatever `features` holds: privacy rests on that.
void add_on_grid(std::span<const float> features, std::span<std::int64_t> sums);

}  // namespace quiver::engine
