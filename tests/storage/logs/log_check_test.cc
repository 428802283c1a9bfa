// Logs and manifests that are damaged or cut short. An acknowledged batch is never dropped
// silently, and a torn end, which a crash leaves, is no damage.
#include "storage/logs/log_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "storage/logs/log_records.h"
#include "storage/repair/store_check.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A store with one log of a few batches: rows 0, 1, 2, ...
class LogCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / "quiver_log_check" / test->name();
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return (directory_ / "rows").string(); }
  /// Writes batches of one row each and returns where each ends in the log.
  std::vector<std::uint64_t> write_rows(std::uint64_t n, std::size_t row_bytes) {
    std::vector<std::uint64_t> ends;
    auto store = ShardStore::open(path(), runtime_);
    EXPECT_TRUE(store) << store.error().to_string();
    for (std::uint64_t i = 0; i < n; ++i) {
      RowBatch batch;
      batch.put_row(PointId::number(i), std::string(row_bytes, static_cast<char>('a' + i % 26)));
      EXPECT_TRUE((*store)->write(batch));
      ends.push_back(fs::file_size(log()));
    }
    return ends;
  }
  [[nodiscard]] fs::path newest(std::string_view begin, std::string_view end) const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(path())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with(begin) && name.ends_with(end)) found = std::max(found, entry.path());
    }
    return found;
  }
  [[nodiscard]] fs::path log() const { return newest("", ".log"); }
  [[nodiscard]] fs::path manifest() const { return newest("MANIFEST-", ""); }
  void forget_mark() const { fs::remove(fs::path(path()) / SyncedMark::kFile); }

  void expect_refused(std::string_view text) const {
    const auto before = snapshot();
    const auto opened = ShardStore::open(path(), runtime_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
    EXPECT_THAT(opened.error().message(), HasSubstr(text));
    EXPECT_EQ(snapshot(), before) << "nothing is changed";
  }
  [[nodiscard]] std::uint64_t n_rows() const {
    const auto store = ShardStore::open(path(), runtime_);
    EXPECT_TRUE(store) << store.error().to_string();
    std::uint64_t n = 0;
    EXPECT_TRUE((*store)->scan_rows(std::nullopt, [&](const PointId&, std::string_view) {
      ++n;
      return true;
    }));
    return n;
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> snapshot() const {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& entry : fs::directory_iterator(path())) {
      files.emplace_back(entry.path().filename().string(), read_file(entry.path()));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  fs::path directory_;
  const std::shared_ptr<Runtime> runtime_ = *Runtime::create({});
};

/// Flips any bit of any batch but the last, with small batches and with ones over many blocks.
TEST_F(LogCheckTest, AFlippedBitIsDamageWithOrWithoutTheMark) {
  std::mt19937_64 random(7);
  for (const std::size_t row_bytes : {20, 3000, 70'000}) {
    fs::remove_all(path());
    const auto ends = write_rows(12, row_bytes);
    const std::string sound = read_file(log());
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(testing::Message() << row_bytes << " bytes a row, round " << round);
      if (round == 20) forget_mark();
      std::string flipped = sound;
      const std::size_t at = random() % ends[10];
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
      write_file(log(), flipped);
      expect_refused("records follow");
      if (HasFatalFailure()) return;
    }
    write_file(log(), sound);
    EXPECT_EQ(n_rows(), 12U);
  }
}

TEST_F(LogCheckTest, ZeroedBytesAreDamage) {
  std::mt19937_64 random(8);
  const auto ends = write_rows(60, 3000);
  const std::string sound = read_file(log());
  forget_mark();
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::string zeroed = sound;
    // Also whole blocks, whose loss RocksDB does not notice.
    const std::size_t begin = round % 2 == 0 ? 32768 * (random() % 4) : random() % ends[30];
    const std::size_t end = std::min<std::size_t>(ends[58], begin + 512 + random() % 40'000);
    std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(begin),
              zeroed.begin() + static_cast<std::ptrdiff_t>(end), '\0');
    write_file(log(), zeroed);
    expect_refused("records follow");
    if (HasFatalFailure()) return;
  }
}

/// Cuts the log within the last batch, at every length.
TEST_F(LogCheckTest, ATornEndIsNoDamageUnlessItWasSynced) {
  const auto ends = write_rows(3, 1000);
  const std::string sound = read_file(log());
  const auto before = ends[1];
  const fs::path copy = directory_ / "copy";
  fs::copy(path(), copy);
  for (std::uint64_t size = before; size < ends[2]; size += 1 + (ends[2] - before) / 25) {
    SCOPED_TRACE(testing::Message() << size << " bytes of " << ends[2]);
    write_file(log(), std::string_view(sound).substr(0, size));
    expect_refused("was synced up to byte");
    const auto checked = check_store(path(), *runtime_);
    ASSERT_FALSE(checked) << "a start finds it by the sizes alone";
    EXPECT_EQ(checked.error().code(), Code::kDataLoss);
    forget_mark();  // as if its last write had not reached the disk
    EXPECT_EQ(n_rows(), 2U);
    fs::remove_all(path());
    fs::copy(copy, path());
  }
  std::string flipped = sound;
  flipped[before + 200] = static_cast<char>(flipped[before + 200] ^ 4);
  write_file(log(), flipped);
  expect_refused("was synced up to byte");
}

TEST_F(LogCheckTest, AMissingLogIsNoticed) {
  write_rows(3, 1000);
  fs::remove(log());
  expect_refused("was synced");
  const auto checked = check_store_logs(path(), *runtime_);
  ASSERT_FALSE(checked) << "before somebody opens it, too";
  EXPECT_EQ(checked.error().code(), Code::kDataLoss);
}

/// Flushed changes no longer need the log.
TEST_F(LogCheckTest, ALogThatWasFlushedMayBeGone) {
  {
    auto store = ShardStore::open(path(), runtime_).value();
    RowBatch batch;
    batch.put_row(PointId::number(1), "row");
    ASSERT_TRUE(store->write(batch));
    ASSERT_TRUE(store->flush());
  }
  for (const auto& entry : fs::directory_iterator(path())) {
    if (entry.path().extension() == ".log") fs::remove(entry.path());
  }
  EXPECT_EQ(n_rows(), 1U);
}

/// Cut between two records, a manifest looks complete, and RocksDB would delete the last flushed
/// table.
TEST_F(LogCheckTest, AShortenedManifestIsDamage) {
  {
    auto store = ShardStore::open(path(), runtime_).value();
    for (std::uint64_t i = 0; i < 3; ++i) {
      RowBatch batch;
      batch.put_row(PointId::number(i), std::string(100, 'x'));
      ASSERT_TRUE(store->write(batch));
      ASSERT_TRUE(store->flush());
    }
  }
  const std::string sound = read_file(manifest());
  std::vector<std::uint64_t> ends;
  std::uint64_t bytes = 0;
  ASSERT_TRUE(scan_log(*rocksdb::Env::Default(), manifest(), [&](std::string_view record, bool) {
    bytes += 7 + record.size();
    ends.push_back(bytes);
  }));
  ASSERT_EQ(ends.back(), sound.size()) << "within one block";
  for (std::size_t i = ends.size() / 2; i + 1 < ends.size(); ++i) {
    SCOPED_TRACE(testing::Message() << ends[i] << " of " << sound.size());
    write_file(manifest(), std::string_view(sound).substr(0, ends[i]));
    expect_refused("MANIFEST-");
    EXPECT_FALSE(check_store(path(), *runtime_));
  }
  write_file(manifest(), sound);
  EXPECT_EQ(n_rows(), 3U);
}

TEST_F(LogCheckTest, AnOlderManifestIsDamage) {
  write_rows(1, 100);
  const auto old = manifest();
  const std::string kept = read_file(old);
  write_rows(1, 100);
  ASSERT_NE(manifest(), old);
  write_file(old, kept);
  write_file(fs::path(path()) / "CURRENT", old.filename().string() + "\n");
  expect_refused("older than");
}

TEST_F(LogCheckTest, AMarkThatCannotBeReadIsNoDamage) {
  write_rows(3, 100);
  write_file(fs::path(path()) / SyncedMark::kFile, "nonsense");
  EXPECT_EQ(n_rows(), 3U);
  write_rows(1, 100);
  EXPECT_NE(SyncedMark::read(*rocksdb::Env::Default(), path()), std::nullopt) << "made anew";
}

TEST_F(LogCheckTest, OneHalfOfTheMarkIsEnough) {
  write_rows(3, 100);
  const fs::path mark = fs::path(path()) / SyncedMark::kFile;
  const std::string sound = read_file(mark);
  const auto synced = SyncedMark::read(*rocksdb::Env::Default(), path());
  ASSERT_TRUE(synced);
  int n_older = 0;
  for (const std::size_t half : {0, 64}) {
    std::string torn = sound;
    torn[half + 20] = static_cast<char>(torn[half + 20] ^ 1);
    write_file(mark, torn);
    const auto left = SyncedMark::read(*rocksdb::Env::Default(), path());
    ASSERT_TRUE(left);
    EXPECT_LE(left->sequence, synced->sequence);
    if (*left != *synced) ++n_older;
  }
  EXPECT_EQ(n_older, 1);
}

}  // namespace
}  // namespace quiver::storage
