#include "storage/repair/store_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>

#include "storage/logs/synced_mark.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class StoreCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    auto store = ShardStore::open(path(), runtime_);
    ASSERT_TRUE(store) << store.error().to_string();
    RowBatch batch;
    batch.put_row(PointId::number(1), "row");
    ASSERT_TRUE((*store)->write(batch));
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return (directory_ / "shard").string(); }
  [[nodiscard]] fs::path manifest() const {
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    }
    return {};
  }
  void expect_damage(std::string_view text) const {
    const auto checked = check_store(path(), *runtime_);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code(), Code::kDataLoss) << checked.error().to_string();
    EXPECT_THAT(checked.error().message(), HasSubstr(text));
  }

  /// A database with these tables beside RocksDB's own, created one after another as RocksDB does.
  void make_database(const std::vector<std::string>& tables) const {
    fs::remove_all(path());
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, path(), &db).ok());
    for (const std::string& table : tables) {
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      ASSERT_TRUE(db->CreateColumnFamily({}, table, &handle).ok());
      ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
    delete db;
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_store_check";
  const std::shared_ptr<Runtime> runtime_ = *Runtime::create({});
};

TEST_F(StoreCheckTest, SoundAndMissingStoresPass) {
  EXPECT_TRUE(check_store(path(), *runtime_));
  EXPECT_TRUE(check_store(path() + "-missing", *runtime_));
  // The check opens and creates nothing.
  EXPECT_FALSE(fs::exists(path() + "-missing"));
  EXPECT_TRUE(ShardStore::open(path(), runtime_));
}

/// RocksDB reads it as the manifest of a database without tables.
TEST_F(StoreCheckTest, AManifestThatWasCutShortIsDamage) {
  std::ofstream(manifest(), std::ios::trunc) << "no manifest";
  expect_damage("was synced up to byte");
  fs::remove(fs::path(path()) / SyncedMark::kFile);
  expect_damage("there are rows");
}

TEST_F(StoreCheckTest, StoresWhoseCreationWasInterruptedPassAndAreCompleted) {
  std::vector<std::string> tables;
  for (const char* next : {"points", "ops", "meta"}) {
    make_database(tables);
    const auto checked = check_store(path(), *runtime_);
    EXPECT_TRUE(checked) << checked.error().to_string();
    const auto store = ShardStore::open(path(), runtime_);
    EXPECT_TRUE(store) << store.error().to_string();
    tables.emplace_back(next);
  }
}

TEST_F(StoreCheckTest, OtherDatabasesDoNot) {
  make_database({"ops"});
  expect_damage("has the tables default, ops, but no `points`");
  make_database({"points", "others"});
  expect_damage("no `ops`");
}

TEST_F(StoreCheckTest, DamagedManifestsDoNot) {
  std::fstream file(manifest(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20);
  file.put('\x7F');
  file.close();
  expect_damage("manifest");
}

TEST_F(StoreCheckTest, NorMissingOnes) {
  fs::remove(manifest());
  expect_damage("manifest");
}

TEST_F(StoreCheckTest, NorDataWithoutCurrent) {
  fs::remove(fs::path(path()) / "CURRENT");
  expect_damage("no file CURRENT");
  EXPECT_FALSE(ShardStore::open(path(), runtime_));
}

}  // namespace
}  // namespace quiver::storage
