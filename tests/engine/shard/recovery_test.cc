#include "engine/shard/recovery.h"

#include <gtest/gtest.h>

#include "storage/rows/row_batch.h"
#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class RecoveryTest : public ShardRig {
 protected:
  /// Changes the closed shard's store.
  void change_store(const std::function<void(storage::RowBatch&)>& change) {
    const auto store =
        storage::ShardStore::open(rows_path(root_.string()), context_.runtime).value();
    storage::RowBatch batch;
    change(batch);
    ASSERT_TRUE(store->write(batch));
    ASSERT_TRUE(store->close());
  }
  void seal_ten() {
    config_->optimizer.seal_rows = 10;
    open();
    ASSERT_TRUE(send(put_request({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})));
    ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  }
};

TEST_F(RecoveryTest, LaterChangesAreReplayedOverSealedSegments) {
  seal_ten();
  ASSERT_TRUE(send(put_request({3, 20})));
  ASSERT_TRUE(send(delete_request(4)));
  const auto seq = shard_->snapshot()->seq;
  open();
  EXPECT_EQ(shard_->snapshot()->seq, seq);
  EXPECT_EQ(shard_->snapshot()->n_live(), 10U);
  EXPECT_EQ(n_sealed(), 1U);
  EXPECT_TRUE(has(20));
  EXPECT_FALSE(has(4));
}

TEST_F(RecoveryTest, RowsOfADamagedSegmentComeFromTheStore) {
  seal_ten();
  shard_.reset();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ / "segments")) {
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 10);
  }
  open();
  EXPECT_EQ(shard_->snapshot()->n_live(), 10U);
  EXPECT_EQ(shard_->status().n_damaged, 1U);
}

TEST_F(RecoveryTest, DirectoriesThatNoManifestNamesAreRemoved) {
  seal_ten();
  shard_.reset();
  std::filesystem::create_directories(root_ / "segments" / "1");
  open();
  EXPECT_EQ(n_segment_directories(), 1U);
}

TEST_F(RecoveryTest, DamagedRecordsAreDataLoss) {
  ASSERT_TRUE(send(put_request({1})));
  shard_.reset();
  change_store([](storage::RowBatch& batch) { batch.put_meta(kOwnerKey, "nobody"); });
  auto opened = Shard::open(root_.string(), config_, context_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  change_store([](storage::RowBatch& batch) { batch.put_meta(kManifestKey, "{}"); });
  opened = Shard::open(root_.string(), config_, context_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kDataLoss);
}

TEST_F(RecoveryTest, FilesGetOneOwner) {
  const auto owner = [&] {
    shard_.reset();
    const auto store =
        storage::ShardStore::open(rows_path(root_.string()), context_.runtime).value();
    return store->meta(kOwnerKey).value().value();
  };
  const std::string first = owner();
  EXPECT_EQ(first.size(), 16U);
  open();
  EXPECT_EQ(owner(), first);
}

}  // namespace
}  // namespace quiver::engine::testing
