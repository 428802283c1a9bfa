// The RocksDB below a ShardStore; rows/shard_store_test.cc tests what it does for a shard.
#include "storage/rows/row_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;
using Table = RowBatch::Table;

class RowStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_.string(); }
  [[nodiscard]] std::unique_ptr<RowStore> open() const {
    auto store = RowStore::open(path(), runtime_->shared());
    EXPECT_TRUE(store) << store.error().to_string();
    return store ? *std::move(store) : nullptr;
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_row_store";
  const std::shared_ptr<Runtime> runtime_ = *Runtime::create({});
};

TEST_F(RowStoreTest, KeepsItsTablesApart) {
  {
    const auto store = open();
    RowBatch batch;
    batch.put(Table::kPoints, "k", "a row");
    batch.put(Table::kMeta, "k", "a fact");
    ASSERT_TRUE(store->write(batch, /*sync=*/true).ok());
  }
  const auto store = open();
  EXPECT_EQ(*store->get(Table::kPoints, "k"), "a row");
  EXPECT_EQ(*store->get(Table::kMeta, "k"), "a fact");
  EXPECT_EQ(*store->get(Table::kOps, "k"), std::nullopt);
}

TEST_F(RowStoreTest, TheInverseUndoesABatch) {
  const auto store = open();
  RowBatch before;
  before.put(Table::kPoints, "old", "1");
  before.put_op(Seq{1}, "first");
  ASSERT_TRUE(store->write(before, true).ok());
  RowBatch batch;
  batch.put(Table::kPoints, "old", "2");
  batch.put(Table::kPoints, "new", "3");
  batch.trim_ops(Seq{2});
  const auto inverse = store->inverse_of(batch);
  ASSERT_TRUE(inverse);
  ASSERT_TRUE(store->write(batch, true).ok());
  ASSERT_TRUE(store->write(*inverse, true).ok());
  EXPECT_EQ(*store->get(Table::kPoints, "old"), "1");
  EXPECT_EQ(*store->get(Table::kPoints, "new"), std::nullopt);
  const auto ops = store->iterate(Table::kOps);
  ops->SeekToFirst();
  ASSERT_TRUE(ops->Valid());
  EXPECT_EQ(to_view(ops->value()), "first");
}

TEST_F(RowStoreTest, OpenedForReadingItRefusesWrites) {
  {
    RowBatch batch;
    batch.put(Table::kPoints, "k", "v");
    ASSERT_TRUE(open()->write(batch, true).ok());
  }
  const auto store = RowStore::open_read_only(path(), runtime_->shared());
  ASSERT_TRUE(store);
  EXPECT_EQ(*(*store)->get(Table::kPoints, "k"), "v");
  RowBatch batch;
  batch.put(Table::kPoints, "k", "w");
  EXPECT_FALSE((*store)->write(batch, false).ok());
}

TEST_F(RowStoreTest, DataWithoutAManifestIsDamage) {
  rocksdb::Env& env = *rocksdb::Env::Default();
  EXPECT_FALSE(*has_manifest(path(), env));
  std::ofstream(directory_ / "000001.sst") << "x";
  EXPECT_EQ(has_manifest(path(), env).error().code(), Code::kDataLoss);
  EXPECT_FALSE(RowStore::open(path(), runtime_->shared()));
}

}  // namespace
}  // namespace quiver::storage
