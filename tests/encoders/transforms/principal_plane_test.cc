// The plane agrees with the first two directions of Pca.
#include "encoders/transforms/principal_plane.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "encoders/transforms/pca.h"
#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::Pca;
using encoders::PrincipalPlane;

constexpr unsigned kPlaneSeed = 20261128;

/// Variances fall by half from each coordinate to the next; every mean is 3.
std::vector<float> stretched_rows(std::size_t n, std::uint32_t dim, std::mt19937& random) {
  std::vector<float> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const auto z = normal_vector(dim, random);
    for (std::uint32_t d = 0; d < dim; ++d) {
      rows.push_back(3 + z[d] * std::pow(0.5F, static_cast<float>(d % 20) / 2));
    }
  }
  return rows;
}

TEST(PrincipalPlane, HasTheCoordinatesOfPca) {
  std::mt19937 random(kPlaneSeed);
  for (const std::uint32_t dim : {2U, 3U, 9U, 50U}) {
    const std::size_t n = 500;
    const auto rows = stretched_rows(n, dim, random);
    const auto plane = PrincipalPlane::fit(rows, dim).value();
    const auto pca = Pca::train(rows, dim).value();
    const float total = std::accumulate(pca.variances().begin(), pca.variances().end(), 0.0F);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      EXPECT_NEAR(plane.shares()[axis], pca.variances()[axis] / total, 1e-3) << dim;
    }
    for (std::size_t i = 0; i < n; i += 50) {
      float wanted[2];
      pca.project(rows.data() + i * dim, 2, wanted);
      const auto place = plane.project(std::span(rows).subspan(i * dim, dim));
      EXPECT_NEAR(place[0], wanted[0], 2e-2) << dim;
      EXPECT_NEAR(place[1], wanted[1], 2e-2) << dim;
    }
  }
}

TEST(PrincipalPlane, HasNoDirectionWhereRowsDoNotDiffer) {
  const auto equal = PrincipalPlane::fit(std::vector<float>{1, 2, 3, 1, 2, 3}, 3).value();
  EXPECT_EQ(equal.shares(), (std::array<float, 2>{0, 0}));
  EXPECT_EQ(equal.project(std::vector<float>{7, 8, 9}), (std::array<float, 2>{0, 0}));

  const auto line = PrincipalPlane::fit(std::vector<float>{1, 4, 7}, 1).value();
  EXPECT_NEAR(line.shares()[0], 1, 1e-5);
  EXPECT_NEAR(line.project(std::vector<float>{5})[0], 1, 1e-5);
  EXPECT_EQ(line.project(std::vector<float>{5})[1], 0);
}

TEST(PrincipalPlane, RefusesNoRowsAndValuesThatAreNotFinite) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (const auto& rows : {std::vector<float>{}, {1, 2, 3}, {1, kNone}}) {
    EXPECT_EQ(PrincipalPlane::fit(rows, 2).error().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace quiver::testing
