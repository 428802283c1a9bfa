#include "engine/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/observe/held_memory.h"
#include "base/observe/memory_budget.h"
#include "tests/patience.h"

namespace quiver::engine {
namespace {

/// A database with a closed collection `points`; `before_opening` is called, and may fail, while
/// the collection opens.
class DatabaseReady : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        std::filesystem::path(::testing::TempDir()) / ("quiver_ready_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
    CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    ASSERT_TRUE(database_->create_collection("points", config));
    ASSERT_TRUE(database_->close());
    database_.reset();
    open();
  }
  void TearDown() override {
    EXPECT_TRUE(database_->close());
    database_.reset();
    std::filesystem::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.open_directory = [this](const std::string& path) -> Result<std::unique_ptr<Directory>> {
      QV_TRY(before_opening_());
      return open_real_directory(path);
    };
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().to_string();
    database_ = *std::move(opened);
  }
  [[nodiscard]] std::string why_not_ready() const {
    std::string why;
    const bool ready = database_->ready(&why);
    EXPECT_EQ(ready, why.empty());
    return why;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::function<Result<>()> before_opening_ = [] { return Result<>(); };
};

TEST_F(DatabaseReady, AnswersWhileACollectionOpens) {
  int times = 0;
  before_opening_ = [&]() -> Result<> {
    ++times;
    // On another thread: the opening one is in the middle of it.
    EXPECT_EQ(std::async(std::launch::async, [this] { return why_not_ready(); }).get(), "");
    return {};
  };
  EXPECT_TRUE(database_->collection("points"));
  EXPECT_GE(times, 1);
}

TEST_F(DatabaseReady, NamesWhatCannotBeOpenedUntilItCan) {
  EXPECT_EQ(why_not_ready(), "");
  before_opening_ = [] { return fail(Code::kInternal, "the disk is gone"); };
  EXPECT_FALSE(database_->collection("points"));
  EXPECT_EQ(why_not_ready(), "collection `points`: the disk is gone");
  before_opening_ = [] { return Result<>(); };
  EXPECT_TRUE(database_->collection("points"));
  EXPECT_EQ(why_not_ready(), "");
}

TEST_F(DatabaseReady, CopiesInHugePagesAreGivenUpWhenMemoryIsShort) {
  const auto directory = *open_real_directory((root_ / "large").string());
  ASSERT_TRUE(directory->write_file("file", std::vector<std::byte>(16 << 20, std::byte{7})));
  const auto file = *directory->open_mapped("file");
  if (!file->hold_in_huge_pages()) GTEST_SKIP() << "no copy: the system has no huge pages";
  process_memory().set_limit(process_memory().state().private_bytes);
  EXPECT_TRUE(comes_true([] { return held_memory().n_bytes() == 0; }));
  process_memory().set_limit(0);
  EXPECT_EQ(std::ranges::count(file->bytes(), std::byte{7}), 16 << 20);
}

}  // namespace
}  // namespace quiver::engine
