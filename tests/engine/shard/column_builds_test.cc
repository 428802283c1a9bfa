// Payload indexes that are created and dropped while others are built.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kDocumentsToIndex = 20'000;

payload::FieldIndex index_of(const std::string& key, payload::IndexKind kind) {
  payload::FieldIndex index;
  index.key = key;
  index.kind = kind;
  return index;
}

class PayloadIndexes : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_payload_indexes_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}}};
    config.optimizer.seal_rows = 4000;
    config.shard_number = 2;
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
    insert();
  }
  void TearDown() override {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
    std::filesystem::remove_all(root_);
  }
  void insert() {
    Upsert upsert;
    for (std::uint64_t i = 0; i < kDocumentsToIndex; ++i) {
      auto& point = upsert.points.emplace_back();
      point.id = PointId::number(i);
      point.payload = R"({"text":"many words of a document number )" + std::to_string(i % 97) +
                      R"(","n":)" + std::to_string(i) + R"(,"even":)" +
                      (i % 2 == 0 ? "true}" : "false}");
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(done.get_future().get());
  }
  [[nodiscard]] std::uint64_t n_indexed(const std::string& key) const {
    for (const auto& info : collection_->info().indexes) {
      if (info.index.key == key) return info.n_points;
    }
    return 0;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  const payload::FieldIndex text_ = index_of("text", payload::IndexKind::kText);
  const payload::FieldIndex number_ = index_of("n", payload::IndexKind::kInteger);
  const payload::FieldIndex flag_ = index_of("even", payload::IndexKind::kBool);
};

TEST_F(PayloadIndexes, OneMayBeCreatedWhileAnotherIsBuilt) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(collection_->create_index(text_, Ack::kDurable));
    const auto created = collection_->create_index(flag_, Ack::kVisible);
    ASSERT_TRUE(created) << created.error().to_string();
    EXPECT_EQ(n_indexed("even"), kDocumentsToIndex);
    ASSERT_TRUE(collection_->drop_index("text"));
    ASSERT_TRUE(collection_->drop_index("even"));
  }
}

TEST_F(PayloadIndexes, WhoAsksAgainWaitsForWhatIsBeingBuilt) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(collection_->create_index(text_, Ack::kDurable));
    ASSERT_TRUE(collection_->create_index(text_, Ack::kVisible));
    EXPECT_EQ(n_indexed("text"), kDocumentsToIndex);
    ASSERT_TRUE(collection_->create_index(text_, Ack::kDurable));
    ASSERT_TRUE(collection_->drop_index("text"));
    ASSERT_TRUE(collection_->create_index(text_, Ack::kVisible));
    EXPECT_EQ(n_indexed("text"), kDocumentsToIndex) << "dropped and created anew";
    ASSERT_TRUE(collection_->drop_index("text"));
  }
}

TEST_F(PayloadIndexes, ManyThreadsCreateAndDropThem) {
  std::vector<std::thread> threads;
  for (const auto* index : {&text_, &number_, &flag_}) {
    threads.emplace_back([this, index] {
      for (int round = 0; round < 6; ++round) {
        EXPECT_TRUE(
            collection_->create_index(*index, round % 2 == 0 ? Ack::kVisible : Ack::kDurable));
        if (round != 5) {
          EXPECT_TRUE(collection_->drop_index(index->key));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto* index : {&text_, &number_, &flag_}) {
    ASSERT_TRUE(collection_->create_index(*index, Ack::kVisible));
    EXPECT_EQ(n_indexed(index->key), kDocumentsToIndex);
  }
}

}  // namespace
}  // namespace quiver::engine::testing
