// Files that somebody writes to while they are mapped.
#include "base/io/write_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "base/views.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

class WriteWatchTest : public testing::Test {
 protected:
  WriteWatchTest() {
    std::string path = testing::TempDir() + "quiver-XXXXXX";
    path_ = ::mkdtemp(path.data());
    directory_ = *open_real_directory(path_.string());
  }
  ~WriteWatchTest() override { fs::remove_all(path_); }

  std::shared_ptr<const MappedFile> watched(const std::string& name) {
    if (!directory_->exists(name)) {
      EXPECT_TRUE(directory_->write_file(name, as_byte_span("0123456789")));
    }
    auto file = *directory_->open_mapped(name);
    file->watch_writes();
    return file;
  }
  void write_to(const std::string& name) const {
    const int file = ::open((path_ / name).c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(file, "x", 1, 3), 1);
    ::close(file);
  }
  static bool is_damaged(const std::shared_ptr<const MappedFile>& file) {
    notice_writes();
    return file->is_damaged();
  }

  fs::path path_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(WriteWatchTest, AWriteDamagesTheFileAndNoOther) {
  const auto a = watched("a");
  const auto b = watched("b");
  EXPECT_FALSE(is_damaged(a));
  write_to("a");
  EXPECT_TRUE(is_damaged(a));
  EXPECT_EQ(a->bytes()[0], std::byte{0}) << "zeros from then on";
  EXPECT_FALSE(is_damaged(b));
}

TEST_F(WriteWatchTest, ACutDamagesTheFile) {
  const auto a = watched("a");
  fs::resize_file(path_ / "a", 4);
  EXPECT_TRUE(is_damaged(a));
}

TEST_F(WriteWatchTest, LinksRenamesAndRemovalsAreNoWrites) {
  const auto a = watched("a");
  fs::create_hard_link(path_ / "a", path_ / "link");
  fs::rename(path_ / "a", path_ / "b");
  EXPECT_FALSE(is_damaged(a));
  fs::remove(path_ / "b");
  EXPECT_FALSE(is_damaged(a));
  write_to("link");
  EXPECT_TRUE(is_damaged(a)) << "the same file by another name";
}

TEST_F(WriteWatchTest, EachMappingOfTheFileIsDamaged) {
  const auto first = watched("a");
  auto second = watched("a");
  const auto third = watched("a");
  second.reset();
  write_to("a");
  EXPECT_TRUE(is_damaged(first));
  EXPECT_TRUE(is_damaged(third));
  EXPECT_FALSE(is_damaged(watched("a"))) << "opened afterwards";
}

TEST_F(WriteWatchTest, AClosedFileMayBeWrittenTo) {
  watched("a").reset();
  write_to("a");
  const auto again = watched("a");
  EXPECT_FALSE(is_damaged(again));
  write_to("a");
  EXPECT_TRUE(is_damaged(again));
}

TEST_F(WriteWatchTest, ObserversAreToldOnceOfFilesBelowTheirRoot) {
  std::vector<std::string> told;
  std::vector<std::string> told_others;
  const auto a = watched("a");
  {
    const WriteObserver observer(path_.string(),
                                 [&](const std::string& path) { told.push_back(path); });
    const WriteObserver other("/elsewhere",
                              [&](const std::string& path) { told_others.push_back(path); });
    write_to("a");
    notice_writes();
    write_to("a");
    notice_writes();
  }
  EXPECT_EQ(told, std::vector{(path_ / "a").string()});
  EXPECT_TRUE(told_others.empty());
  const auto b = watched("b");
  write_to("b");
  EXPECT_TRUE(is_damaged(b)) << "without an observer";
}

/// Whoever asks after the write sees it, also while another thread reads the notes.
TEST_F(WriteWatchTest, NoThreadMissesAWriteThatHasEnded) {
  for (int round = 0; round < 200; ++round) {
    const std::string name = "f" + std::to_string(round);
    const auto file = watched(name);
    std::atomic<bool> is_written = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        bool was_written = false;
        do {
          was_written = is_written;
          notice_writes();
          EXPECT_TRUE(!was_written || file->is_damaged());
        } while (!was_written);
      });
    }
    write_to(name);
    is_written = true;
  }
}

}  // namespace
}  // namespace quiver
