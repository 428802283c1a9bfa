#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/io/section_file.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/search/lists_files_support.h"

namespace quiver::index::testing {
namespace {

/// A query as the router wants it; its values count as rotated.
struct RouterQuery {
  static constexpr std::uint32_t kDim = 256;
  RouterQuery(std::span<const float> query, Metric metric, float length) {
    std::copy(query.begin(), query.end(), values);
    rotated.values = values;
    dense::stretch(similarity_of(metric), length, values);
    rotated.tables = kernels().codes.prepare(values, kDim / 32, tables);
  }
  alignas(64) float values[kDim];
  alignas(64) std::uint8_t tables[4 * kDim];
  dense::RotatedQuery rotated;
};

/// Codes of one bit choose the centroids that are looked at: few of those that were asked for may
/// be missed.
TEST(IvfFile, RoutesAreTheNearestListsNearestFirst) {
  Random random(kIvfSeed);
  constexpr std::uint32_t kLists = 200;
  constexpr int kQueries = 20;
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    const auto schema = dense_schema(RouterQuery::kDim, metric);
    Clumps clumps(schema, 50, random);
    const IvfIndex index(clumps.column(4000), {{"n_lists", std::int64_t{kLists}}});
    const auto lists = dense::Partition::open(lists_of(*index.directory), schema, 4000);
    ASSERT_TRUE(lists);
    const dense::ListRouter router(*lists, similarity_of(metric));
    dense::ScanScratch scan;
    dense::RouteScratch all_scratch;
    dense::RouteScratch scratch;
    double by_number[2] = {};  // shares that were found
    double by_gap[3] = {};
    for (int q = 0; q < kQueries; ++q) {
      const RouterQuery prepared(clumps.query().values(), metric, lists->facts().length);
      const auto all = router.nearest(prepared.rotated, kLists, scan, all_scratch);
      ASSERT_EQ(all.size(), kLists);
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
      const auto share_of_first = [&](std::span<const dense::Probe> some) {
        EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
        const auto last = std::upper_bound(all.begin(), all.end(), some.back());
        return static_cast<double>(some.size()) / static_cast<double>(last - all.begin());
      };
      const std::size_t numbers[] = {20, 150};
      for (std::size_t i = 0; i < 2; ++i) {
        const auto some = router.nearest(prepared.rotated, numbers[i], scan, scratch);
        ASSERT_EQ(some.size(), numbers[i]);
        by_number[i] += share_of_first(some) / kQueries;
      }
      const float gaps[] = {0.2F, 1.0F, 3.0F};
      std::size_t before = 1;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto some = router.within(prepared.rotated, gaps[i], kLists, scan, scratch);
        ASSERT_GE(some.size(), before);
        before = some.size();
        by_gap[i] += share_of_first(some) / kQueries;
      }
      EXPECT_EQ(router.within(prepared.rotated, 1e6F, kLists, scan, scratch).size(), kLists);
      EXPECT_EQ(router.within(prepared.rotated, 1e6F, 7, scan, scratch).size(), 7U);
    }
    for (const double share : by_number) EXPECT_GE(share, 0.9);
    EXPECT_GE(by_gap[0], 0.5) << "less than the errors of the codes";
    EXPECT_GE(by_gap[1], 0.8);
    EXPECT_GE(by_gap[2], 0.8);
  }
}

/// What one call finds within a gap, several find in portions; each list comes once.
TEST(IvfFile, RoutesWidenInPortions) {
  Random random(kIvfSeed + 1);
  for (const std::uint32_t n_lists : {5U, 200U}) {
    const auto schema = dense_schema(RouterQuery::kDim, Metric::kDot);
    Clumps clumps(schema, 50, random);
    const IvfIndex index(clumps.column(4000), {{"n_lists", std::int64_t{n_lists}}});
    const auto lists = dense::Partition::open(lists_of(*index.directory), schema, 4000);
    ASSERT_TRUE(lists);
    const dense::ListRouter router(*lists, Similarity::kDot);
    dense::ScanScratch scan, other_scan;
    dense::RouteScratch scratch, other_scratch;
    for (int q = 0; q < 20; ++q) {
      const RouterQuery prepared(clumps.query().values(), Metric::kDot, lists->facts().length);
      dense::WideningRoute route(router, prepared.rotated, scan, scratch);
      std::vector<dense::Probe> found;
      for (const float gap : {0.1F, 0.1F, 0.3F, 1.0F, 2.5F}) {
        const auto next = route.within(gap);
        EXPECT_TRUE(std::is_sorted(next.begin(), next.end()));
        found.insert(found.end(), next.begin(), next.end());
        const auto whole = router.within(prepared.rotated, gap, n_lists, other_scan, other_scratch);
        // Codes misjudge a few centroids, and the best list may be known later.
        EXPECT_LE(found.size(), whole.size() * 11 / 10 + 1);
        EXPECT_GE(found.size(), whole.size() * 9 / 10);
      }
      const auto rest = route.rest();
      found.insert(found.end(), rest.begin(), rest.end());
      EXPECT_TRUE(route.is_over());
      std::vector<std::uint32_t> numbers;
      for (const auto& probe : found) numbers.push_back(probe.list);
      std::sort(numbers.begin(), numbers.end());
      EXPECT_EQ(numbers.size(), n_lists);
      EXPECT_TRUE(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
