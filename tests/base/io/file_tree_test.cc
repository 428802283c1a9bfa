#include "base/io/file_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/io/file.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

class FileTreeTest : public ::testing::Test {
 protected:
  FileTreeTest()
      : root_(fs::path(::testing::TempDir()) / ("quiver_file_tree_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~FileTreeTest() override { fs::remove_all(root_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(FileTreeTest, AnExistingDirectoryIsOpenedAndNoneIsMade) {
  const auto missing = open_existing_directory(path("a/b"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_TRUE(fs::is_empty(root_));
  std::ofstream(path("file")) << "x";
  EXPECT_FALSE(open_existing_directory(path("file")));
  fs::create_directories(path("a/b"));
  const auto opened = open_existing_directory(path("a/b/"));
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ((*opened)->path(), path("a/b"));
}

TEST_F(FileTreeTest, ACopyIsSeenPieceByPiece) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i);
  std::ofstream(path("from"), std::ios::binary) << text;
  std::string seen;
  const auto see = [&](std::span<const std::byte> bytes) -> Result<> {
    seen += as_text(bytes);
    return {};
  };
  ASSERT_TRUE(copy_unsynced(path("from"), path("to"), text.size(), see));
  ASSERT_TRUE(sync_file(path("to")));
  EXPECT_TRUE(seen == text);
  EXPECT_EQ(fs::file_size(path("to")), text.size());
  ASSERT_TRUE(copy_file(path("to"), path("again")));
  std::ifstream again(path("again"), std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(again), {}) == text);
  const auto short_one = copy_unsynced(path("from"), path("longer"), text.size() + 1, see);
  ASSERT_FALSE(short_one);
  EXPECT_EQ(short_one.error().code(), Code::kDataLoss);
  const auto stop = [](std::span<const std::byte>) -> Result<> {
    return fail(Code::kCancelled, "enough");
  };
  EXPECT_EQ(copy_unsynced(path("from"), path("stopped"), 10, stop).error().message(), "enough");
  EXPECT_EQ(copy_file(path("none"), path("x")).error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace quiver
