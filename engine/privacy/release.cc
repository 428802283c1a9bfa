#include "engine/privacy/release.h"

#include <algorithm>
#include <cmath>

#include "engine/privacy/calibration.h"
#include "engine/privacy/discrete_gaussian.h"

namespace quiver::engine {
namespace {

constexpr auto kFeatureUnits = static_cast<double>(kGridOfFeatures);
constexpr auto kCountUnits = static_cast<double>(kGridOfCount);
/// A mean is told if the count is so many of its deviations above 0.
constexpr double kDeviationsOfCount = 5;

}  // namespace

double Release::count_estimate() const { return static_cast<double>(count) / kCountUnits; }
double Release::count_deviation() const { return static_cast<double>(noise) / kCountUnits; }
double Release::noise_deviation() const { return static_cast<double>(noise) / kFeatureUnits; }

std::uint64_t noise_on_grid(const PrivacyAmount& cost) {
  const double sensitivity = std::hypot(kFeatureUnits, kCountUnits);
  const double deviation = noise_deviation(cost.epsilon(), cost.delta()) * sensitivity;
  return static_cast<std::uint64_t>(std::ceil(deviation)) + 1;  // what rounding may have taken
}

Release make_release(const PrivateFeatures& features, const PrivacyAmount& cost, FeatureSums sums,
                     RandomWords& random) {
  Release release{features, noise_on_grid(cost), std::move(sums.sums), 0};
  for (std::int64_t& sum : release.sums) sum += discrete_gaussian(release.noise, random);
  release.count = static_cast<std::int64_t>(sums.n_points) * kGridOfCount +
                  discrete_gaussian(release.noise, random);
  return release;
}

/// `features`: those of the query. Each frequency has a share of the sum; the shares are
/// independent and have the same distribution.
double ReleaseReader::variance_of_features(std::span<const float> features) const {
  const std::size_t n = features.size() / 2;
  double total = 0;
  double total_of_squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double share = features[j] * static_cast<double>(release_.sums[j]) +
                         features[n + j] * static_cast<double>(release_.sums[n + j]);
    total += share;
    total_of_squares += share * share;
  }
  const auto count = static_cast<double>(n);
  const double variance = (total_of_squares - total * total / count) / (count - 1);
  return std::max(0.0, count * variance) / (kFeatureUnits * kFeatureUnits);
}

PrivateEstimate ReleaseReader::estimate(std::span<const float> vector) const {
  std::vector<float> scaled(vector.begin(), vector.end());
  std::vector<float> features(map_.n_features());
  map_.apply(scaled.data(), 1, features.data());
  double product = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    product += features[i] * static_cast<double>(release_.sums[i]);
  }
  PrivateEstimate found;
  found.sum = product / kFeatureUnits;
  double variance = release_.noise_deviation() * release_.noise_deviation();
  if (release_.features.kernel == PrivateKernel::kGaussian) {
    variance = std::max(variance, variance_of_features(features));
  }
  found.deviation = std::sqrt(variance);
  const double count = release_.count_estimate();
  if (count < kDeviationsOfCount * release_.count_deviation()) return found;
  found.mean = found.sum / count;
  found.mean_deviation =
      std::hypot(found.deviation, *found.mean * release_.count_deviation()) / count;
  return found;
}

}  // namespace quiver::engine
