// A full or failing disk: writes are refused as a whole, reads continue, and the store recovers in
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "storage/rows/shard_store.h"
#include "tests/fault/power_cut_fs.h"
#include "tests/fault/store_model.h"
#include "tests/patience.h"

namespace quiver::fault {
namespace {

using storage::RowBatch;
using storage::ShardStore;

constexpr std::uint64_t kSeed = 5;

class StorageDiskError : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) / "quiver_disk_error";
    std::filesystem::remove_all(directory_);
    store_ = open(disk_);
  }
  void TearDown() override {
    store_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  Result<std::unique_ptr<ShardStore>> try_open(std::shared_ptr<PowerCutDisk> disk,
                                               std::uint64_t write_buffer_bytes = 256 << 10) {
    storage::RuntimeOptions options;
    options.shard_write_buffer_bytes = write_buffer_bytes;
    options.file_system = std::move(disk);
    auto runtime = storage::Runtime::create(options).value();
    return ShardStore::open((directory_ / "shard").string(), runtime);
  }
  std::unique_ptr<ShardStore> open(std::shared_ptr<PowerCutDisk> disk,
                                   std::uint64_t write_buffer_bytes = 256 << 10) {
    return try_open(std::move(disk), write_buffer_bytes).value();
  }

  /// Writes the next batch of the series and applies it to the model if it is acknowledged.
  Result<> write_next() {
    RowBatch batch;
    StoreModel next = model_;
    add_batch(kSeed, n_ + 1, batch, next);
    QV_TRY(store_->write(batch));
    model_ = std::move(next);
    ++n_;
    return {};
  }
  void write_many(int n) {
    for (int i = 0; i < n; ++i) {
      const auto written = write_next();
      ASSERT_TRUE(written) << written.error().to_string();
    }
  }
  void expect_contents(const ShardStore& store) {
    const auto found = read_all(store);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_TRUE(*found == model_) << "holds " << n_batches(*found) << " batches, wanted " << n_;
  }
  void expect_contents_after_power_cut() {
    auto left = disk_->after_power_cut(Loss::kAllUnsynced, 1);
    expect_contents(*open(left));
  }

  std::filesystem::path directory_;
  std::shared_ptr<PowerCutDisk> disk_ = std::make_shared<PowerCutDisk>();
  std::unique_ptr<ShardStore> store_;
  StoreModel model_;
  std::uint64_t n_ = 0;
};

TEST_F(StorageDiskError, FullDiskRefusesWritesServesReadsAndRecovers) {
  write_many(40);
  for (int round = 0; round < 3; ++round) {
    disk_->set_capacity(disk_->used_bytes() + 500);
    Result<> refused;
    while ((refused = write_next())) {
    }
    EXPECT_EQ(refused.error().code(), Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("no space left on device"));
    EXPECT_FALSE(store_->stats().healthy);
    expect_contents(*store_);
    EXPECT_EQ(write_next().error().code(), Code::kResourceExhausted);
    expect_contents(*store_);
    disk_->set_capacity(std::nullopt);
    write_many(5);
    EXPECT_TRUE(store_->stats().healthy);
    expect_contents(*store_);
    expect_contents_after_power_cut();
  }
}

TEST_F(StorageDiskError, FullDiskDuringFlushRecovers) {
  // Keeps everything in the buffer, because a background flush would change the free space.
  store_ = nullptr;
  store_ = open(disk_, 16 << 20);
  write_many(40);
  disk_->set_capacity(disk_->used_bytes() + 1000);
  const auto flushed = store_->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), Code::kResourceExhausted) << flushed.error().to_string();
  expect_contents(*store_);
  disk_->set_capacity(std::nullopt);
  write_many(10);
  const auto again = store_->flush();
  EXPECT_TRUE(again) << again.error().to_string();
  expect_contents(*store_);
  expect_contents_after_power_cut();
}

/// Whatever is already written of it, the reason is the disk, and it is made when there is space.
TEST_F(StorageDiskError, AStoreIsNotMadeOnAFullDisk) {
  int n_refused = 0;
  for (std::uint64_t capacity = 0;; capacity += 48) {
    SCOPED_TRACE(capacity);
    auto disk = std::make_shared<PowerCutDisk>();
    disk->set_capacity(capacity);
    auto made = try_open(disk);
    if (made) break;
    ++n_refused;
    EXPECT_EQ(made.error().code(), Code::kResourceExhausted) << made.error().to_string();
    disk->set_capacity(std::nullopt);
    store_ = open(disk);
    model_ = {};
    n_ = 0;
    write_many(2);
    expect_contents(*store_);
    store_ = nullptr;
  }
  EXPECT_GT(n_refused, 5);
}

TEST_F(StorageDiskError, AnEmptyBatchRepairs) {
  write_many(3);
  disk_->set_capacity(disk_->used_bytes());
  EXPECT_FALSE(write_next());
  EXPECT_FALSE(store_->write(RowBatch()));
  disk_->set_capacity(std::nullopt);
  EXPECT_TRUE(store_->write(RowBatch()));
  EXPECT_TRUE(store_->stats().healthy);
  expect_contents(*store_);
}

/// Only the sync failed, so the log may hold the whole batch. It must not come back.
TEST_F(StorageDiskError, ABatchWhoseSyncFailedDoesNotComeBack) {
  write_many(25);
  for (int round = 0; round < 5; ++round) {
    disk_->fail_syncs(1000);
    const auto refused = write_next();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kUnavailable) << refused.error().to_string();
    expect_contents(*store_);
    disk_->fail_syncs(0);
    ASSERT_TRUE(store_->write(RowBatch()));
    expect_contents(*store_);
    expect_contents_after_power_cut();
    write_many(6);
    expect_contents(*store_);
    expect_contents_after_power_cut();
  }
}

/// The failure may hit the log, where the write repairs it unnoticed, or a background compaction,
/// after which writes are refused until the repair. In both cases nothing is lost and no restart is
/// needed.
TEST_F(StorageDiskError, AFailureThatPassesIsMended) {
  const auto write_in_the_end = [&] {
    const auto limit = patience_end(std::chrono::seconds(10));
    while (std::chrono::steady_clock::now() < limit) {
      if (write_next()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << "writes are refused for good";
  };
  write_many(10);
  for (int round = 0; round < 5; ++round) {
    disk_->fail_syncs(1);
    for (int i = 0; i < 3; ++i) write_in_the_end();
    disk_->fail_appends(1);
    for (int i = 0; i < 3; ++i) write_in_the_end();
  }
  expect_contents(*store_);
  expect_contents_after_power_cut();
}

TEST_F(StorageDiskError, ReopenedAfterAFailedWriteItHoldsTheBatchWholeOrNot) {
  write_many(12);
  disk_->fail_syncs(1000);
  ASSERT_FALSE(write_next());
  store_ = nullptr;
  disk_->fail_syncs(0);
  store_ = open(disk_);
  const auto found = read_all(*store_).value();
  EXPECT_TRUE(found == model_after(kSeed, n_) || found == model_after(kSeed, n_ + 1));
}

}  // namespace
}  // namespace quiver::fault
