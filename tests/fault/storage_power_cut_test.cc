// Batches that `ShardStore::write` acknowledged survive the loss of everything that was not synced.
// Other batches are there whole or not at all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "storage/rows/shard_store.h"
#include "tests/fault/power_cut_fs.h"
#include "tests/fault/store_model.h"
#include "tests/soak.h"

namespace quiver::fault {
namespace {

using storage::RowBatch;
using storage::RuntimeOptions;
using storage::ShardStore;

struct Cut {
  std::shared_ptr<PowerCutDisk> disk;
  std::uint64_t at_change;
  std::uint64_t acknowledged;  ///< batches before the cut
  std::uint64_t started;       ///< batches after the cut
};

std::shared_ptr<storage::Runtime> small_runtime(std::shared_ptr<PowerCutDisk> disk) {
  RuntimeOptions options;
  options.shard_write_buffer_bytes = 64 << 10;  // small, so that flushes and compactions happen
  options.file_system = std::move(disk);
  return storage::Runtime::create(options).value();
}

class StoragePowerCut : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ("quiver_power_cut_" + std::to_string(getpid()));
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return (directory_ / "shard").string(); }

  std::vector<Cut> run_with_cuts(std::uint64_t seed, std::uint64_t n_total, std::uint64_t every) {
    Mutex mutex;
    std::vector<Cut> cuts;
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<std::uint64_t> started{0};
    auto disk = std::make_shared<PowerCutDisk>();
    disk->on_change([&](std::uint64_t n) {
      if (n % every != 0) return;
      const std::uint64_t at_least = acknowledged;
      const auto loss = static_cast<Loss>(n / every % kNumLosses);
      auto left = disk->after_power_cut(loss, seed + n);
      MutexLock lock(mutex);
      cuts.push_back({std::move(left), n, at_least, started});
    });
    write_all(disk, seed, n_total, started, acknowledged);
    disk->on_change(nullptr);
    cuts.push_back({disk->after_power_cut(Loss::kAllUnsynced, seed), 0, n_total, n_total});
    return cuts;
  }

  void write_all(const std::shared_ptr<PowerCutDisk>& disk, std::uint64_t seed,
                 std::uint64_t n_total, std::atomic<std::uint64_t>& started,
                 std::atomic<std::uint64_t>& acknowledged) {
    auto store = ShardStore::open(path(), small_runtime(disk));
    ASSERT_TRUE(store) << store.error().to_string();
    StoreModel model;
    for (std::uint64_t n = 1; n <= n_total; ++n) {
      RowBatch batch;
      add_batch(seed, n, batch, model);
      started = n;
      const auto written = (*store)->write(batch);
      ASSERT_TRUE(written) << written.error().to_string();
      acknowledged = n;
      if (n % 97 == 0) {
        ASSERT_TRUE((*store)->reclaim());
      }
    }
  }

  void check(const Cut& cut, std::uint64_t seed) {
    auto store = ShardStore::open(path(), small_runtime(cut.disk));
    ASSERT_TRUE(store) << store.error().to_string();
    const auto found = read_all(**store);
    ASSERT_TRUE(found) << found.error().to_string();
    const std::uint64_t n = n_batches(*found);
    EXPECT_GE(n, cut.acknowledged);
    EXPECT_LE(n, cut.started);
    EXPECT_TRUE(*found == model_after(seed, n)) << "not the state after " << n << " batches";
    RowBatch more;
    StoreModel unused;
    add_batch(seed, n + 1, more, unused);
    EXPECT_TRUE((*store)->write(more));
    const auto after = read_all(**store);
    ASSERT_TRUE(after);
    EXPECT_TRUE(*after == model_after(seed, n + 1));
  }

  std::filesystem::path directory_;
};

TEST_F(StoragePowerCut, AcknowledgedBatchesSurviveAtEveryCut) {
  constexpr std::uint64_t kBatches = 240;
  run_trials({.n_least = 2}, [&](std::uint64_t seed) {
    const auto cuts = run_with_cuts(seed, kBatches, 7);
    EXPECT_GT(cuts.size(), 100U);
    for (const Cut& cut : cuts) {
      SCOPED_TRACE("power cut before change " + std::to_string(cut.at_change));
      check(cut, seed);
      if (HasFatalFailure()) return;
    }
    note_soak("states", cuts.size());
    note_soak("of them of a store", cuts.size());
  });
}

/// Shows that the test can fail: without syncs, acknowledged batches are lost.
TEST_F(StoragePowerCut, WithoutSyncAcknowledgedBatchesAreLost) {
  auto disk = std::make_shared<PowerCutDisk>();
  RuntimeOptions options;
  options.file_system = disk;
  options.sync = false;
  auto store = ShardStore::open(path(), storage::Runtime::create(options).value()).value();
  RowBatch batch;
  StoreModel model;
  add_batch(1, 1, batch, model);
  ASSERT_TRUE(store->write(batch));
  auto left = disk->after_power_cut(Loss::kAllUnsynced, 1);
  store = nullptr;
  const auto reopened = ShardStore::open(path(), small_runtime(left)).value();
  EXPECT_TRUE(read_all(*reopened).value() == StoreModel());
}

}  // namespace
}  // namespace quiver::fault
