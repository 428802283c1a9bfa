#include "engine/spread/split.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace quiver::engine {
namespace {

std::vector<PointId> some_ids(std::uint64_t n) {
  std::vector<PointId> ids;
  for (std::uint64_t i = 0; i < n; ++i) ids.push_back(PointId::number(i));
  return ids;
}

TEST(SplitByPart, EachPointGoesToThePartOfItsId) {
  constexpr std::uint32_t kParts = 3;
  Upsert upsert;
  for (const auto& id : some_ids(40)) upsert.points.push_back({id, {}, "{}"});
  upsert.mode = UpsertMode::kInsertOnly;
  const auto parts = split_by_part({upsert, DeletePoints{some_ids(40)}}, kParts);
  ASSERT_EQ(parts.size(), kParts);
  std::set<PointId> upserted, deleted;
  for (std::uint32_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(parts[i].numbers, (std::vector<std::size_t>{0, 1}));
    const auto& own = std::get<Upsert>(parts[i].operations[0]);
    EXPECT_EQ(own.mode, UpsertMode::kInsertOnly);
    for (const auto& point : own.points) {
      EXPECT_EQ(shard_of(point.id, kParts), i);
      EXPECT_TRUE(upserted.insert(point.id).second);
    }
    const auto& gone = std::get<DeletePoints>(parts[i].operations[1]);
    for (const auto& id : std::get<std::vector<PointId>>(gone.points)) {
      EXPECT_EQ(shard_of(id, kParts), i);
      EXPECT_TRUE(deleted.insert(id).second);
    }
  }
  EXPECT_EQ(upserted.size(), 40U);
  EXPECT_EQ(deleted.size(), 40U);
}

TEST(SplitByPart, WhatAFilterChangesIsForAllPartsAndNothingIsForNone) {
  payload::Filter filter;
  filter.must = {payload::HasId{some_ids(3)}};
  const SetPayload set{R"({"a":1})", {}, filter};
  const auto parts = split_by_part({DeletePoints{std::vector<PointId>()}, set}, 2);
  for (const auto& part : parts) {
    EXPECT_EQ(part.numbers, (std::vector<std::size_t>{1}));
    const auto& own = std::get<SetPayload>(part.operations[0]);
    EXPECT_EQ(own.payload, R"({"a":1})");
    EXPECT_TRUE(std::holds_alternative<payload::Filter>(own.points));
  }
  const PointId id = PointId::number(5);
  const auto one = split_by_part({ClearPayload{std::vector{id}}}, 4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(one[i].operations.size(), i == shard_of(id, 4) ? 1U : 0U);
  }
}

}  // namespace
}  // namespace quiver::engine
