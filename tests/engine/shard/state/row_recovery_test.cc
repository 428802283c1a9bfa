#include "engine/shard/state/row_recovery.h"

#include <gtest/gtest.h>

#include "storage/rows/row_batch.h"
#include "tests/engine/shard/shard_parts.h"

namespace quiver::engine::testing {
namespace {

class RowRecoveryTest : public ShardParts {
 protected:
  void store(std::uint64_t id, std::uint64_t seq) {
    storage::RowBatch batch;
    batch.put_row(PointId::number(id), encode_row(dense_row(id, seq)));
    ASSERT_TRUE(common_->store().write(batch));
  }
  Result<> recover(std::vector<std::uint64_t> numbers) {
    std::vector<PointId> ids;
    for (const std::uint64_t number : numbers) ids.push_back(PointId::number(number));
    auto recovered = RowRecovery(*common_, *table_).recover(ids);
    table_->publish();
    return recovered;
  }
};

TEST_F(RowRecoveryTest, SegmentsFollowTheStore) {
  put(1);
  put(2);
  put(3);
  store(1, 1);  // as it is
  store(2, 7);  // newer; 3 is gone
  store(4, 8);  // in no segment
  ASSERT_TRUE(recover({1, 2, 3, 4, 5}));
  EXPECT_EQ(seq_of(1), 1U);
  EXPECT_EQ(seq_of(2), 7U);
  EXPECT_EQ(seq_of(3), std::nullopt);
  EXPECT_EQ(seq_of(4), 8U);
  EXPECT_EQ(table_->next_seq(), Seq{9});
  EXPECT_EQ(table_->mutable_segment().n_rows(), 5U)
      << "what is as it should be is not appended again";
}

TEST_F(RowRecoveryTest, FullSegmentsAreFrozen) {
  config_->optimizer.seal_rows = 2;
  for (std::uint64_t id = 1; id <= 5; ++id) store(id, id);
  ASSERT_TRUE(recover({1, 2, 3, 4, 5}));
  EXPECT_EQ(table_->n_unsealed(), 2U);
  for (std::uint64_t id = 1; id <= 5; ++id) EXPECT_EQ(seq_of(id), id);
}

TEST_F(RowRecoveryTest, RebuildFindsEveryRow) {
  put(1);
  for (std::uint64_t id = 1; id <= 400; ++id) store(id, id);
  ASSERT_TRUE(RowRecovery(*common_, *table_).rebuild());
  table_->publish();
  EXPECT_EQ(table_->snapshot()->n_live(), 400U);
  EXPECT_EQ(table_->damaged().rebuild_barrier, table_->mutable_segment().id());
}

TEST_F(RowRecoveryTest, RebuildEndsWhenTheShardCloses) {
  store(1, 1);
  common_->closed = true;
  const auto rebuilt = RowRecovery(*common_, *table_).rebuild();
  ASSERT_FALSE(rebuilt);
  EXPECT_EQ(rebuilt.error().code(), Code::kUnavailable);
}

TEST_F(RowRecoveryTest, DamagedRowsAreDataLoss) {
  storage::RowBatch batch;
  batch.put_row(PointId::number(1), "x");
  ASSERT_TRUE(common_->store().write(batch));
  const auto recovered = recover({1});
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::engine::testing
