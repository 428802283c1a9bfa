#include "storage/rows/kept_files.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <filesystem>
#include <fstream>

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;

class KeptFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string make(const std::string& name) const {
    std::ofstream(directory_ / name) << "x";
    return (directory_ / name).string();
  }
  void remove(const std::string& path) const {
    EXPECT_TRUE(files_->DeleteFile(path, {}, nullptr).ok()) << path;
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_kept_files";
  const std::shared_ptr<rocksdb::FileSystem> files_ =
      KeptFiles::wrap(rocksdb::FileSystem::Default());
};

TEST_F(KeptFilesTest, TablesStayWhileItLives) {
  const std::string table = make("1.sst");
  const std::string log = make("2.log");
  {
    const KeptFiles kept;
    remove(table);
    remove(log);
  }
  EXPECT_TRUE(fs::exists(table));
  EXPECT_FALSE(fs::exists(log));
  remove(table);
  EXPECT_FALSE(fs::exists(table));
}

TEST_F(KeptFilesTest, RemovesThemAfterASuccess) {
  const std::string table = make("1.sst");
  KeptFiles kept;
  remove(table);
  EXPECT_TRUE(fs::exists(table));
  kept.remove(*files_);
  EXPECT_FALSE(fs::exists(table));
}

}  // namespace
}  // namespace quiver::storage
