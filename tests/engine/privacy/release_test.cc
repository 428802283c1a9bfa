// Releases by simulation: whether neighbours can be told apart, and whether deviations are right.
#include "engine/privacy/release.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/privacy/calibration.h"
#include "tests/engine/privacy/seeded_words.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kReleaseDim = 4;
constexpr std::uint64_t kReleaseSeed = 77;

PrivateFeatures release_features(std::uint32_t n_features, std::uint64_t seed) {
  return {PrivateKernel::kGaussian, 1.5, n_features, seed, kReleaseDim, false};
}

PrivateFeatures cosine_features() {
  return {PrivateKernel::kCosine, 1, kReleaseDim, 0, kReleaseDim, true};
}

using Points = std::vector<std::vector<float>>;

Points random_points(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Points points(n, std::vector<float>(kReleaseDim));
  for (auto& point : points) {
    for (float& value : point) value = normal(random);
  }
  return points;
}

FeatureSums sums_of(const PrivateFeatures& features, const Points& points) {
  const FeatureMap map(features);
  FeatureSums sums{std::vector<std::int64_t>(map.n_features()), points.size()};
  std::vector<float> row(map.n_features());
  for (auto point : points) {
    map.apply(point.data(), 1, row.data());
    add_on_grid(row, sums.sums);
  }
  return sums;
}

double true_sum(const PrivateFeatures& features, const Points& points,
                const std::vector<float>& query) {
  double total = 0;
  for (const auto& point : points) {
    double square = 0;
    double product = 0;
    double of_point = 0;
    double of_query = 0;
    for (std::size_t i = 0; i < point.size(); ++i) {
      square += std::pow(double{point[i]} - query[i], 2);
      product += double{point[i]} * query[i];
      of_point += double{point[i]} * point[i];
      of_query += double{query[i]} * query[i];
    }
    total += features.kernel == PrivateKernel::kGaussian
                 ? std::exp(-square / (2 * features.bandwidth * features.bandwidth))
                 : product / std::sqrt(of_point * of_query);
  }
  return total;
}

/// Along the difference of two neighbours, outputs differ most: by the lemma of Neyman and Pearson
/// no other test tells Gaussian noise apart better.
class Distinguisher {
 public:
  Distinguisher(const PrivateFeatures& features, const Points& points,
                const std::vector<float>& extra)
      : features_(features), without_(sums_of(features, points)) {
    auto more = points;
    more.push_back(extra);
    with_ = sums_of(features, more);
  }

  /// How far outputs lie along the difference, `n` of them, ascending.
  [[nodiscard]] std::vector<double> outputs(bool has_extra, const PrivacyAmount& cost, int n,
                                            std::uint64_t seed) const {
    SeededWords random(seed);
    std::vector<double> found;
    for (int i = 0; i < n; ++i) {
      const auto release = make_release(features_, cost, has_extra ? with_ : without_, random);
      double along = 0;
      for (std::size_t j = 0; j < release.sums.size(); ++j) {
        along += static_cast<double>(with_.sums[j] - without_.sums[j]) *
                 static_cast<double>(release.sums[j] - without_.sums[j]);
      }
      along += static_cast<double>(kGridOfCount) *
               (static_cast<double>(release.count) -
                static_cast<double>(without_.n_points) * static_cast<double>(kGridOfCount));
      found.push_back(along / (static_cast<double>(kGridOfFeatures) * kGridOfFeatures));
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  PrivateFeatures features_;
  FeatureSums without_;
  FeatureSums with_;
};

/// The largest excess of P[T >= t | one] over e^epsilon P[T >= t | other], over all t, beyond what
/// chance explains.
double largest_excess(const std::vector<double>& one, const std::vector<double>& other,
                      double epsilon) {
  const auto n = static_cast<double>(one.size());
  double largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto above = std::ranges::lower_bound(other, one[i]);
    const double p = (n - static_cast<double>(i)) / n;
    const double q = static_cast<double>(other.end() - above) / n;
    const double chance = 4 * std::sqrt((p + std::exp(2 * epsilon) * (q + 4 / n)) / n);
    largest = std::max(largest, p - std::exp(epsilon) * q - chance);
  }
  return largest;
}

/// The same, tested on values below.
std::vector<double> mirrored(std::vector<double> values) {
  for (double& value : values) value = -value;
  std::ranges::reverse(values);
  return values;
}

double excess_of(double spent, double claimed, std::uint64_t seed) {
  constexpr int kOutputs = 3000;
  const auto points = random_points(20, 1);
  const Distinguisher neighbours(release_features(64, seed), points, {3, -1, 2, 0.5F});
  const auto cost = PrivacyAmount::of(spent, 1e-6);
  const auto with = neighbours.outputs(true, cost, kOutputs, 2 * seed);
  const auto without = neighbours.outputs(false, cost, kOutputs, 2 * seed + 1);
  return std::max(largest_excess(with, without, claimed),
                  largest_excess(mirrored(without), mirrored(with), claimed));
}

TEST(Release, NeighboursCannotBeToldApartBeyondEpsilon) {
  for (const double epsilon : {0.5, 2.0}) {
    EXPECT_LE(excess_of(epsilon, epsilon, 5), 1e-6) << epsilon;
  }
}

TEST(Release, TheTestTellsApartWhatHasTooLittleNoise) { EXPECT_GT(excess_of(12, 1, 5), 0.05); }

TEST(Release, NoiseIsTheOneThatWasPaidFor) {
  const auto cost = PrivacyAmount::of(1, 1e-6);
  const double sensitivity = std::hypot(1.0, 0.25);
  const double wanted = sensitivity * noise_deviation(1, 1e-6);
  const auto points = random_points(10, 2);
  const auto features = release_features(20'000, 3);
  const auto exact = sums_of(features, points);
  SeededWords random(kReleaseSeed);
  const Release release = make_release(features, cost, exact, random);
  EXPECT_NEAR(release.noise_deviation(), wanted, 1e-6);
  EXPECT_NEAR(release.count_deviation(), 4 * wanted, 1e-5);
  double square = 0;
  for (std::size_t i = 0; i < release.sums.size(); ++i) {
    square += std::pow(static_cast<double>(release.sums[i] - exact.sums[i]) / kGridOfFeatures, 2);
  }
  EXPECT_NEAR(std::sqrt(square / 20'000), wanted, 0.03 * wanted);
}

struct Coverage {
  int n = 0;
  int n_sums = 0;  ///< within 1.96 deviations
  int n_means = 0;
  int n_counts = 0;
  double square = 0;  ///< of errors in deviations
};

Coverage coverage_of(PrivateFeatures features, std::size_t n_points) {
  const auto points = random_points(n_points, 4);
  const auto queries = random_points(5, 5);
  Coverage found;
  for (std::uint64_t round = 0; round < 200; ++round) {
    features.seed = round;
    SeededWords random(kReleaseSeed + round);
    const auto cost = PrivacyAmount::of(1, 1e-6);
    const ReleaseReader reader(make_release(features, cost, sums_of(features, points), random));
    const auto& release = reader.release();
    const auto n = static_cast<double>(n_points);
    const bool count_fits =
        std::abs(release.count_estimate() - n) < 1.96 * release.count_deviation();
    for (const auto& query : queries) {
      const double truth = true_sum(features, points, query);
      const auto estimate = reader.estimate(query);
      const double z = (estimate.sum - truth) / estimate.deviation;
      ++found.n;
      found.square += z * z;
      found.n_sums += std::abs(z) < 1.96 ? 1 : 0;
      found.n_counts += count_fits ? 1 : 0;
      const bool mean_fits =
          estimate.mean && std::abs(*estimate.mean - truth / n) < 1.96 * *estimate.mean_deviation;
      found.n_means += mean_fits ? 1 : 0;
    }
  }
  return found;
}

void expect_honest(const Coverage& found) {
  const double n = found.n;
  EXPECT_NEAR(found.n_sums / n, 0.95, 0.025);
  EXPECT_NEAR(found.n_counts / n, 0.95, 0.06) << "one for all queries of a round";
  EXPECT_NEAR(found.n_means / n, 0.95, 0.04);
  EXPECT_NEAR(std::sqrt(found.square / n), 1, 0.08);
}

TEST(Release, DeviationsOfTheGaussianKernelAreHonest) {
  expect_honest(coverage_of(release_features(256, 0), 400));   // features err most
  expect_honest(coverage_of(release_features(4096, 0), 150));  // noise errs most
}

TEST(Release, DeviationsOfTheCosineAreHonest) {
  expect_honest(coverage_of(cosine_features(), 300));
}

TEST(Release, MeansOfNextToNothingAreNotTold) {
  const auto cost = PrivacyAmount::of(1, 1e-6);
  SeededWords random(kReleaseSeed);
  const ReleaseReader reader(
      make_release(cosine_features(), cost, sums_of(cosine_features(), {}), random));
  const auto estimate = reader.estimate(std::vector<float>{1, 0, 0, 0});
  EXPECT_FALSE(estimate.mean || estimate.mean_deviation);
  EXPECT_NEAR(estimate.deviation, reader.release().noise_deviation(), 1e-9);
}

}  // namespace
}  // namespace quiver::engine::testing
