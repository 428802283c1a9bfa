#include "index/dense/lists/kmeans/centre_router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "index/dense/lists/kmeans/lloyd.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense {
namespace {

using testing::clumped_codes;
using testing::nearest_squared_distance;
using testing::Random;
using testing::squared_distance;

constexpr std::uint64_t kRouterSeed = 104;

/// Centres that are rows of a matrix of clumps.
std::vector<float> means_among_clumps(std::size_t n, std::uint32_t dim, Random& random) {
  const ByteMatrix rows = clumped_codes(n, dim, n / 4 + 1, random);
  std::vector<float> means;
  for (std::size_t i = 0; i < n * dim; ++i) means.push_back(value_of(rows.view().codes[i]));
  return means;
}

TEST(CentreRouter, FewCentresAreAllLookedAt) {
  SCOPED_TRACE("seed " + std::to_string(kRouterSeed));
  Random random(kRouterSeed);
  const Cancel cancel;
  for (const std::size_t n : {std::size_t{1}, std::size_t{30}, CentreRouter::kMaxFlatCentres}) {
    const Centres centres(means_among_clumps(n, 12, random), 12);
    const CentreRouter router(centres, {nullptr, cancel, 0, nullptr});
    const ByteMatrix rows = clumped_codes(100, 12, 10, random);
    std::vector<std::uint32_t> found(100);
    std::vector<std::uint32_t> wanted(100);
    router.nearest(rows.view(), found.data());
    CentreSearch(centres).nearest(rows.view(), all_of(100), {}, wanted.data());
    EXPECT_EQ(found, wanted) << n << " centres";
  }
}

TEST(CentreRouter, OfManyCentresFindsTheNearestForNearlyAllRows) {
  SCOPED_TRACE("seed " + std::to_string(kRouterSeed));
  Random random(kRouterSeed);
  constexpr std::uint32_t kDim = 16;
  constexpr std::size_t kRows = 2000;
  const auto means = means_among_clumps(700, kDim, random);
  const Centres centres(means, kDim);
  const Cancel cancel;
  const CentreRouter router(centres, {nullptr, cancel, 0, nullptr});
  const ByteMatrix rows = clumped_codes(kRows, kDim, 300, random);
  std::vector<std::uint32_t> found(kRows, 9999);
  router.nearest(rows.view(), found.data());
  double sum = 0;
  double least = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    ASSERT_LT(found[i], 700U);
    const std::uint8_t* row = rows.view().at(i);
    sum += squared_distance(row, means.data() + found[i] * kDim, kDim);
    least += nearest_squared_distance(row, means, kDim);
  }
  EXPECT_GE(sum, least * 0.999);
  EXPECT_LE(sum, least * 1.02);
}

TEST(CentreRouter, RoutesAllRowsAlikeOnAnyNumberOfThreads) {
  Random random(kRouterSeed);
  const Centres centres(means_among_clumps(600, 8, random), 8);
  const Cancel cancel;
  const CentreRouter router(centres, {nullptr, cancel, 0, nullptr});
  const ByteMatrix rows = clumped_codes(9000, 8, 50, random);  // more than one block
  std::vector<std::uint32_t> wanted(9000);
  router.nearest(rows.view(), wanted.data());
  Executor executor(3, "test");
  for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
    const CentreRouter other(centres, {helper, cancel, 0, nullptr});
    std::vector<std::uint32_t> found(9000);
    route_all(rows, other, {helper, cancel, 0, nullptr}, found.data());
    EXPECT_EQ(found, wanted);
  }
}

}  // namespace
}  // namespace quiver::index::dense
