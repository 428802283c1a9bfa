// Sums of features with the noise that protects single points, and what they tell of kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/private_sums.h"
#include "engine/privacy/feature_map.h"
#include "engine/privacy/random_words.h"

namespace quiver::engine {

/// Exact, and so nothing that may leave the process.
struct FeatureSums {
  std::vector<std::int64_t> sums;  ///< `[n_features]`, in units of 1 / kGridOfFeatures
  std::uint64_t n_points = 0;
};

/// What was released. Everything computed from it is as private as it is.
struct Release {
  PrivateFeatures features;
  std::uint64_t noise = 0;         ///< standard deviation of the noise, in units of the grid
  std::vector<std::int64_t> sums;  ///< `[n_features]`
  std::int64_t count = 0;          ///< in units of 1 / kGridOfCount

  [[nodiscard]] double count_estimate() const;
  [[nodiscard]] double count_deviation() const;
  [[nodiscard]] double noise_deviation() const;  ///< of a sum
};

/// Standard deviation of the noise, in units of the grid, at which features and count of points
/// together cost `cost`: adding or removing one point moves them by at most
/// sqrt(kGridOfFeatures^2 + kGridOfCount^2).
[[nodiscard]] std::uint64_t noise_on_grid(const PrivacyAmount& cost);

/// Adds discrete Gaussian noise to each sum and to the count.
[[nodiscard]] Release make_release(const PrivateFeatures& features, const PrivacyAmount& cost,
                                   FeatureSums sums, RandomWords& random);

/// Estimates from one release. Immutable and thread-safe.
class ReleaseReader {
 public:
  explicit ReleaseReader(Release release) : release_(std::move(release)), map_(release_.features) {}

  [[nodiscard]] const Release& release() const { return release_; }
  /// The sum of k(x, `vector`) over all points x of the release. `vector`: `[dim]`, finite.
  ///
  /// Unbiased. Under the Gaussian kernel the deviation is that of the frequencies' shares of the
  /// sum, which are independent: it holds noise and the error of random features.
  [[nodiscard]] PrivateEstimate estimate(std::span<const float> vector) const;

 private:
  [[nodiscard]] double variance_of_features(std::span<const float> features) const;

  const Release release_;
  const FeatureMap map_;
};

}  // namespace quiver::engine
