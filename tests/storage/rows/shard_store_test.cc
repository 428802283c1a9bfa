#include "storage/rows/shard_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/patience.h"

namespace quiver::storage {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ShardStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / "quiver_shard_store" / test->name();
    fs::remove_all(directory_);
    reopen();
  }
  void TearDown() override {
    store_ = nullptr;
    fs::remove_all(directory_);
  }

  [[nodiscard]] std::string path() const { return (directory_ / "shard").string(); }
  void reopen() {
    store_ = nullptr;
    auto opened = ShardStore::open(path(), runtime_);
    ASSERT_TRUE(opened) << opened.error().to_string();
    store_ = *std::move(opened);
  }
  void write(const RowBatch& batch) {
    const auto written = store_->write(batch);
    ASSERT_TRUE(written) << written.error().to_string();
  }
  [[nodiscard]] std::vector<PointId> ids_from(std::optional<PointId> from, std::size_t limit) {
    std::vector<PointId> ids;
    EXPECT_TRUE(store_->scan_rows(from, [&](const PointId& id, std::string_view) {
      ids.push_back(id);
      return ids.size() < limit;
    }));
    return ids;
  }
  [[nodiscard]] std::vector<std::uint64_t> ops_from(std::uint64_t from) {
    std::vector<std::uint64_t> seqs;
    EXPECT_TRUE(store_->scan_ops(Seq{from}, [&](Seq seq, std::string_view) {
      seqs.push_back(to_number(seq));
      return true;
    }));
    return seqs;
  }

  fs::path directory_;
  std::shared_ptr<Runtime> runtime_ = Runtime::create({}).value();
  std::unique_ptr<ShardStore> store_;
};

TEST_F(ShardStoreTest, EmptyStore) {
  EXPECT_EQ(store_->row(PointId::number(1)).value(), std::nullopt);
  EXPECT_EQ(store_->last_op().value(), std::nullopt);
  EXPECT_EQ(store_->meta("x").value(), std::nullopt);
  EXPECT_TRUE(ids_from(std::nullopt, 10).empty());
  EXPECT_TRUE(store_->write(RowBatch()));
  EXPECT_TRUE(store_->flush());
  EXPECT_TRUE(store_->reclaim());
  EXPECT_TRUE(store_->stats().healthy);
}

TEST_F(ShardStoreTest, KeepsEverythingOverReopening) {
  RowBatch batch;
  const std::string large(5000, 'L');
  batch.put_row(PointId::number(7), "small");
  batch.put_row(PointId::uuid(1, 2), large);
  batch.put_row(PointId::number(8), "");
  batch.put_op(Seq{3}, "op three");
  batch.put_meta("manifest", std::string("\0binary", 7));
  write(batch);
  for (int round = 0; round < 2; ++round) {
    reopen();
    EXPECT_EQ(store_->row(PointId::number(7)).value(), "small");
    EXPECT_EQ(store_->row(PointId::uuid(1, 2)).value(), large);
    EXPECT_EQ(store_->row(PointId::number(8)).value(), "");
    EXPECT_EQ(store_->last_op().value(), Seq{3});
    EXPECT_EQ(store_->meta("manifest").value(), std::string("\0binary", 7));
    ASSERT_TRUE(store_->flush());
  }
}

TEST_F(ShardStoreTest, TheLastChangeOfAKeyInABatchWins) {
  RowBatch batch;
  batch.put_row(PointId::number(1), "a");
  batch.put_row(PointId::number(1), "b");
  batch.put_row(PointId::number(2), "a");
  batch.delete_row(PointId::number(2));
  batch.delete_meta("m");
  batch.put_meta("m", "1");
  write(batch);
  EXPECT_EQ(store_->row(PointId::number(1)).value(), "b");
  EXPECT_EQ(store_->row(PointId::number(2)).value(), std::nullopt);
  EXPECT_EQ(store_->meta("m").value(), "1");
}

TEST_F(ShardStoreTest, ScansNumbersBeforeUuidsInOrder) {
  const std::vector<PointId> ordered{PointId::number(0),   PointId::number(255),
                                     PointId::number(256), PointId::number(~0ULL),
                                     PointId::uuid(0, 0),  PointId::uuid(0, ~0ULL),
                                     PointId::uuid(1, 0),  PointId::uuid(~0ULL, ~0ULL)};
  RowBatch batch;
  for (auto id = ordered.rbegin(); id != ordered.rend(); ++id) batch.put_row(*id, "x");
  write(batch);
  EXPECT_EQ(ids_from(std::nullopt, 100), ordered);
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const std::vector<PointId> tail(ordered.begin() + static_cast<std::ptrdiff_t>(i),
                                    ordered.end());
    EXPECT_EQ(ids_from(ordered[i], 100), tail);
  }
  EXPECT_EQ(ids_from(PointId::number(1), 1), std::vector{PointId::number(255)});
}

TEST_F(ShardStoreTest, RowsVisitsEveryIdInOrder) {
  RowBatch batch;
  for (std::uint64_t n = 0; n < 1000; n += 2) {
    batch.put_row(PointId::number(n), std::string(n * 3, 'v'));
  }
  write(batch);
  for (int round = 0; round < 2; ++round) {
    std::vector<PointId> ids;
    for (std::uint64_t n = 0; n < 1000; ++n) ids.push_back(PointId::number((n * 7) % 1000));
    ids.push_back(PointId::number(4));
    ids.push_back(PointId::number(4));
    std::size_t expected = 0;
    ASSERT_TRUE(store_->rows(ids, [&](std::size_t i, std::optional<std::string_view> row) {
      ASSERT_EQ(i, expected++);
      const std::uint64_t n = ids[i].low();
      ASSERT_EQ(row.has_value(), n % 2 == 0);
      if (row) {
        EXPECT_EQ(*row, std::string(n * 3, 'v'));
      }
    }));
    EXPECT_EQ(expected, ids.size());
    ASSERT_TRUE(store_->flush());  // the second round reads blob files
  }
}

TEST_F(ShardStoreTest, OperationsAreOrderedAndTrimmed) {
  RowBatch batch;
  for (const std::uint64_t seq : {300, 1, 255, 256, 2, 65536}) batch.put_op(Seq{seq}, "op");
  write(batch);
  EXPECT_EQ(ops_from(0), (std::vector<std::uint64_t>{1, 2, 255, 256, 300, 65536}));
  EXPECT_EQ(ops_from(256), (std::vector<std::uint64_t>{256, 300, 65536}));
  batch.clear();
  batch.trim_ops(Seq{256});
  batch.put_op(Seq{5}, "after the trim, in the same batch");
  write(batch);
  EXPECT_EQ(ops_from(0), (std::vector<std::uint64_t>{5, 256, 300, 65536}));
  EXPECT_EQ(store_->last_op().value(), Seq{65536});
  batch.clear();
  batch.trim_ops(Seq{65537});
  write(batch);
  EXPECT_EQ(store_->last_op().value(), std::nullopt);
  reopen();
  EXPECT_EQ(store_->last_op().value(), std::nullopt);
}

TEST_F(ShardStoreTest, ScanMetaByPrefix) {
  RowBatch batch;
  for (const char* key : {"segment/1", "segment/2", "segment0", "segmen", "t"}) {
    batch.put_meta(key, key);
  }
  write(batch);
  std::vector<std::string> found;
  ASSERT_TRUE(store_->scan_meta("segment/", [&](std::string_view key, std::string_view value) {
    EXPECT_EQ(key, value);
    found.emplace_back(key);
    return true;
  }));
  EXPECT_EQ(found, (std::vector<std::string>{"segment/1", "segment/2"}));
}

TEST_F(ShardStoreTest, MatchesAMapOverRandomBatchesAndReopenings) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  std::map<PointId, std::string> model;
  for (int round = 0; round < 60; ++round) {
    RowBatch batch;
    for (std::uint64_t i = 0, n = random() % 40; i < n; ++i) {
      const std::uint64_t key = random() % 100;
      const PointId id = key < 50 ? PointId::number(key) : PointId::uuid(key, 0);
      if (random() % 3 == 0) {
        batch.delete_row(id);
        model.erase(id);
      } else {
        model[id] = std::string(random() % 3000, static_cast<char>('a' + random() % 26));
        batch.put_row(id, model[id]);
      }
    }
    write(batch);
    if (random() % 5 == 0) {
      ASSERT_NO_FATAL_FAILURE(reopen());
    }
    if (random() % 7 == 0) {
      ASSERT_TRUE(store_->reclaim());
    }
    std::map<PointId, std::string> found;
    ASSERT_TRUE(store_->scan_rows(std::nullopt, [&](const PointId& id, std::string_view row) {
      found.emplace(id, row);
      return true;
    }));
    ASSERT_TRUE(found == model) << "round " << round;
  }
}

TEST_F(ShardStoreTest, ReclaimReturnsTheSpaceOfDeletedRows) {
  std::mt19937_64 random(3);
  const auto row = [&] {
    std::string bytes(2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  RowBatch batch;
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    batch.put_row(PointId::number(n), row());
    batch.put_op(Seq{n + 1}, "op");
    if (n % 1000 == 999) {
      write(batch);
      batch.clear();
    }
  }
  ASSERT_TRUE(store_->reclaim());
  const std::uint64_t full = store_->disk_bytes();
  EXPECT_GT(full, 20'000U * 2000);
  for (std::uint64_t n = 0; n < 20'000; ++n) {
    if (n % 10 != 0) batch.delete_row(PointId::number(n));
  }
  batch.trim_ops(Seq{20'001});
  write(batch);
  EXPECT_EQ(store_->stats().rows_deleted, 18'000U);
  ASSERT_TRUE(store_->reclaim());
  EXPECT_EQ(store_->stats().rows_deleted, 0U);
  const auto end = patience_end(std::chrono::seconds(10));
  while (store_->disk_bytes() > full / 8 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(store_->disk_bytes(), full / 8) << "of " << full;
  EXPECT_EQ(ids_from(std::nullopt, 100'000).size(), 2000U);
  EXPECT_NEAR(static_cast<double>(store_->stats().rows_estimate), 2000.0, 200.0);
}

TEST_F(ShardStoreTest, ASmallStoreTakesLittleDisk) {
  RowBatch batch;
  batch.put_row(PointId::number(1), "x");
  write(batch);
  EXPECT_LT(store_->disk_bytes(), 200U << 10);
}

TEST_F(ShardStoreTest, ReadersAndWritersTogether) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        // Every batch writes the same value to both keys, so a reader must see one state.
        std::vector<std::string> seen;
        EXPECT_TRUE(store_->scan_rows(std::nullopt, [&](const PointId&, std::string_view row) {
          seen.emplace_back(row);
          return true;
        }));
        if (seen.size() == 2) {
          EXPECT_EQ(seen[0], seen[1]);
        }
        EXPECT_TRUE(store_->row(PointId::number(1)));
      }
    });
  }
  for (int n = 0; n < 300; ++n) {
    RowBatch batch;
    batch.put_row(PointId::number(1), std::string(1500, static_cast<char>('a' + n % 26)));
    batch.put_row(PointId::uuid(1, 1), std::string(1500, static_cast<char>('a' + n % 26)));
    write(batch);
    if (n % 60 == 0) {
      EXPECT_TRUE(store_->reclaim());
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ShardStoreTest, ClosedStoreRefuses) {
  ASSERT_TRUE(store_->close());
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(store_->row(PointId::number(1)).error().code(), Code::kUnavailable);
  RowBatch batch;
  batch.put_meta("a", "b");
  EXPECT_EQ(store_->write(batch).error().code(), Code::kUnavailable);
  EXPECT_EQ(store_->flush().error().code(), Code::kUnavailable);
  EXPECT_FALSE(store_->stats().healthy);
}

TEST_F(ShardStoreTest, ASecondOpeningIsRefused) {
  const auto second = ShardStore::open(path(), runtime_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::kUnavailable);
  EXPECT_THAT(second.error().message(), HasSubstr(path()));
}

TEST_F(ShardStoreTest, DestroyRemovesEverything) {
  store_ = nullptr;
  ASSERT_TRUE(ShardStore::destroy(path()));
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_TRUE(ShardStore::destroy(path()));
  EXPECT_TRUE(ShardStore::destroy((directory_ / "no" / "such").string()));
  EXPECT_FALSE(fs::exists(directory_ / "no"));
}

class DamagedShardStore : public ShardStoreTest {
 protected:
  void SetUp() override {
    ShardStoreTest::SetUp();
    RowBatch batch;
    for (std::uint64_t n = 0; n < 500; ++n) {
      batch.put_row(PointId::number(n), std::string(n % 2 == 0 ? 40 : 2000, 'r'));
    }
    write(batch);
    ASSERT_TRUE(store_->flush());
    store_ = nullptr;
  }
  /// Changes the bytes in the middle of every file with this extension.
  void damage(const std::string& extension) {
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().extension() != extension || entry.file_size() < 1000) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
      file << "damaged damaged damaged";
    }
  }
  /// Opening the store or reading all of it must find the damage.
  void expect_data_loss() {
    auto opened = ShardStore::open(path(), runtime_);
    Result<> result;
    if (opened) {
      result = (*opened)->scan_rows(std::nullopt, [](auto&&...) { return true; });
    } else {
      result = fail(opened.error());
    }
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kDataLoss) << result.error().to_string();
    EXPECT_THAT(result.error().message(), HasSubstr(path()));
  }
};

TEST_F(DamagedShardStore, BlobFile) {
  damage(".blob");
  expect_data_loss();
}

TEST_F(DamagedShardStore, TableFile) {
  damage(".sst");
  expect_data_loss();
}

TEST_F(DamagedShardStore, MissingTableFile) {
  for (const auto& entry : fs::directory_iterator(path())) {
    if (entry.path().extension() == ".sst") fs::remove(entry.path());
  }
  expect_data_loss();
}

TEST_F(DamagedShardStore, MissingCurrentIsNotAnEmptyStore) {
  fs::remove(fs::path(path()) / "CURRENT");
  expect_data_loss();
}

}  // namespace
}  // namespace quiver::storage
