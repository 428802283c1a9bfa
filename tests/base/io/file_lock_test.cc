#include "base/io/file_lock.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace quiver {
namespace {

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~FileLockTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "quiver-file-lock-XXXXXX";
};

TEST_F(FileLockTest, OneHolderAtATime) {
  const std::string path = folder_ + "/lock";
  {
    auto first = FileLock::try_lock(path);
    ASSERT_TRUE(first && *first);
    const FileLock moved = *std::move(*first);
    const auto second = FileLock::try_lock(path);
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
  }
  const auto third = FileLock::try_lock(path);
  EXPECT_TRUE(third && *third);
}

TEST_F(FileLockTest, GoesWithItsDirectory) {
  std::filesystem::create_directory(folder_ + "/a");
  const auto lock = FileLock::try_lock(folder_ + "/a/lock");
  ASSERT_TRUE(lock && *lock);
  std::filesystem::rename(folder_ + "/a", folder_ + "/b");
  const auto other = FileLock::try_lock(folder_ + "/b/lock");
  ASSERT_TRUE(other);
  EXPECT_FALSE(*other);
}

TEST_F(FileLockTest, WantsADirectory) { EXPECT_FALSE(FileLock::try_lock(folder_ + "/none/lock")); }

}  // namespace
}  // namespace quiver
