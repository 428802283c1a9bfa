#include "app/import/directory/bulk_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(BulkRowsTest, ColumnsFollowThePointsThatAreLeft) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points.erase(block.points.begin());
  block.points[0].vectors = {{"m", engine::MultiVector{2, 1, {8, 9}}}};
  const std::vector<FieldSchema> fields = {{.name = "d", .dim = 2},
                                           {.name = "s", .kind = FieldKind::kSparse},
                                           {.name = "m", .kind = FieldKind::kMulti, .dim = 1}};
  for (int repeat = 0; repeat < 2; ++repeat) {
    align_columns(block, fields);
    ASSERT_EQ(block.columns.size(), 3U);
    EXPECT_THAT(block.columns[0].batch.values, ElementsAre(3, 4, 0, 0));
    EXPECT_THAT(block.columns[0].present, ElementsAre(1, 0));
    EXPECT_THAT(block.columns[1].batch.offsets, ElementsAre(0, 0, 2));
    EXPECT_THAT(block.columns[1].batch.indices, ElementsAre(1, 9));
    EXPECT_THAT(block.columns[2].batch.offsets, ElementsAre(0, 2, 2));
    EXPECT_THAT(block.columns[2].present, ElementsAre(1, 0));
  }
}

TEST(BulkRowsTest, NoPointIsLeft) {
  RowBlock block = block_of(10, {1, 2, 3});
  block.columns = {dense_column(), sparse_column()};
  block.points.clear();
  align_columns(block, {{.name = "d", .dim = 2}, {.name = "s", .kind = FieldKind::kSparse}});
  EXPECT_THAT(block.columns[0].batch.values, IsEmpty());
  EXPECT_THAT(block.columns[1].batch.offsets, ElementsAre(0));
}

TEST(BulkRowsTest, UnfitPointsAreNamed) {
  RowBlock block = block_of(0, {1, 2, 3});
  block.points[1].vectors = {{"d", engine::DenseVector{1, 2, 3}}};
  block.points[2].vectors = {{"x", engine::DenseVector{1, 2}}};
  const std::vector<FieldSchema> fields = {{.name = "d", .dim = 2}};
  const auto describe = [](std::uint64_t row) { return "row " + std::to_string(row); };
  RowBlock stopped = block;
  BadRows stopping(OnBadRow::kStop);
  const auto outcome = remove_unfit(stopped, fields, stopping, describe);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("row 1: "));
  EXPECT_EQ(stopped.end_row, 1U);
  EXPECT_EQ(stopped.points.size(), 1U);
  BadRows skipping(OnBadRow::kSkip);
  EXPECT_TRUE(remove_unfit(block, fields, skipping, describe));
  EXPECT_EQ(skipping.count(), 2U);
  EXPECT_EQ(block.end_row, 3U);
}

}  // namespace
}  // namespace quiver::app
