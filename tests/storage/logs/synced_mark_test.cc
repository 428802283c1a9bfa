#include "storage/logs/synced_mark.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <filesystem>
#include <fstream>

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSlotBytes = 64;

class SyncedMarkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string store() const { return directory_.string(); }
  [[nodiscard]] fs::path file() const { return directory_ / SyncedMark::kFile; }
  [[nodiscard]] std::optional<SyncedState> read() const { return SyncedMark::read(env_, store()); }
  void flip_bit(std::uint64_t at) const {
    std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(old ^ 1));
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_synced_mark";
  rocksdb::Env& env_ = *rocksdb::Env::Default();
};

TEST_F(SyncedMarkTest, KeepsTheLatestState) {
  EXPECT_EQ(read(), std::nullopt);
  {
    SyncedMark mark(env_, store());
    mark.note_manifest(4, 100);
    mark.note_log(10, 5, 200);
    mark.note_log(11, 5, 300);
    mark.sync();
  }
  const SyncedState wanted{11, 5, 300, 4, 100};
  EXPECT_EQ(read(), wanted);
  const SyncedMark again(env_, store());
  EXPECT_EQ(read(), wanted) << "opening changes nothing";
  EXPECT_EQ(fs::file_size(file()), 2 * kSlotBytes);
}

TEST_F(SyncedMarkTest, ManifestsNeverGoBack) {
  SyncedMark mark(env_, store());
  mark.note_manifest(4, 100);
  mark.note_manifest(3, 900);
  mark.note_manifest(4, 50);
  EXPECT_EQ(read()->manifest, 4U);
  EXPECT_EQ(read()->manifest_bytes, 100U);
  mark.note_manifest(5, 10);
  EXPECT_EQ(read()->manifest_bytes, 10U);
}

TEST_F(SyncedMarkTest, ADamagedSlotLeavesTheStateBeforeIt) {
  {
    SyncedMark mark(env_, store());
    mark.note_log(1, 1, 10);  // writes go to slots 1, 0, 1, ...
    mark.note_log(2, 1, 20);
  }
  ASSERT_EQ(read()->sequence, 2U);
  flip_bit(16);
  ASSERT_TRUE(read());
  EXPECT_EQ(read()->sequence, 1U);
  flip_bit(kSlotBytes + 16);
  EXPECT_EQ(read(), std::nullopt);
}

}  // namespace
}  // namespace quiver::storage
