#include "storage/catalog/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quiver::storage {
namespace {

using ::testing::HasSubstr;

class LockFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_ = std::filesystem::path(::testing::TempDir()) / "quiver_lock";
  std::string path_ = (directory_ / "lock").string();
};

TEST_F(LockFileTest, NoticesThatItsPlaceIsGone) {
  const auto lock = LockFile::acquire(path_);
  ASSERT_TRUE(lock);
  EXPECT_TRUE((*lock)->check_place());
  const auto elsewhere = directory_.string() + "-elsewhere";
  std::filesystem::rename(directory_, elsewhere);
  EXPECT_THAT((*lock)->check_place().error().message(), HasSubstr("was removed"));
  std::filesystem::create_directories(directory_);
  std::ofstream(path_) << "1\n";
  EXPECT_THAT((*lock)->check_place().error().message(), HasSubstr("was replaced"));
  std::filesystem::remove_all(directory_);
  std::filesystem::rename(elsewhere, directory_);
  EXPECT_TRUE((*lock)->check_place());
}

TEST_F(LockFileTest, SecondHolderIsRefusedUntilTheFirstIsGone) {
  {
    const auto first = LockFile::acquire(path_);
    ASSERT_TRUE(first);
    const auto second = LockFile::acquire(path_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Code::kUnavailable);
    EXPECT_EQ(second.error().message(), "data directory " + directory_.string() +
                                            " is in use by process " + std::to_string(getpid()));
  }
  EXPECT_TRUE(LockFile::acquire(path_));
}

TEST_F(LockFileTest, StaleContentIsHarmless) {
  std::ofstream(path_) << "999999999999 something longer than any process id\n";
  const auto lock = LockFile::acquire(path_);
  ASSERT_TRUE(lock);
  std::string line;
  std::getline(std::ifstream(path_), line);
  EXPECT_EQ(line, std::to_string(getpid()));
}

TEST_F(LockFileTest, MissingDirectoryIsAnErrorWithThePath) {
  const auto lock = LockFile::acquire((directory_ / "no" / "lock").string());
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message(), HasSubstr((directory_ / "no" / "lock").string()));
}

/// A child that holds the lock is killed without cleaning up; then the lock is free.
TEST_F(LockFileTest, HeldByAnotherProcessUntilItIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = LockFile::acquire(path_);
    const char answer = held ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const auto refused = LockFile::acquire(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("in use by process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(LockFile::acquire(path_));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace quiver::storage
