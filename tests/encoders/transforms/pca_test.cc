#include "encoders/transforms/pca.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::Pca;
using ::testing::HasSubstr;

constexpr unsigned kPcaSeed = 20240604;

/// Normal rows around `mean(d) = d`, with the variances that `scale` says along random directions.
std::vector<float> skewed_rows(std::size_t n, std::uint32_t dim, std::mt19937& random) {
  const auto mixing = normal_vector(std::size_t{dim} * dim, random);
  std::vector<float> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const auto z = normal_vector(dim, random);
    for (std::uint32_t d = 0; d < dim; ++d) {
      double value = d;
      for (std::uint32_t e = 0; e < dim; ++e) {
        value += z[e] * mixing[d * dim + e] / (1.0 + e);
      }
      rows.push_back(static_cast<float>(value));
    }
  }
  return rows;
}

TEST(Pca, CoordinatesAreUncorrelatedWithDescendingVariances) {
  std::mt19937 random(kPcaSeed);
  for (std::uint32_t dim : {1u, 2u, 13u, 40u}) {
    const std::size_t n = 2000;
    const auto rows = skewed_rows(n, dim, random);
    const Pca pca = Pca::train(rows, dim).value();
    std::vector<double> moments(std::size_t{dim} * dim, 0.0);
    std::vector<double> means(dim, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<float> z(dim);
      pca.project(rows.data() + i * dim, dim, z.data());
      for (std::uint32_t a = 0; a < dim; ++a) {
        means[a] += z[a] / double{n};
        for (std::uint32_t b = 0; b < dim; ++b) moments[a * dim + b] += double{z[a]} * z[b] / n;
      }
    }
    const double largest = pca.variances()[0];
    for (std::uint32_t a = 0; a < dim; ++a) {
      EXPECT_NEAR(means[a], 0.0, 1e-4 * std::sqrt(largest));
      for (std::uint32_t b = 0; b < dim; ++b) {
        EXPECT_NEAR(moments[a * dim + b], a == b ? pca.variances()[a] : 0.0, 1e-4 * largest);
      }
      EXPECT_LE(pca.variances()[a], pca.variances()[a == 0 ? 0 : a - 1]);
    }
  }
}

TEST(Pca, DirectionsAreOrthonormalAndProductsAreKept) {
  std::mt19937 random(kPcaSeed);
  const std::uint32_t dim = 33;
  const auto rows = skewed_rows(10, dim, random);  // fewer than dimensions
  const Pca pca = Pca::train(rows, dim).value();
  for (std::uint32_t a = 0; a < dim; ++a) {
    for (std::uint32_t b = 0; b < dim; ++b) {
      const auto u = pca.directions().subspan(a * dim, dim);
      EXPECT_NEAR(dot(u, pca.directions().subspan(b * dim, dim)), a == b ? 1.0 : 0.0, 1e-5);
    }
  }
  const std::vector<float> x(rows.begin(), rows.begin() + dim);
  const auto q = normal_vector(dim, random);
  std::vector<float> turned(dim), projected(dim);
  pca.turn(q.data(), dim, turned.data());
  pca.project(x.data(), dim, projected.data());
  EXPECT_NEAR(dot(turned, projected) + dot(q, pca.mean()), dot(q, x), 1e-5 * norm(q) * norm(x));
}

TEST(Pca, LeadingCoordinatesAreTheFirstOnes) {
  std::mt19937 random(kPcaSeed);
  const auto rows = skewed_rows(100, 20, random);
  const Pca pca = Pca::train(rows, 20).value();
  std::vector<float> all(20), few(7);
  pca.project(rows.data(), 20, all.data());
  pca.project(rows.data(), 7, few.data());
  all.resize(7);
  EXPECT_EQ(all, few);
}

TEST(Pca, SameSampleSameBits) {
  std::mt19937 random(kPcaSeed);
  const auto rows = skewed_rows(1000, 17, random);
  const Pca a = Pca::train(rows, 17).value();
  const Pca b = Pca::train(rows, 17).value();
  EXPECT_TRUE(std::equal(a.directions().begin(), a.directions().end(), b.directions().begin()));
}

TEST(Pca, RefusesWhatIsNoSample) {
  EXPECT_THAT(Pca::train({}, 3).error().message(), HasSubstr("0 values"));
  EXPECT_THAT(Pca::train(std::vector<float>(7), 3).error().message(), HasSubstr("7 values"));
  EXPECT_THAT(Pca::train(std::vector<float>(7), 0).error().message(), HasSubstr("0 dimensions"));
  EXPECT_THAT(Pca::train(std::vector<float>(7), 100000).error().message(), HasSubstr("8192"));
  const std::vector<float> infinite = {0.0f, std::numeric_limits<float>::infinity()};
  EXPECT_THAT(Pca::train(infinite, 2).error().message(), HasSubstr("not finite"));
}

TEST(Pca, ConstantRowsHaveNoVariance) {
  const Pca pca = Pca::train(std::vector<float>(50, 2.5f), 5).value();
  for (float variance : pca.variances()) EXPECT_EQ(variance, 0.0f);
  EXPECT_EQ(pca.mean()[4], 2.5f);
}

}  // namespace
}  // namespace quiver::testing
