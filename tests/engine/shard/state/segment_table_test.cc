#include "engine/shard/state/segment_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/engine/shard/shard_parts.h"

namespace quiver::engine::testing {
namespace {

class SegmentTableTest : public ShardParts {};

TEST_F(SegmentTableTest, ChangesAreVisibleWhenTheyArePublished) {
  table_->append(dense_row(1, 1));
  EXPECT_EQ(seq_of(1), std::nullopt);
  table_->publish();
  EXPECT_EQ(seq_of(1), 1U);
  const auto before = table_->snapshot();
  table_->remove(PointId::number(1));
  EXPECT_EQ(seq_of(1), 1U);
  table_->publish();
  EXPECT_EQ(seq_of(1), std::nullopt);
  EXPECT_TRUE(before->find(PointId::number(1))) << "readers keep their snapshot";
}

TEST_F(SegmentTableTest, TheMutableSegmentIsPublishedApartWhileItIsEmpty) {
  table_->publish();
  ASSERT_NE(table_->snapshot()->empty_mutable, nullptr);
  EXPECT_EQ(table_->snapshot()->empty_mutable->id, table_->mutable_segment().id());
  EXPECT_TRUE(table_->snapshot()->segments.empty());
  put(1);
  EXPECT_EQ(table_->snapshot()->empty_mutable, nullptr);
  EXPECT_EQ(table_->snapshot()->segments.size(), 1U);
  table_->freeze();
  table_->publish();
  EXPECT_NE(table_->snapshot()->empty_mutable, nullptr);
  EXPECT_EQ(table_->snapshot()->segments.size(), 1U);
}

/// Random writes, freezes and seals against a map.
TEST_F(SegmentTableTest, OneVersionOfAPointIsLive) {
  constexpr std::uint64_t kSeedOfRows = 5;
  SCOPED_TRACE(kSeedOfRows);
  std::mt19937_64 random(kSeedOfRows);
  std::map<std::uint64_t, std::uint64_t> expected;
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t id = random() % 40;
    if (random() % 4 == 0) {
      erase(id);
      expected.erase(id);
    } else {
      expected[id] = to_number(table_->next_seq());
      put(id);
    }
    if (random() % 50 == 0) {
      table_->freeze();
      table_->publish();
    } else if (random() % 50 == 0 && table_->mutable_segment().n_rows() != 0) {
      seal();
    }
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto found = expected.find(i);
      ASSERT_EQ(seq_of(i), found == expected.end() ? std::nullopt : std::optional(found->second));
    }
    ASSERT_EQ(table_->snapshot()->n_live(), expected.size());
  }
  EXPECT_GT(table_->segments().size(), 3U);
}

TEST_F(SegmentTableTest, DeletesDuringAJobHoldInItsOutput) {
  for (const std::uint64_t id : {1, 2, 3}) put(id);
  table_->freeze();
  table_->publish();
  const std::vector<Segment> inputs = {table_->segments().front().view};
  table_->set_busy(inputs, true);
  EXPECT_TRUE(table_->segments().front().busy);
  const auto rows = live_rows_by_id(inputs);
  auto data = write_sealed(inputs, rows);
  erase(2);
  auto output = table_->successor(inputs, rows, std::move(data));
  EXPECT_EQ(output.n_deleted, 1U);
  table_->replace(inputs, std::move(output));
  table_->publish();
  ASSERT_EQ(table_->segments().size(), 1U);
  EXPECT_TRUE(table_->segments().front().sealed());
  EXPECT_EQ(seq_of(1), 1U);
  EXPECT_EQ(seq_of(2), std::nullopt);
}

TEST_F(SegmentTableTest, RemoveAllSparesTheKeptSegment) {
  for (const std::uint64_t id : {1, 2, 3}) put(id);
  seal();
  put(4);
  table_->freeze();
  table_->publish();
  put(5);
  const std::uint64_t kept = table_->segments().front().id();
  const std::vector<PointId> ids = {PointId::number(2), PointId::number(4), PointId::number(5)};
  table_->remove_all(ids, kept);
  table_->publish();
  EXPECT_TRUE(seq_of(2));
  EXPECT_FALSE(seq_of(4));
  EXPECT_FALSE(seq_of(5));
  table_->remove_all(ids, kept + 100);
  table_->publish();
  EXPECT_FALSE(seq_of(2));
  EXPECT_TRUE(seq_of(3));
  EXPECT_EQ(table_->n_rows_dropped(), 3U);
}

TEST_F(SegmentTableTest, SealedSegmentsCoverWhatIsBeforeUnsealedRows) {
  EXPECT_EQ(table_->covered_seq({}), Seq{0});
  put(1);
  EXPECT_EQ(table_->covered_seq({}), Seq{0});
  seal();
  EXPECT_EQ(table_->covered_seq({}), Seq{1});
  put(2);
  put(3);
  EXPECT_EQ(table_->covered_seq({}), Seq{1});
  table_->freeze();
  const std::vector<Segment> frozen = {table_->segments().back().view};
  EXPECT_EQ(table_->covered_seq({}), Seq{1});
  EXPECT_EQ(table_->covered_seq(frozen), Seq{3});
  EXPECT_EQ(table_->n_unsealed(), 1U);
}

TEST_F(SegmentTableTest, FullByRowsOrBytes) {
  config_->optimizer.seal_rows = 2;
  put(1);
  EXPECT_FALSE(table_->is_full());
  put(2);
  EXPECT_TRUE(table_->is_full());
  EXPECT_FALSE(table_->is_worth_sealing());
  const std::uint64_t id = table_->mutable_segment().id();
  table_->freeze();
  EXPECT_FALSE(table_->is_full());
  EXPECT_GT(table_->mutable_segment().id(), id);
}

TEST_F(SegmentTableTest, WorthSealingFromTheSizeThatAClientSet) {
  put(1);
  const std::uint64_t bytes = data_bytes(table_->mutable_segment().snapshot()->fields.front());
  EXPECT_FALSE(table_->is_worth_sealing());
  config_->optimizer.index_min_bytes = 2 * bytes;
  EXPECT_FALSE(table_->is_worth_sealing());
  put(2);
  EXPECT_TRUE(table_->is_worth_sealing());
  table_->freeze();
  EXPECT_FALSE(table_->is_worth_sealing()) << "an empty one";
}

}  // namespace
}  // namespace quiver::engine::testing
