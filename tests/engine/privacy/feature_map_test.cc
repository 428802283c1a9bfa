// Features against their formula and the kernel, and their way onto the grid.
#include "engine/privacy/feature_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kDim = 6;

PrivateFeatures gaussian(double bandwidth, std::uint32_t n_features, std::uint64_t seed = 1) {
  return {PrivateKernel::kGaussian, bandwidth, n_features, seed, kDim, false};
}

std::vector<float> some_vector(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(kDim);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> features_of(const FeatureMap& map, std::vector<float> vector) {
  std::vector<float> features(map.n_features());
  map.apply(vector.data(), 1, features.data());
  return features;
}

double dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double gaussian_kernel(std::span<const float> x, std::span<const float> y, double bandwidth) {
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) square += std::pow(double{x[i]} - y[i], 2);
  return std::exp(-square / (2 * bandwidth * bandwidth));
}

TEST(FeatureMap, ProductsAreTheKernelOnAverage) {
  for (const double bandwidth : {1.5, 3.0}) {
    const FeatureMap map(gaussian(bandwidth, 40'000));
    for (std::uint64_t i = 0; i < 6; ++i) {
      const auto x = some_vector(i);
      const auto y = some_vector(i + 100);
      const double found = dot(features_of(map, x), features_of(map, y));
      EXPECT_NEAR(found, gaussian_kernel(x, y, bandwidth), 0.03) << bandwidth << " " << i;
      EXPECT_NEAR(dot(features_of(map, x), features_of(map, x)), 1, 1e-5);
    }
  }
}

TEST(FeatureMap, SeedsAndBandwidthsDecideAlone) {
  const auto x = some_vector(1);
  const auto one = features_of(FeatureMap(gaussian(1, 64, 5)), x);
  EXPECT_EQ(one, features_of(FeatureMap(gaussian(1, 64, 5)), x));
  EXPECT_NE(one, features_of(FeatureMap(gaussian(1, 64, 6)), x));
  EXPECT_NE(one, features_of(FeatureMap(gaussian(2, 64, 5)), x));
  const FeatureMap twice(gaussian(2, 64, 5));
  auto doubled = x;
  for (float& value : doubled) value *= 2;
  const auto same = features_of(twice, doubled);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], same[i], 1e-5);
}

TEST(FeatureMap, ManyAtOnceHaveTheBitsOfEach) {
  const FeatureMap map(gaussian(1, 130));
  std::vector<float> all;
  for (std::uint64_t i = 0; i < 37; ++i) {
    const auto x = some_vector(i);
    all.insert(all.end(), x.begin(), x.end());
  }
  std::vector<float> features(37 * 130);
  map.apply(all.data(), 37, features.data());
  for (std::size_t i = 0; i < 37; ++i) {
    const auto one = features_of(map, some_vector(i));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), features.begin() + 130 * i)) << i;
  }
}

TEST(FeatureMap, LengthsDoNotCountIfTheFieldSaysSo) {
  PrivateFeatures params = gaussian(1, 64);
  params.is_normalised = true;
  const auto x = some_vector(3);
  auto longer = x;
  for (float& value : longer) value *= 8;
  EXPECT_EQ(features_of(FeatureMap(params), x), features_of(FeatureMap(params), longer));
  params.kernel = PrivateKernel::kCosine;
  params.n_features = kDim;
  const FeatureMap cosine(params);
  const auto y = some_vector(4);
  const double wanted = dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
  EXPECT_NEAR(dot(features_of(cosine, x), features_of(cosine, y)), wanted, 1e-5);
  EXPECT_EQ(features_of(cosine, std::vector<float>(kDim)), std::vector<float>(kDim));
}

TEST(FeatureMap, AnglesBeyondAllNumbersAreNoHarm) {
  const FeatureMap map(gaussian(1e-6, 64));
  const auto features = features_of(map, std::vector<float>(kDim, 3e38F));
  EXPECT_NEAR(dot(features, features), 1, 1e-5);
}

double length_on_grid(const std::vector<float>& features) {
  std::vector<std::int64_t> sums(features.size());
  add_on_grid(features, sums);
  double square = 0;
  for (const std::int64_t sum : sums) square += static_cast<double>(sum) * static_cast<double>(sum);
  return std::sqrt(square) / static_cast<double>(kGridOfFeatures);
}

TEST(FeatureGrid, NothingIsLongerThanOne) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_LE(length_on_grid(std::vector<float>(kMaxPrivateFeatures, 1)), 1);
  EXPECT_LE(length_on_grid(std::vector<float>(kMaxPrivateFeatures, -kInfinity)), 1);
  EXPECT_LE(length_on_grid({kNaN, 1, 1e30F, -kInfinity}), 1);
  EXPECT_LE(length_on_grid({1}), 1);
  EXPECT_LE(length_on_grid({1.001F, 0, 0}), 1);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const FeatureMap map(gaussian(1, 64 + 2 * (i % 50), i));
    const double length = length_on_grid(features_of(map, some_vector(i)));
    EXPECT_LE(length, 1);
    EXPECT_GT(length, 1 - 1e-5);
  }
}

TEST(FeatureGrid, SumsAreThoseOfTheFeatures) {
  const FeatureMap map(gaussian(1, 64));
  std::vector<std::int64_t> sums(64);
  std::vector<double> wanted(64);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto features = features_of(map, some_vector(i));
    add_on_grid(features, sums);
    for (std::size_t j = 0; j < 64; ++j) wanted[j] += features[j];
  }
  for (std::size_t j = 0; j < 64; ++j) {
    EXPECT_NEAR(static_cast<double>(sums[j]) / kGridOfFeatures, wanted[j], 1e-4);
  }
}

}  // namespace
}  // namespace quiver::engine::testing
