// Shard keys of a collection in use: created, dropped, and what stays after an interruption.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "engine/database.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;

class ShardKeys : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("quiver_shard_keys_" + std::to_string(getpid()));
    fs::remove_all(root_);
    open();
    CollectionConfig config;
    config.fields = {{"a", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.sharding = ShardingMethod::kCustom;
    config.optimizer.seal_rows = 20;
    config.optimizer.idle_seal_s = 0.05;
    ASSERT_TRUE(database_->create_collection("points", config));
    find();
  }
  void TearDown() override {
    close();
    fs::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    find();
  }
  void find() {
    if (auto found = database_->collection("points")) collection_ = *found;
  }
  void close() {
    if (database_ == nullptr) return;
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }

  Result<> put(std::uint64_t first, std::uint64_t last, const ShardKey& key) {
    Upsert upsert;
    for (std::uint64_t i = first; i <= last; ++i) {
      upsert.points.push_back(
          {PointId::number(i), {{"a", DenseVector(2, static_cast<float>(i))}}, "{}"});
    }
    upsert.shards.keys = {key};
    std::promise<Result<std::vector<UpdateResult>>> done;
    QV_TRY(collection_->update({std::move(upsert)}, Ack::kVisible,
                               [&](auto result) { done.set_value(std::move(result)); }));
    QV_TRY(done.get_future().get());
    return {};
  }
  std::uint64_t n_points(const ShardSelector& shards = {}) const {
    return collection_->count({std::nullopt, shards}, Cancel()).value();
  }
  /// Of the only collection.
  fs::path directory() const { return fs::directory_iterator(root_ / "collections")->path(); }
  std::size_t n_directories() const {
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(directory())) {
      n += entry.path().filename().string().starts_with("shard-") ? 1 : 0;
    }
    return n;
  }

  fs::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

TEST_F(ShardKeys, AreKeptAcrossRestarts) {
  EXPECT_TRUE(collection_->shards().empty());
  ASSERT_TRUE(collection_->create_shard_key({"a", 2}));
  ASSERT_TRUE(collection_->create_shard_key({std::uint64_t{1}, {}}));
  ASSERT_TRUE(put(1, 50, "a"));
  ASSERT_TRUE(put(51, 60, std::uint64_t{1}));
  for (int round = 0; round < 2; ++round) {
    const auto shards = collection_->shards();
    ASSERT_EQ(shards.size(), 3U);
    EXPECT_EQ(shards[1].number, 1U);
    EXPECT_EQ(shards[1].key, ShardKey("a"));
    EXPECT_EQ(shards[2].key, ShardKey(std::uint64_t{1}));
    EXPECT_EQ(n_points(), 60U);
    EXPECT_EQ(n_points({{{ShardKey("a")}}, {}, false}), 50U);
    close();
    open();
  }
  EXPECT_FALSE(collection_->create_shard_key({"a", {}}));
}

TEST_F(ShardKeys, AreDroppedWithTheirPointsWhileReadersStay) {
  ASSERT_TRUE(collection_->create_shard_key({"a", 2}));
  ASSERT_TRUE(collection_->create_shard_key({"b", {}}));
  ASSERT_TRUE(put(1, 50, "a"));
  ASSERT_TRUE(put(1, 5, "b"));
  Query query;
  query.limit = 100;
  query.with_vector.all = true;
  const auto planned = collection_->plan(query);
  ASSERT_TRUE(collection_->drop_shard_key("a"));
  EXPECT_EQ(n_directories(), 1U);
  const auto earlier = planned->run(Cancel());
  ASSERT_TRUE(earlier) << earlier.error().to_string();
  EXPECT_EQ(earlier->size(), 50U) << "ids 1 to 5 are there twice, and shown once";
  EXPECT_EQ(n_points(), 5U);
  const auto gone = put(1, 1, "a");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(collection_->drop_shard_key("a"));
  ASSERT_TRUE(collection_->create_shard_key({"a", {}}));
  EXPECT_EQ(collection_->shards().back().number, 3U) << "numbers are not used again";
  EXPECT_EQ(n_points({{{ShardKey("a")}}, {}, false}), 0U);
}

TEST_F(ShardKeys, WhatAnInterruptionLeftIsRemovedAtTheNextOpening) {
  ASSERT_TRUE(collection_->create_shard_key({"a", {}}));
  ASSERT_TRUE(put(1, 10, "a"));
  close();
  // A creation ended before the catalog named its shard; a deletion ended before it removed one.
  fs::copy(directory() / "shard-0", directory() / "shard-1", fs::copy_options::recursive);
  fs::create_directories(directory() / "shard-17" / "rows");
  fs::create_directories(directory() / "other");
  open();
  EXPECT_EQ(n_points(), 10U);
  EXPECT_EQ(n_directories(), 1U);
  EXPECT_TRUE(fs::exists(directory() / "other"));
  ASSERT_TRUE(collection_->create_shard_key({"b", {}}));
  EXPECT_EQ(n_points({{{ShardKey("b")}}, {}, false}), 0U) << "nothing comes back";
}

TEST_F(ShardKeys, ALostShardIsNotTakenForANewOne) {
  ASSERT_TRUE(collection_->create_shard_key({"a", {}}));
  ASSERT_TRUE(put(1, 10, "a"));
  close();
  fs::remove_all(directory() / "shard-0");
  open();
  const auto lost = database_->collection("points");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::kDataLoss);
}

TEST_F(ShardKeys, NoBulkLoads) {
  BulkChunk chunk;
  const auto refused = collection_->bulk_load(chunk);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(collection_->bulk_cursor());
}

TEST_F(ShardKeys, ComeAndGoWhileOthersAreUsed) {
  ASSERT_TRUE(collection_->create_shard_key({"kept", {}}));
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      const auto page = collection_->scroll({}, Cancel());
      EXPECT_TRUE(page) << page.error().to_string();
      EXPECT_TRUE(collection_->count({}, Cancel()));
    }
  });
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      const auto done = put(i % 50 + 1, i % 50 + 1, "kept");
      EXPECT_TRUE(done) << done.error().to_string();
    }
  });
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(collection_->create_shard_key({"other", 2}));
    ASSERT_TRUE(put(1000, 1050, "other"));
    ASSERT_TRUE(database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      config.optimizer.max_segments = 4 + static_cast<std::uint32_t>(round);
      return {};
    }));
    ASSERT_TRUE(collection_->drop_shard_key("other"));
  }
  stop = true;
  reader.join();
  writer.join();
  EXPECT_EQ(n_directories(), 1U);
}

TEST_F(ShardKeys, AFailedChangeOfTheCatalogChangesNothing) {
  ASSERT_TRUE(collection_->create_shard_key({"a", {}}));
  ASSERT_TRUE(put(1, 10, "a"));
  // The catalog's temporary file cannot be made.
  fs::create_directories(root_ / "catalog.tmp" / "x");
  EXPECT_FALSE(collection_->create_shard_key({"b", {}}));
  EXPECT_FALSE(collection_->drop_shard_key("a"));
  EXPECT_EQ(n_points(), 10U);
  EXPECT_EQ(collection_->shards().size(), 1U);
  fs::remove_all(root_ / "catalog.tmp");
  ASSERT_TRUE(put(11, 11, "a"));
  ASSERT_TRUE(collection_->create_shard_key({"b", {}}));
  EXPECT_EQ(collection_->shards().size(), 2U);
}

}  // namespace
}  // namespace quiver::engine
