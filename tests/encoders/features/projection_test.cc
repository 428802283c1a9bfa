#include "encoders/features/projection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kProjectionSeed = 20240617;

/// Rows vary along the first three coordinates only, around a mean that must not matter.
TEST(PrincipalSpace, HoldsTheDirectionsInWhichRowsVary) {
  constexpr std::size_t kRows = 400;
  constexpr std::size_t kDim = 64;
  std::mt19937 random(kProjectionSeed);
  std::vector<float> rows(kRows * kDim, 5.0F);
  std::vector<double> squares(3, 0.0), sums(3, 0.0);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto normal = normal_vector(3, random);
    for (std::size_t d = 0; d < 3; ++d) {
      const float value = normal[d] * static_cast<float>(8 >> d);
      rows[i * kDim + d] += value;
      sums[d] += value;
      squares[d] += double{value} * value;
    }
  }
  double total = 0;
  for (std::size_t d = 0; d < 3; ++d) total += squares[d] - sums[d] * sums[d] / kRows;

  const auto space = encoders::principal_space(rows, kRows, 3);
  ASSERT_EQ(space.basis.size(), 3 * kDim);
  ASSERT_EQ(space.variances.size(), 3);
  const double found = std::accumulate(space.variances.begin(), space.variances.end(), 0.0);
  EXPECT_NEAR(found, total, 1e-3 * total) << "seed " << kProjectionSeed;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double product = 0;
      for (std::size_t d = 0; d < kDim; ++d) {
        product += double{space.basis[i * kDim + d]} * space.basis[j * kDim + d];
      }
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-4);
    }
    double outside = 0;
    for (std::size_t d = 3; d < kDim; ++d) outside += std::abs(space.basis[i * kDim + d]);
    EXPECT_LT(outside, 1e-2);
  }
}

}  // namespace
}  // namespace quiver::testing
