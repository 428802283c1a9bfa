#include "engine/collections/collection_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/collections/closed_collection.h"

namespace quiver::engine {
namespace {

/// At most one collection stays open.
class CollectionTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_collection_table_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    context_.runtime = storage::Runtime::create({}).value();
    context_.lanes = context_.background = &executor_;
    directory_ = open_real_directory(root_.string()).value();
    ASSERT_TRUE(gate_.open(*directory_, root_.string()));
    collections_ = directory_->subdirectory(storage::Catalog::kCollectionsDirectory).value();
    open();
  }
  void TearDown() override {
    EXPECT_TRUE(table_->close_all());
    table_.reset();
    std::filesystem::remove_all(root_);
  }
  void open() {
    table_.emplace(root_.string(), CollectionTable::Limits{.max_open = 1}, context_, gate_,
                   executor_, no_jobs_);
    ASSERT_TRUE(table_->add_stored(*collections_));
  }

  void create(const std::string& name) {
    CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    const auto stored = gate_.catalog().create(name, to_json(config));
    ASSERT_TRUE(stored) << stored.error().to_string();
    ASSERT_TRUE(table_->create(*stored));
  }
  [[nodiscard]] bool is_open(const std::string& name) const {
    return table_->find(name)->now() != nullptr;
  }

  std::filesystem::path root_;
  Executor executor_{2, "test"};
  ShardContext context_;
  const JobContext no_jobs_{};
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Directory> collections_;
  CatalogGate gate_;
  std::optional<CollectionTable> table_;
};

TEST_F(CollectionTableTest, StoredCollectionsOpenAtFirstTouch) {
  create("a");
  EXPECT_TRUE(is_open("a"));
  ASSERT_TRUE(table_->close_all());
  open();
  EXPECT_FALSE(is_open("a"));
  EXPECT_TRUE(table_->open("a"));
  EXPECT_TRUE(is_open("a"));
  const auto unknown = table_->open("b");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "collection `b` does not exist");
}

TEST_F(CollectionTableTest, TheLeastRecentlyUsedIsClosed) {
  create("a");
  create("b");
  EXPECT_FALSE(is_open("a"));
  EXPECT_TRUE(is_open("b"));
  {
    const auto used = table_->open("a").value();
    EXPECT_FALSE(is_open("b"));
    EXPECT_TRUE(table_->open("b"));
    EXPECT_TRUE(is_open("a")) << "somebody uses it";
  }
}

TEST_F(CollectionTableTest, DroppedOnesLeaveNothing) {
  create("a");
  const auto entry = table_->find("a");
  EXPECT_TRUE(table_->drop(entry).value());
  EXPECT_EQ(table_->find("a"), nullptr);
  EXPECT_FALSE(collections_->exists(entry->directory));
  EXPECT_FALSE(table_->drop(entry).value()) << "again";
}

TEST_F(CollectionTableTest, FilesAreTouchedOnlyWhileNobodyHasThemOpen) {
  create("a");
  const auto count = [&] {
    return table_->while_closed(
        "a", [&](CollectionEntry&, const CollectionConfig& config, const std::string& path) {
          return check_shards(path, config, context_);
        });
  };
  EXPECT_EQ(count().error().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(table_->close_all());
  const auto findings = count();
  ASSERT_TRUE(findings) << findings.error().to_string();
  EXPECT_EQ(findings->size(), 1U);
  EXPECT_TRUE(findings->at(0).rows.empty());
}

TEST_F(CollectionTableTest, AfterTheEndNothingOpens) {
  create("a");
  ASSERT_TRUE(table_->close_all());
  table_->refuse_openings();
  EXPECT_FALSE(table_->open("a"));
}

}  // namespace
}  // namespace quiver::engine
