// The rows that a search may return, and their estimate: against a loop over all rows.
#include "engine/segment/segment_filter.h"

#include <algorithm>
#include <cmath>

#include "engine/segment/segment_rows.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

/// Points 0 to 29; every third lacks `dot`, every fourth is deleted.
struct SparseWorld {
  SparseWorld() {
    std::vector<Row> rows;
    auto deleted = std::make_shared<Bitset>(kRows);
    for (std::uint32_t number = 0; number < kRows; ++number) {
      rows.push_back(number_row(number, config));
      if (number % 3 == 0) rows.back().vectors[0] = {};
      if (number % 4 == 0) deleted->set(number);
    }
    segment = segment_of_rows(rows, config, 1);
    segment.n_deleted = static_cast<std::uint32_t>(deleted->count());
    segment.deleted = std::move(deleted);
  }
  static constexpr std::uint32_t kRows = 30;

  CollectionConfig config = numbers_config();
  Segment segment;
};

payload::Filter n_below(std::int64_t limit) {
  payload::Filter filter;
  payload::Range range;
  range.lt = limit;
  filter.must = {payload::FieldCondition{"n", range}};
  return filter;
}

std::vector<std::uint32_t> allowed_rows(const SegmentFilter& filter) {
  const auto view = filter.view();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < view.n_rows(); ++row) {
    if (view.allows(row)) rows.push_back(row);
  }
  EXPECT_EQ(view.n_allowed(), rows.size());
  return rows;
}

TEST(SegmentFilterOf, LiveRowsWithAVectorThatMatch) {
  const SparseWorld world;
  const auto predicate = payload::compile(n_below(20), world.config.indexes).value();
  std::vector<std::uint32_t> live;
  std::vector<std::uint32_t> matching;
  for (std::uint32_t row = 0; row < SparseWorld::kRows; ++row) {
    if (row % 3 == 0 || row % 4 == 0) continue;
    live.push_back(row);
    if (row < 20) matching.push_back(row);
  }
  const Cancel cancel;
  EXPECT_EQ(allowed_rows(SegmentFilter::make(world.segment, 0, nullptr, cancel).value()), live);
  EXPECT_EQ(allowed_rows(SegmentFilter::make(world.segment, 0, predicate.get(), cancel).value()),
            matching);
  const auto everything = payload::compile({}, world.config.indexes).value();
  EXPECT_EQ(allowed_rows(SegmentFilter::make(world.segment, 0, everything.get(), cancel).value()),
            live);
}

TEST(SegmentFilterOf, EveryRowNeedsNoBitmap) {
  SparseWorld world;
  world.segment.deleted = nullptr;
  world.segment.n_deleted = 0;
  const Cancel cancel;
  const auto filter = SegmentFilter::make(world.segment, 1, nullptr, cancel).value();
  EXPECT_TRUE(filter.view().allows_all());
  EXPECT_EQ(allowed_rows(filter).size(), SparseWorld::kRows);
}

TEST(SegmentFilterOf, StopsWhenCancelled) {
  const SparseWorld world;
  const auto predicate = payload::compile(only_odd(), world.config.indexes).value();
  const Cancel cancel;
  cancel.cancel();
  EXPECT_FALSE(SegmentFilter::make(world.segment, 0, predicate.get(), cancel));
}

TEST(EstimateAllowed, BoundsTheNumberOfAllowedRows) {
  const SparseWorld world;
  const Cancel cancel;
  for (std::size_t field = 0; field < 2; ++field) {
    for (const std::int64_t limit : {0, 1, 7, 20, 30}) {
      const auto predicate = payload::compile(n_below(limit), world.config.indexes).value();
      const auto estimate = estimate_allowed(world.segment, field, predicate.get());
      const auto filter =
          SegmentFilter::make(world.segment, field, predicate.get(), cancel).value();
      const std::uint64_t n = filter.view().n_allowed();
      EXPECT_LE(estimate.min, n) << limit;
      EXPECT_GE(estimate.max, n) << limit;
      EXPECT_LE(estimate.min, estimate.expected);
      EXPECT_LE(estimate.expected, estimate.max);
    }
  }
}

TEST(EstimateAllowed, TakesDeletedAndAbsentRowsAsIndependent) {
  const SparseWorld world;  // 30 rows, 20 with `dot`, 22 live
  const auto all = estimate_allowed(world.segment, 0, nullptr);
  EXPECT_EQ(all, (payload::Estimate{12, 15, 20}));
  const auto predicate = payload::compile(n_below(15), world.config.indexes).value();
  const auto matching = predicate->estimate(SegmentRows(*world.segment.data));
  const auto half = estimate_allowed(world.segment, 0, predicate.get());
  const double expected = static_cast<double>(matching.expected) * 20 / 30 * 22 / 30;
  EXPECT_EQ(half.expected, static_cast<std::uint64_t>(std::lround(expected)));
  EXPECT_EQ(half.max, std::min<std::uint64_t>(matching.max, 20));
  EXPECT_EQ(estimate_allowed(segment_of_rows({}, world.config, 2), 0, nullptr),
            payload::Estimate{});
}

}  // namespace
}  // namespace quiver::engine::testing
