// Logs that RocksDB wrote, read without RocksDB, whole and damaged.
#include "storage/logs/log_records.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;

/// Fragment header before each record: checksum u32, length u16, type u8.
constexpr std::uint64_t kHeadBytes = 7;

class LogRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  /// Writes `n` records with values of `value_bytes` each; returns where each ends.
  std::vector<std::uint64_t> write(int n, std::size_t value_bytes) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* raw = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, directory_.string(), &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    std::vector<std::uint64_t> ends;
    for (int i = 0; i < n; ++i) {
      const std::string value(value_bytes, static_cast<char>('a' + i % 26));
      EXPECT_TRUE(db->Put({}, std::to_string(i), value).ok());
      ends.push_back(fs::file_size(file(".log")));
    }
    return ends;
  }
  [[nodiscard]] std::string file(std::string_view part) const {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().filename().string().find(part) != std::string::npos) return entry.path();
    }
    return {};
  }
  void flip_bit(std::uint64_t at) const {
    std::fstream bytes(file(".log"), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(old ^ 4));
  }
  struct Found {
    LogScan scan;
    int n_before = 0;  ///< records before any damage
    int n_behind = 0;
  };
  [[nodiscard]] static Found scan(const std::string& path) {
    Found found;
    const auto scan =
        scan_log(*rocksdb::Env::Default(), path, [&](std::string_view, bool behind_damage) {
          ++(behind_damage ? found.n_behind : found.n_before);
        });
    EXPECT_TRUE(scan) << scan.error().to_string();
    if (scan) found.scan = *scan;
    return found;
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_log_records";
};

TEST_F(LogRecordsTest, FindsEveryRecordOfASoundLog) {
  for (const std::size_t value_bytes : {10, 10'000, 100'000}) {
    SetUp();
    const auto ends = write(20, value_bytes);
    const Found found = scan(file(".log"));
    EXPECT_EQ(found.n_before, 20);
    EXPECT_EQ(found.n_behind, 0);
    EXPECT_EQ(found.scan.sound_bytes, ends.back());
    EXPECT_EQ(found.scan.damaged_at, std::nullopt);
  }
}

TEST_F(LogRecordsTest, ManifestsHaveTheSameFormat) {
  write(3, 100);
  const std::string manifest = file("MANIFEST-");
  const Found found = scan(manifest);
  EXPECT_GT(found.n_before, 0);
  EXPECT_EQ(found.scan.damaged_at, std::nullopt);
  EXPECT_EQ(found.scan.sound_bytes, fs::file_size(manifest));
}

TEST_F(LogRecordsTest, RecordsAfterTheDamageAreFound) {
  const auto ends = write(10, 100);
  flip_bit(ends[3] + kHeadBytes + 20);
  const Found found = scan(file(".log"));
  EXPECT_EQ(found.n_before, 4);
  EXPECT_EQ(found.scan.damaged_at, ends[3]);
  EXPECT_EQ(found.scan.sound_bytes, ends[3]);
  EXPECT_EQ(found.n_behind, 5);
  EXPECT_EQ(found.scan.n_behind, 5U);
}

TEST_F(LogRecordsTest, ATornEndHasNothingBehindIt) {
  const auto ends = write(10, 100);
  fs::resize_file(file(".log"), ends[9] - 1);
  const Found found = scan(file(".log"));
  EXPECT_EQ(found.n_before, 9);
  EXPECT_EQ(found.scan.damaged_at, ends[8]);
  EXPECT_EQ(found.scan.n_behind, 0U);
}

TEST_F(LogRecordsTest, AMissingFileIsNotFound) {
  const auto missing = scan_log(*rocksdb::Env::Default(), directory_.string() + "-none", nullptr);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace quiver::storage
