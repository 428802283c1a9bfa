#include "engine/spread/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "payload/aggregate/buckets.h"

namespace quiver::engine {
namespace {

using ::testing::HasSubstr;

ScrollPage page_of(const std::vector<std::uint64_t>& ids, std::uint64_t next) {
  ScrollPage page;
  for (const std::uint64_t id : ids) {
    page.points.emplace_back();
    page.points.back().id = PointId::number(id);
  }
  if (next != 0) page.next = PointId::number(next);
  return page;
}

std::vector<std::uint64_t> ids_of(const ScrollPage& page) {
  std::vector<std::uint64_t> ids;
  for (const auto& record : page.points) ids.push_back(record.id.low());
  return ids;
}

TEST(MergePages, TheNextPageBeginsWithTheLeastIdThatIsLeft) {
  ScrollRequest request;
  request.limit = 3;
  auto merged = merge_pages({page_of({1, 4, 7}, 9), page_of({2, 3, 8}, 0)}, request);
  EXPECT_EQ(ids_of(merged), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(merged.next, PointId::number(4));
  merged = merge_pages({page_of({1}, 5), page_of({}, 0)}, request);
  EXPECT_EQ(merged.next, PointId::number(5));
  merged = merge_pages({page_of({1}, 0), page_of({2}, 0)}, request);
  EXPECT_EQ(ids_of(merged), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_FALSE(merged.next);
  request.limit = 0;
  merged = merge_pages({page_of({}, 3), page_of({}, 2)}, request);
  EXPECT_TRUE(merged.points.empty());
  EXPECT_EQ(merged.next, PointId::number(2));
}

TEST(MergeFacets, CountsOfAValueAddUpAndTiesAreByValue) {
  using Hits = std::vector<FacetHit>;
  const auto merged = merge_facets({Hits{{std::string("b"), 3}, {std::string("a"), 1}},
                                    Hits{{std::string("a"), 2}, {std::string("c"), 1}}},
                                   2);
  EXPECT_EQ(merged, (Hits{{std::string("a"), 3}, {std::string("b"), 3}}));
}

TEST(MergeAggregates, TooManyBucketsAreRefusedAsOnOneServer) {
  AggregateRequest request;
  request.aggregations = {{"h", HistogramAggregation{"n", payload::NumberBuckets{1, 0}}}};
  std::vector<std::vector<Aggregate>> parts;
  for (int part = 0; part < 2; ++part) {
    NumberHistogram histogram;
    for (std::size_t i = 0; i < payload::kMaxBuckets; ++i) {
      histogram.buckets.emplace_back(static_cast<double>(2 * i) + part, 1);
    }
    parts.push_back({histogram});
  }
  EXPECT_TRUE(merge_aggregates({parts[0]}, request));
  const auto refused = merge_aggregates(parts, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), HasSubstr("20000 buckets"));
}

TEST(MergeAggregates, SumsThatNoIntegerHoldsAreDoubles) {
  AggregateRequest request;
  request.aggregations = {{"s", StatsAggregation{"n"}}};
  payload::NumberStats stats;
  stats.count = 1;
  stats.min = stats.max = stats.sum = payload::Number(std::int64_t{INT64_MAX});
  const auto merged = merge_aggregates({{stats}, {stats}, {payload::NumberStats()}}, request);
  ASSERT_TRUE(merged);
  const auto& all = std::get<payload::NumberStats>((*merged)[0]);
  EXPECT_EQ(all.count, 2U);
  EXPECT_EQ(std::get<double>(all.sum), 0x1p64);
  EXPECT_EQ(all.average, 0x1p63);
}

}  // namespace
}  // namespace quiver::engine
