#include "app/import/directory/bulk_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

using testing::ElementsAre;
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

}  // namespace
}  // namespace quiver::app
