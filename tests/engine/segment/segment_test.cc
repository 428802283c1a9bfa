#include "engine/segment/segment.h"

#include <gtest/gtest.h>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest() : random_(9), rows_(random_rows(50, fields_, random_)) {
    segment_ = with_deleted(segment_of(rows_, fields_), {1, 4});
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  Random random_;
  std::vector<Row> rows_;
  Segment segment_;
};

TEST_F(SegmentTest, FindsLiveRows) {
  EXPECT_EQ(segment_.n_live(), 48U);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const bool is_dead = i == 1 || i == 4;
    EXPECT_EQ(segment_.find(rows_[i].id), is_dead ? std::nullopt : std::optional(i));
    EXPECT_EQ(segment_.is_live(i), !is_dead);
  }
  EXPECT_EQ(segment_.live().count(), 48U);
}

TEST_F(SegmentTest, RowsAreCopiesOfWhatWasAppended) {
  for (std::uint32_t i = 0; i < rows_.size(); ++i) EXPECT_EQ(segment_.row(i), rows_[i]);
}

TEST_F(SegmentTest, RowsWithAVector) {
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    const auto rows = live_with_vector(segment_, field);
    ASSERT_TRUE(rows);
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      EXPECT_EQ(rows->test(i), segment_.is_live(i) && is_present(rows_[i].vectors[field]));
    }
  }
}

TEST_F(SegmentTest, ASetFindsTheLiveVersion) {
  SegmentSet set;
  std::vector<Row> newer = {rows_[1]};
  newer[0].seq = Seq{1000};
  set.segments = {segment_, segment_of(newer, fields_, 2)};
  EXPECT_EQ(set.n_live(), 49U);
  ASSERT_TRUE(set.find(rows_[1].id));
  EXPECT_EQ(set.find(rows_[1].id)->segment, 1U);
  EXPECT_EQ(set.find(rows_[0].id)->segment, 0U);
  EXPECT_FALSE(set.find(rows_[4].id));
  EXPECT_TRUE(set.check());
  set.is_whole = false;
  EXPECT_EQ(set.check().error().code(), Code::kUnavailable);
}

TEST(LowerBoundRow, FirstNotBelow) {
  const std::vector<PointId> ids = {PointId::number(2), PointId::number(5)};
  EXPECT_EQ(lower_bound_row(ids, PointId::number(1)), 0U);
  EXPECT_EQ(lower_bound_row(ids, PointId::number(5)), 1U);
  EXPECT_EQ(lower_bound_row(ids, PointId::number(6)), 2U);
}

}  // namespace
}  // namespace quiver::engine::testing
