// Mapped files that are cut short or that the disk cannot read.
#include "base/io/mapped_region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::byte kOne{1};

/// Files of ones in a directory that is removed at the end.
class MappedRegionTest : public testing::Test {
 protected:
  MappedRegionTest() {
    std::string path = testing::TempDir() + "quiver-XXXXXX";
    path_ = ::mkdtemp(path.data());
    directory_ = *open_real_directory(path_.string());
  }
  ~MappedRegionTest() override { fs::remove_all(path_); }

  std::shared_ptr<const MappedFile> map_ones(const std::string& name, std::size_t n_bytes) {
    EXPECT_TRUE(directory_->write_file(name, std::vector<std::byte>(n_bytes, kOne)));
    return *directory_->open_mapped(name);
  }
  void cut(const std::string& name, std::size_t n_bytes) { fs::resize_file(path_ / name, n_bytes); }
  static std::size_t n_ones(const MappedFile& file) {
    return static_cast<std::size_t>(std::ranges::count(file.bytes(), kOne));
  }

  fs::path path_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(MappedRegionTest, AFileThatIsCutShortReadsAsZeros) {
  const auto file = map_ones("f", 10 * kPage + 5);
  const auto other = map_ones("other", 3 * kPage);
  EXPECT_EQ(n_ones(*file), 10 * kPage + 5);
  EXPECT_FALSE(file->is_damaged());
  cut("f", 4 * kPage);
  EXPECT_EQ(file->bytes()[7 * kPage], std::byte{0});
  EXPECT_TRUE(file->is_damaged());
  // The whole region is zeros afterwards, so that nobody reads old bytes after new ones.
  EXPECT_EQ(n_ones(*file), 0U);
  EXPECT_FALSE(other->is_damaged());
  EXPECT_EQ(n_ones(*other), 3 * kPage);
}

TEST_F(MappedRegionTest, DamageGoesWithTheMapping) {
  for (int i = 0; i < 20; ++i) {
    auto file = map_ones("f", 2 * kPage);
    cut("f", 0);
    EXPECT_EQ(n_ones(*file), 0U);
    EXPECT_TRUE(file->is_damaged());
    file.reset();
    fs::remove(path_ / "f");
    const auto whole = map_ones("g", 2 * kPage);  // perhaps at the same address
    EXPECT_FALSE(whole->is_damaged());
    EXPECT_EQ(n_ones(*whole), 2 * kPage);
    fs::remove(path_ / "g");
  }
}

TEST_F(MappedRegionTest, ManyThreadsMeetTheSameFault) {
  for (int round = 0; round < 30; ++round) {
    const auto file = map_ones("f", 64 * kPage);
    std::atomic<int> n_wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        while (!file->is_damaged()) {
          // A reader that sees a zero must see the flag.
          if (n_ones(*file) != 64 * kPage && !file->is_damaged()) ++n_wrong;
        }
      });
    }
    cut("f", kPage);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(n_wrong, 0);
    fs::remove(path_ / "f");
  }
}

TEST_F(MappedRegionTest, FilesComeAndGoMeanwhile) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "whole" + std::to_string(t);
      while (!stop) {
        EXPECT_EQ(n_ones(*map_ones(name, 5 * kPage)), 5 * kPage);
        fs::remove(path_ / name);
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    const auto file = map_ones("f", 8 * kPage);
    cut("f", 3 * kPage);
    EXPECT_EQ(n_ones(*file), 3 * kPage);
    EXPECT_TRUE(file->is_damaged());
    fs::remove(path_ / "f");
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

/// The rest of the last page then reads as zeros, without a signal.
TEST_F(MappedRegionTest, AFileThatIsCutWithinItsLastPageIsDamaged) {
  for (const std::size_t left : {2 * kPage + 99, 2 * kPage + 1, 2 * kPage, kPage + 7}) {
    SCOPED_TRACE(left);
    const auto file = map_ones("f", 2 * kPage + 100);
    cut("f", left);
    EXPECT_EQ(n_ones(*file) == 2 * kPage + 100, false);
    EXPECT_TRUE(file->is_damaged());
    fs::remove(path_ / "f");
  }
}

/// If only zeros are cut off, every byte reads as before.
TEST_F(MappedRegionTest, ZerosAtTheEndAreNoneTheWorseForBeingCutOff) {
  std::vector<std::byte> bytes(kPage + 200, kOne);
  std::fill(bytes.begin() + kPage + 50, bytes.end(), std::byte{});
  ASSERT_TRUE(directory_->write_file("f", bytes));
  const auto file = *directory_->open_mapped("f");
  cut("f", kPage + 50);
  EXPECT_FALSE(file->is_damaged());
  EXPECT_EQ(n_ones(*file), kPage + 50);
  cut("f", kPage + 49);
  EXPECT_TRUE(file->is_damaged());
  // The same holds if the whole last page is zeros, unless the page itself is gone.
  ASSERT_TRUE(directory_->write_file("g", std::vector<std::byte>(2 * kPage)));
  const auto zeros = *directory_->open_mapped("g");
  cut("g", kPage + 1);
  EXPECT_FALSE(zeros->is_damaged());
  cut("g", kPage);
  EXPECT_TRUE(zeros->is_damaged());
}

/// Reads after the end of a file that is not registered.
void read_unregistered(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto* bytes =
      static_cast<const volatile char*>(::mmap(nullptr, 4 * kPage, PROT_READ, MAP_SHARED, fd, 0));
  (void)bytes[3 * kPage];
}

using MappedRegionDeathTest = MappedRegionTest;

TEST_F(MappedRegionDeathTest, OtherBusErrorsEndTheProcess) {
  const auto file = map_ones("f", kPage);  // installs the handler
  EXPECT_EQ(n_ones(*file), kPage);
  EXPECT_DEATH(read_unregistered((path_ / "f").string()), "");
  EXPECT_DEATH(::raise(SIGBUS), "");
}

TEST_F(MappedRegionTest, MappedFilesSayWhichIsDamaged) {
  const auto files = std::make_shared<MappedFiles>();
  directory_->watch(files);
  const auto one = map_ones("one", kPage);
  const auto two = map_ones("two", kPage);
  EXPECT_TRUE(files->check());
  EXPECT_TRUE(files->check());
  cut("two", 0);
  const auto checked = files->check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), Code::kUnavailable);
  EXPECT_NE(checked.error().message().find("/two`"), std::string::npos)
      << checked.error().message();
}

}  // namespace
}  // namespace quiver
