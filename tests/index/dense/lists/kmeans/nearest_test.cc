#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "index/dense/lists/kmeans/lloyd.h"
#include "index/dense/lists/kmeans/nearest.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense::testing {
namespace {

/// Means of clumps, in units of codes.
std::vector<float> means_of_clumps(const ByteMatrix& codes, std::size_t n) {
  std::vector<float> means(n * codes.dim());
  for (std::uint32_t c = 0; c < n; ++c) {
    mean_of(codes.view(), std::span(&c, 1), means.data() + c * codes.dim());
  }
  return means;
}

TEST(CentreSearch, FindsTheNearestOfAllAndOfSome) {
  const ByteMatrix codes = clumped_codes(2000, 64, 300, 5);
  const auto means = means_of_clumps(codes, 300);
  const Centres centres(means, 64);
  ASSERT_EQ(centres.n(), 300U);
  const auto members = all_of(2000);
  std::vector<std::uint32_t> found(2000);
  CentreSearch search(centres);
  search.nearest(codes.view(), members, {}, found.data());
  for (std::size_t i = 0; i < 2000; ++i) EXPECT_EQ(found[i], i % 300);
  const std::uint32_t some[] = {7, 8, 9};
  search.nearest(codes.view(), members, some, found.data());
  for (const std::uint32_t list : found) EXPECT_TRUE(list >= 7 && list <= 9);
  EXPECT_EQ(found[8], 8U);
}

TEST(CentreSearch, ImprovesOnlyWhatIsNearer) {
  const ByteMatrix codes = clumped_codes(50, 32, 50, 6);
  const Centres centres(means_of_clumps(codes, 50), 32);
  const std::uint32_t row[] = {20};
  const std::uint32_t far[] = {1, 2};
  const std::uint32_t own[] = {20};
  std::vector<std::uint32_t> list_of(50, 0);
  std::vector<std::int32_t> score_of(50, CentreSearch::kNone);
  CentreSearch search(centres);
  search.improve(codes.view(), row, own, list_of.data(), score_of.data());
  search.improve(codes.view(), row, far, list_of.data(), score_of.data());
  EXPECT_EQ(list_of[20], 20U);
}

TEST(CentreSearch, AFewNearestAndDistances) {
  const ByteMatrix codes = clumped_codes(40, 32, 40, 7);
  const auto means = means_of_clumps(codes, 40);
  const Centres centres(means, 32);
  std::vector<std::uint32_t> few(40 * 3);
  CentreSearch search(centres);
  search.nearest_few(codes.view(), 3, few.data());
  const auto members = all_of(40);
  std::vector<float> distances(40 * 40);
  search.distances(codes.view(), members, members, distances.data());
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_NE(std::find(&few[i * 3], &few[i * 3] + 3, i), &few[i * 3] + 3);
    for (std::size_t c = 0; c < 40; ++c) {
      const double wanted = squared_distance(codes.view().at(i), means.data() + c * 32, 32);
      EXPECT_NEAR(distances[i * 40 + c], wanted, 60 + 0.02 * wanted);
    }
  }
}

TEST(CentreNeighbours, BeginWithTheCentreItself) {
  const ByteMatrix codes = clumped_codes(30, 32, 30, 8);
  const Centres centres(means_of_clumps(codes, 30), 32);
  const Cancel cancel;
  const CentreNeighbours neighbours(centres, 5, {nullptr, cancel, 0, nullptr});
  for (std::uint32_t c = 0; c < 30; ++c) {
    EXPECT_EQ(neighbours.of(c).size(), 5U);
    EXPECT_EQ(neighbours.of(c)[0], c);
  }
  EXPECT_EQ(centres.near(3, 100).size(), 30U);
}

}  // namespace
}  // namespace quiver::index::dense::testing
