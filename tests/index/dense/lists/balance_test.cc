#include "index/dense/lists/clustering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/cancel.h"
#include "base/threads/executor.h"

namespace quiver::index::dense {
namespace {

/// Rows of one dimension: row i is `values[i]`. Lists have the mean of their rows for centroid.
struct LineOfRows {
  std::vector<float> values;

  [[nodiscard]] RowReader reader() const {
    return [this](std::uint32_t row, float* out) { *out = values[row]; };
  }
  [[nodiscard]] float mean_of_list(const Clusters& clusters, std::uint32_t list) const {
    double sum = 0;
    double n = 0;
    for (std::uint32_t row = 0; row < values.size(); ++row) {
      if (clusters.list_of[row] != list) continue;
      sum += values[row];
      ++n;
    }
    return static_cast<float>(sum / n);
  }
  [[nodiscard]] Clusters clusters(std::vector<std::uint32_t> list_of, std::uint32_t n_lists) const {
    Clusters clusters{.dim = 1, .centroids = {}, .list_of = std::move(list_of)};
    for (std::uint32_t list = 0; list < n_lists; ++list) {
      clusters.centroids.push_back(mean_of_list(clusters, list));
    }
    return clusters;
  }
};

std::vector<std::uint32_t> list_sizes(const Clusters& clusters) {
  std::vector<std::uint32_t> sizes(clusters.n());
  for (const std::uint32_t list : clusters.list_of) ++sizes.at(list);
  return sizes;
}

void expect_balanced(const Clusters& clusters, const ListBounds& bounds) {
  for (const std::uint32_t size : list_sizes(clusters)) {
    EXPECT_GE(size, bounds.min);
    EXPECT_LE(size, bounds.max);
  }
}

TEST(ListBounds, AreAQuarterAndThreeTimesTheMean) {
  EXPECT_EQ(ListBounds::of(1000, 10).min, 25U);
  EXPECT_EQ(ListBounds::of(1000, 10).max, 300U);
  EXPECT_EQ(ListBounds::of(3, 10).min, 1U);
  EXPECT_EQ(ListBounds::of(3, 10).max, 3U);
  EXPECT_EQ(ListBounds::of(0, 0).min, 1U);
  EXPECT_EQ(ListBounds::of(~0U, 1).max, ~0U) << "no overflow";
}

TEST(Balance, ListsWithinBoundsStayAsTheyAre) {
  LineOfRows rows;
  std::vector<std::uint32_t> list_of;
  for (std::uint32_t i = 0; i < 40; ++i) {
    rows.values.push_back(static_cast<float>(i));
    list_of.push_back(i / 10);
  }
  const Clusters before = rows.clusters(list_of, 4);
  Clusters after = before;
  const Cancel cancel;
  ASSERT_TRUE(balance(rows.reader(), {5, 15}, {nullptr, cancel, 0, nullptr}, after));
  EXPECT_EQ(after.list_of, before.list_of);
  EXPECT_EQ(after.centroids, before.centroids);
}

TEST(Balance, BothBoundsAreIncluded) {
  LineOfRows rows;
  std::vector<std::uint32_t> list_of;
  for (std::uint32_t i = 0; i < 16; ++i) {
    rows.values.push_back(static_cast<float>(i));
    list_of.push_back(i < 4 ? 0 : 1);
  }
  const Cancel cancel;
  const std::pair<ListBounds, std::uint32_t> n_lists_within[] = {
      {{4, 12}, 2}, {{3, 11}, 3}, {{5, 16}, 1}};
  for (const auto& [bounds, n_lists] : n_lists_within) {
    SCOPED_TRACE(std::to_string(bounds.min) + " to " + std::to_string(bounds.max));
    Clusters clusters = rows.clusters(list_of, 2);
    ASSERT_TRUE(balance(rows.reader(), bounds, {nullptr, cancel, 0, nullptr}, clusters));
    EXPECT_EQ(clusters.n(), n_lists);
    expect_balanced(clusters, bounds);
  }
}

TEST(Balance, RowsOfSmallListsGoToTheNearestThatStays) {
  LineOfRows rows;
  std::vector<std::uint32_t> list_of;
  for (std::uint32_t i = 0; i < 30; ++i) {
    rows.values.push_back(static_cast<float>(i));
    list_of.push_back(i < 13 ? 0 : i < 17 ? 1 : 2);  // four rows in the middle
  }
  Clusters clusters = rows.clusters(list_of, 3);
  const Cancel cancel;
  ASSERT_TRUE(balance(rows.reader(), {5, 20}, {nullptr, cancel, 0, nullptr}, clusters));
  ASSERT_EQ(clusters.n(), 2U);
  for (std::uint32_t i = 0; i < 30; ++i) {
    EXPECT_EQ(clusters.list_of[i], i < 15 ? 0U : 1U) << "row " << i;
  }
  EXPECT_EQ(clusters.centroids, (std::vector<float>{6, 23})) << "of those that stayed";
}

TEST(Balance, LargeListsAreSplitAroundTheirMeans) {
  const Cancel cancel;
  Executor executor(3, "test");
  for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
    LineOfRows rows;
    std::vector<std::uint32_t> list_of;
    for (std::uint32_t i = 0; i < 240; ++i) {
      rows.values.push_back(static_cast<float>(i * i % 977));
      list_of.push_back(i < 230 ? 0 : 1);
    }
    Clusters clusters = rows.clusters(list_of, 2);
    const ListBounds bounds{10, 30};
    ASSERT_TRUE(balance(rows.reader(), bounds, {helper, cancel, 0, nullptr}, clusters));
    expect_balanced(clusters, bounds);
    for (std::uint32_t i = 230; i < 240; ++i) EXPECT_EQ(clusters.list_of[i], 1U);
    for (std::uint32_t list = 0; list < clusters.n(); ++list) {
      EXPECT_FLOAT_EQ(clusters.centroids[list], rows.mean_of_list(clusters, list));
    }
  }
}

TEST(Balance, RowsWithoutADifferenceAreSplitAllTheSame) {
  const Cancel cancel;
  for (const float value : {0.0F, 7.0F, 3e38F}) {
    SCOPED_TRACE("value " + std::to_string(value));
    LineOfRows rows{std::vector<float>(100, value)};
    Clusters clusters = rows.clusters(std::vector<std::uint32_t>(100, 0), 1);
    ASSERT_TRUE(balance(rows.reader(), {3, 9}, {nullptr, cancel, 0, nullptr}, clusters));
    expect_balanced(clusters, {3, 9});
    for (const float centroid : clusters.centroids) EXPECT_EQ(centroid, value);
  }
}

TEST(Balance, OneRowAndCancelledBuilds) {
  const Cancel cancel;
  LineOfRows one{{5}};
  Clusters clusters = one.clusters({0}, 1);
  ASSERT_TRUE(balance(one.reader(), {1, 3}, {nullptr, cancel, 0, nullptr}, clusters));
  EXPECT_EQ(clusters.n(), 1U);
  cancel.cancel();
  LineOfRows rows{std::vector<float>(100, 1.0F)};
  Clusters large = rows.clusters(std::vector<std::uint32_t>(100, 0), 1);
  const auto result = balance(rows.reader(), {3, 9}, {nullptr, cancel, 0, nullptr}, large);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::dense
