#include "engine/collections/collection_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

/// Points 0 to 29 in two shards of some segments; every third is deleted.
class CollectionReads : public ::testing::Test {
 protected:
  CollectionReads() {
    config_.fields = mixed_fields();
    Random random(8);
    std::vector<std::shared_ptr<const SegmentSet>> shards;
    for (std::uint64_t shard = 0; shard < 2; ++shard) {
      auto set = std::make_shared<SegmentSet>();
      for (std::uint64_t segment = 0; segment < 3; ++segment) {
        std::vector<Row> rows;
        std::vector<std::uint32_t> deleted;
        for (std::uint64_t i = 0; i < 5; ++i) {
          const std::uint64_t id = 2 * (5 * segment + i) + shard;
          if (id % 3 == 0) deleted.push_back(static_cast<std::uint32_t>(rows.size()));
          rows.push_back(random_row(PointId::number(id), id + 1, config_.fields, random));
          rows.back().payload = R"({"n":)" + std::to_string(id % 4) + "}";
        }
        set->segments.push_back(with_deleted(segment_of(rows, config_.fields), deleted));
      }
      shards.push_back(std::move(set));
    }
    snapshot_.emplace(std::move(shards));
  }
  static payload::Filter n_is(std::int64_t n) {
    payload::Filter filter;
    filter.must.emplace_back(
        payload::FieldCondition{"n", payload::MatchValue{payload::MatchScalar{n}}});
    return filter;
  }

  CollectionConfig config_;
  std::optional<Snapshot> snapshot_;
  const Cancel cancel_{};
};

TEST_F(CollectionReads, RetrieveKeepsTheOrderAskedFor) {
  RetrieveRequest request;
  request.ids = {PointId::number(5), PointId::number(3), PointId::number(99), PointId::number(2)};
  const auto records = retrieve(*snapshot_, config_, request).value();
  ASSERT_EQ(records.size(), 2U) << "3 is deleted, 99 unknown";
  EXPECT_EQ(records[0].id, PointId::number(5));
  EXPECT_EQ(records[0].payload, R"({"n":1})");
  EXPECT_FALSE(records[0].vectors);
  request.with_vector = {false, {"no"}};
  EXPECT_FALSE(retrieve(*snapshot_, config_, request));
}

TEST_F(CollectionReads, PagesCoverAllPointsOnceInOrder) {
  ScrollRequest request;
  request.limit = 3;
  std::vector<PointId> ids;
  while (true) {
    const auto page = scroll(*snapshot_, config_, request, cancel_).value();
    for (const auto& point : page.points) ids.push_back(point.id);
    if (!page.next) break;
    EXPECT_EQ(page.points.size(), 3U);
    request.offset = page.next;
  }
  EXPECT_EQ(ids.size(), 20U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(std::set<PointId>(ids.begin(), ids.end()).size(), 20U);
}

TEST_F(CollectionReads, CountAndScrollAgreeOnFilters) {
  EXPECT_EQ(count(*snapshot_, config_, std::nullopt, cancel_).value(), 20U);
  std::uint64_t n_all = 0;
  for (std::int64_t n = 0; n < 4; ++n) {
    ScrollRequest request;
    request.limit = 100;
    request.filter = n_is(n);
    const auto page = scroll(*snapshot_, config_, request, cancel_).value();
    EXPECT_EQ(page.points.size(), count(*snapshot_, config_, n_is(n), cancel_).value());
    n_all += page.points.size();
  }
  EXPECT_EQ(n_all, 20U);
}

}  // namespace
}  // namespace quiver::engine::testing
