// Files that are held in huge pages.
#include "base/io/huge_pages.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "base/observe/held_memory.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileMiB = 1 << 20;
/// Held, and its last page is cut.
constexpr std::size_t kHeldFileBytes = 9 * kFileMiB + 4097;

bool system_has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return !modes.empty() && modes.find("[never]") == std::string::npos;
}

/// Files in a directory that is removed at the end.
class HugePagesTest : public testing::Test {
 protected:
  HugePagesTest() {
    std::string path = testing::TempDir() + "quiver-XXXXXX";
    path_ = ::mkdtemp(path.data());
    directory_ = *open_real_directory(path_.string());
  }
  ~HugePagesTest() override {
    held_memory().set_limit(1 << 30);
    fs::remove_all(path_);
  }
  void SetUp() override {
    if (!system_has_huge_pages()) GTEST_SKIP() << "the system has no huge pages";
    held_memory().set_limit(1 << 30);
  }

  /// Byte i is a function of i.
  static std::vector<std::byte> patterned_bytes(std::size_t n_bytes) {
    std::vector<std::byte> bytes(n_bytes);
    for (std::size_t i = 0; i < n_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 7);
    return bytes;
  }
  std::shared_ptr<const MappedFile> map_file(std::size_t n_bytes) {
    name_ = "file-" + std::to_string(++n_files_);
    EXPECT_TRUE(directory_->write_file(name_, patterned_bytes(n_bytes)));
    return *directory_->open_mapped(name_);
  }
  void cut(std::size_t n_bytes) { fs::resize_file(path_ / name_, n_bytes); }
  static bool is_whole(const MappedFile& file) {
    const auto wanted = patterned_bytes(file.bytes().size());
    return !file.is_damaged() && std::ranges::equal(file.bytes(), wanted);
  }

  fs::path path_;
  int n_files_ = 0;
  std::string name_;  ///< of the newest file
  std::unique_ptr<Directory> directory_;
};

TEST_F(HugePagesTest, ALargeFileIsHeldAtItsPlace) {
  auto file = map_file(kHeldFileBytes);
  const std::byte* const before = file->bytes().data();
  ASSERT_TRUE(file->hold_in_huge_pages());
  EXPECT_TRUE(file->hold_in_huge_pages());  // still
  EXPECT_EQ(file->bytes().data(), before);
  EXPECT_TRUE(is_whole(*file));
  EXPECT_EQ(held_memory().n_bytes(), 9 * kFileMiB + 2 * 4096);
  file.reset();
  EXPECT_EQ(held_memory().n_bytes(), 0U);
}

TEST_F(HugePagesTest, SmallFilesStayFiles) {
  for (const std::size_t n_bytes : {std::size_t{0}, std::size_t{1}, 7 * kFileMiB}) {
    const auto file = map_file(n_bytes);
    EXPECT_FALSE(file->hold_in_huge_pages()) << n_bytes;
    EXPECT_TRUE(is_whole(*file)) << n_bytes;
  }
}

TEST_F(HugePagesTest, WithoutRoomFilesStayFiles) {
  held_memory().set_limit(15 * kFileMiB);
  auto first = map_file(kHeldFileBytes);
  EXPECT_TRUE(first->hold_in_huge_pages());
  const auto second = map_file(kHeldFileBytes);
  EXPECT_FALSE(second->hold_in_huge_pages());
  EXPECT_TRUE(is_whole(*second));
  first.reset();
  EXPECT_TRUE(second->hold_in_huge_pages());
  EXPECT_TRUE(is_whole(*second));
}

TEST_F(HugePagesTest, AHeldFileNeedsItsFileNoMore) {
  const auto file = map_file(kHeldFileBytes);
  ASSERT_TRUE(file->hold_in_huge_pages());
  cut(0);
  EXPECT_TRUE(is_whole(*file));
}

TEST_F(HugePagesTest, ColdFilesAreGivenBackWhileOthersRead) {
  for (int round = 0; round < 3; ++round) {
    const auto file = map_file(kHeldFileBytes);
    ASSERT_TRUE(file->hold_in_huge_pages());
    bool is_right = true;
    std::thread reader([&] {
      for (int i = 0; i < 3; ++i) is_right = is_right && is_whole(*file);
    });
    EXPECT_TRUE(file->place(file->bytes(), MemoryPlacement::kCold));
    reader.join();
    EXPECT_TRUE(is_right);
    EXPECT_EQ(held_memory().n_bytes(), 0U);
    EXPECT_TRUE(file->place(file->bytes(), MemoryPlacement::kCached));
    EXPECT_TRUE(is_whole(*file));
  }
}

TEST_F(HugePagesTest, AFileThatGivesItsPagesBackIsDamagedLikeEveryFile) {
  const auto file = map_file(kHeldFileBytes);
  ASSERT_TRUE(file->hold_in_huge_pages());
  ASSERT_TRUE(file->place(file->bytes().first(kFileMiB), MemoryPlacement::kCold));
  cut(4096);
  EXPECT_EQ(file->bytes()[5 * kFileMiB], std::byte{0});
  EXPECT_TRUE(file->is_damaged());
}

TEST_F(HugePagesTest, AFileThatIsUnreadableWhileItIsCopiedIsDamaged) {
  const auto file = map_file(kHeldFileBytes);
  cut(4 * kFileMiB);
  (void)file->hold_in_huge_pages();
  EXPECT_TRUE(file->is_damaged());
}

TEST_F(HugePagesTest, CopiesAreGivenUpTogether) {
  const auto first = map_file(kHeldFileBytes);
  const auto second = map_file(kHeldFileBytes);
  ASSERT_TRUE(first->hold_in_huge_pages());
  ASSERT_TRUE(second->hold_in_huge_pages());
  auto closed = map_file(kHeldFileBytes);
  ASSERT_TRUE(closed->hold_in_huge_pages());
  closed.reset();
  end_huge_page_copies();
  EXPECT_EQ(held_memory().n_bytes(), 0U);
  EXPECT_TRUE(is_whole(*first));
  EXPECT_TRUE(is_whole(*second));
  end_huge_page_copies();
  EXPECT_TRUE(is_whole(*first));
}

TEST_F(HugePagesTest, HeldPagesCanBePinned) {
  const auto file = map_file(kHeldFileBytes);
  ASSERT_TRUE(file->hold_in_huge_pages());
  if (!file->place(file->bytes(), MemoryPlacement::kPinned)) GTEST_SKIP() << "RLIMIT_MEMLOCK";
  EXPECT_TRUE(is_whole(*file));
  end_huge_page_copies();
  EXPECT_NE(held_memory().n_bytes(), 0U) << "what is pinned stays";
  EXPECT_TRUE(file->place(file->bytes(), MemoryPlacement::kCached));
  EXPECT_TRUE(is_whole(*file));
}

}  // namespace
}  // namespace quiver
