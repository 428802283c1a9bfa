#include "app/import/reading/unfit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/app/import/support.h"

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(UnfitRows, UnfitPointsAreNamed) {
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

/// The server clamps such numbers; an import must not.
TEST(UnfitRows, NumbersThatWouldBeClamped) {
  const std::vector<FieldSchema> fields = {{.name = "d", .dim = 2, .dtype = DType::kU8},
                                           {.name = "f", .dim = 2}};
  RowBlock block = block_of(0, {1, 2, 3});
  block.columns = {dense_column()};
  block.points[2].vectors = {{"f", engine::DenseVector{-1, 256}}};
  EXPECT_FALSE(would_be_clamped(block, fields));
  block.points[2].vectors = {{"d", engine::DenseVector{0, 256}}};
  EXPECT_TRUE(would_be_clamped(block, fields));
  block.points[2].vectors.clear();
  block.columns[0].batch.values[1] = -1;
  EXPECT_TRUE(would_be_clamped(block, fields));
  BadRows bad_rows(OnBadRow::kStop);
  const auto outcome = remove_unfit(block, fields, bad_rows, [](auto) { return "row 0"; });
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message(), HasSubstr("0 to 255, but position 1 has -1"));
  EXPECT_TRUE(block.points.empty());
}

}  // namespace
}  // namespace quiver::app
