#include "bench/encodings/sparse_projection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/encoders/codes/support.h"

namespace quiver::testing {
namespace {

using encodings::SparseProjection;

constexpr unsigned kSparseProjectionSeed = 20240605;

TEST(SparseProjection, KeepsProductsOnTheAverage) {
  std::mt19937 random(kSparseProjectionSeed);
  const std::uint32_t dim = 200;
  const std::uint32_t out_dim = 100;
  const auto rows = unit_rows(2, dim, random);
  const std::vector<float> a(rows.begin(), rows.begin() + dim);
  std::vector<float> b(rows.begin() + dim, rows.end());
  for (std::uint32_t d = 0; d < dim; ++d) b[d] = 0.6f * a[d] + 0.8f * b[d];
  const int n = 2000;
  double mean = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const SparseProjection projection(dim, out_dim,
                                      kSparseProjectionSeed + static_cast<unsigned>(i));
    ASSERT_EQ(projection.out_dim(), out_dim);
    std::vector<float> pa(out_dim), pb(out_dim);
    projection.apply(a.data(), pa.data());
    projection.apply(b.data(), pb.data());
    const double error = dot(pa, pb) - dot(a, b);
    mean += error / n;
    squares += error * error / n;
  }
  EXPECT_LT(std::abs(mean), 4 * std::sqrt(squares / n));
  EXPECT_NEAR(std::sqrt(squares), 1 / std::sqrt(out_dim), 0.7 / std::sqrt(out_dim));
}

}  // namespace
}  // namespace quiver::testing
