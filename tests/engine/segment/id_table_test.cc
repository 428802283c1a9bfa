#include "engine/segment/id_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quiver::engine {
namespace {

TEST(IdTable, FindsEveryVersionOfAPoint) {
  constexpr std::size_t kRows = 100;
  IdTable table(kRows);
  EXPECT_GE(table.capacity(), kRows);
  std::vector<PointId> ids;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    ids.push_back(PointId::number(row % 30));
    table.insert(ids.back(), row);
  }
  for (std::uint64_t id = 0; id < 30; ++id) {
    std::vector<std::uint32_t> rows;
    EXPECT_FALSE(table.find(PointId::number(id), ids, [&](std::uint32_t row) {
      rows.push_back(row);
      return false;
    }));
    std::sort(rows.begin(), rows.end());
    std::vector<std::uint32_t> expected;
    for (auto row = static_cast<std::uint32_t>(id); row < kRows; row += 30) expected.push_back(row);
    EXPECT_EQ(rows, expected);
  }
  EXPECT_FALSE(table.find(PointId::number(30), ids, [](std::uint32_t) { return true; }));
}

TEST(IdTable, RowsBeyondASnapshotAreSkipped) {
  IdTable table(8);
  std::vector<PointId> ids = {PointId::number(1), PointId::number(1)};
  table.insert(ids[0], 0);
  table.insert(ids[1], 1);
  const std::span<const PointId> snapshot(ids.data(), 1);
  EXPECT_TRUE(table.find(ids[0], snapshot, [](std::uint32_t row) { return row == 0; }));
  EXPECT_FALSE(table.find(ids[0], snapshot, [](std::uint32_t row) { return row == 1; }));
}

}  // namespace
}  // namespace quiver::engine
