#include "engine/collections/closed_collection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/shard/shard.h"

namespace quiver::engine {
namespace {

class ClosedCollection : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_closed_collection_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    context_.runtime = storage::Runtime::create({}).value();
    context_.lanes = context_.background = &executor_;
    config_.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config_.shard_number = 2;
    const auto config = std::make_shared<const CollectionConfig>(config_);
    std::unique_ptr<Shard> first;
    for (std::uint32_t i = 0; i < config_.shard_number; ++i) {
      auto shard = Shard::open(path(i), config, context_, first.get());
      ASSERT_TRUE(shard) << shard.error().to_string();
      if (i == 0) first = *std::move(shard);
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  [[nodiscard]] std::string path(std::uint32_t shard) const {
    return shard_path(root_.string(), shard);
  }

  std::filesystem::path root_;
  Executor executor_{2, "test"};
  ShardContext context_;
  CollectionConfig config_;
};

TEST_F(ClosedCollection, SoundFilesPass) {
  const std::string root = root_.string();
  EXPECT_TRUE(check_manifests(root, config_, context_, storage::Opening::kMustExist));
  EXPECT_TRUE(check_logs(root, config_, context_));
  const auto findings = check_shards(root, config_, context_);
  ASSERT_TRUE(findings) << findings.error().to_string();
  ASSERT_EQ(findings->size(), 2U);
  EXPECT_TRUE(findings->at(1).rows.empty());
  const auto repaired = repair_shards(root, config_, context_);
  ASSERT_TRUE(repaired);
  EXPECT_FALSE(repaired->at(0)) << "there is nothing to repair";
}

TEST_F(ClosedCollection, ShardsHaveTheNumbersOfTheirDirectories) {
  std::filesystem::remove_all(path(0));
  std::filesystem::remove_all(path(1) + "/rows");
  config_.sharding = ShardingMethod::kCustom;
  config_.shard_keys = {{std::string("left after another key was dropped"), {1}}};
  config_.next_shard = 2;
  const auto findings = check_shards(root_.string(), config_, context_);
  ASSERT_TRUE(findings) << findings.error().to_string();
  ASSERT_EQ(findings->size(), 1U);
  EXPECT_FALSE(findings->at(1).rows.empty());
  const auto repaired = repair_shards(root_.string(), config_, context_);
  ASSERT_TRUE(repaired) << repaired.error().to_string();
  ASSERT_EQ(repaired->size(), 1U);
  EXPECT_TRUE(repaired->at(1));
}

TEST_F(ClosedCollection, OneShardThatIsGoneFails) {
  std::filesystem::remove_all(path(1) + "/rows");
  const auto checked =
      check_manifests(root_.string(), config_, context_, storage::Opening::kMustExist);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::engine
