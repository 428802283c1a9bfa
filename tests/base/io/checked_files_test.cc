// Mapped files that are read again: what is found, and what other readers notice of it.
#include "base/io/checked_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/io/mapped_window.h"
#include "base/io/section_file.h"
#include "tests/support/failing_allocation.h"
#include "tests/support/unreadable_window.h"

namespace quiver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPageBytes = 4096;
constexpr SectionFormat kFormat{"test file", "QVTESTFI", "QVTESTEN"};

class CheckedFilesTest : public testing::Test {
 protected:
  CheckedFilesTest() {
    std::string path = testing::TempDir() + "quiver-XXXXXX";
    path_ = ::mkdtemp(path.data());
    directory_ = *open_real_directory(path_.string());
  }
  ~CheckedFilesTest() override { fs::remove_all(path_); }

  /// A file with sections of these sizes.
  SectionReader make(const std::string& name, const std::vector<std::size_t>& sizes) {
    SectionWriter out(kFormat, *directory_->create_file(name));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::uint8_t> bytes(sizes[i]);
      for (std::size_t b = 0; b < bytes.size(); ++b)
        bytes[b] = static_cast<std::uint8_t>(b * 7 + i);
      out.section<std::uint8_t>(static_cast<std::uint32_t>(i + 1), bytes);
    }
    EXPECT_TRUE(out.finish(3));
    return *SectionReader::open(kFormat, *directory_, name);
  }
  void flip(const std::string& name, std::uint64_t at) const {
    const int file = ::open((path_ / name).c_str(), O_RDWR);
    char byte = 0;
    ASSERT_EQ(::pread(file, &byte, 1, static_cast<off_t>(at)), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(file, &byte, 1, static_cast<off_t>(at)), 1);
    ::close(file);
  }
  /// Writes the file to disk and takes its pages out of memory.
  void drop_pages(const std::string& name) const {
    const int file = ::open((path_ / name).c_str(), O_RDWR);
    ASSERT_EQ(::fsync(file), 0);
    ASSERT_EQ(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(file);
  }
  static std::size_t n_pages_in_memory(Bytes file) {
    std::vector<unsigned char> states((file.size() + kPageBytes - 1) / kPageBytes);
    auto* begin = const_cast<std::byte*>(file.data());
    EXPECT_EQ(::mincore(begin, file.size(), states.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(states, [](unsigned char state) { return (state & 1) != 0; }));
  }

  fs::path path_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(CheckedFilesTest, PartsCoverTheFile) {
  const auto reader = make("f", {100, 0, 1'000'000, 64});
  const auto file = find_checked(*reader.file());
  ASSERT_TRUE(file);
  std::uint64_t end = 0;
  for (const FilePart& part : *file->parts) {
    EXPECT_EQ(part.offset, end);
    end += part.size;
  }
  EXPECT_EQ(end, reader.file()->bytes().size());
  EXPECT_EQ(file->n_bytes(), end);
  EXPECT_TRUE(check_again(*reader.file()));
  EXPECT_FALSE(reader.file()->is_damaged());
}

TEST_F(CheckedFilesTest, EveryChangedByteIsFound) {
  const std::uint64_t size = make("size", {100, 0, 3000, 64}).file()->bytes().size();
  for (std::uint64_t at = 0; at < size; at += 41) {
    const std::string name = "f" + std::to_string(at);
    const auto reader = make(name, {100, 0, 3000, 64});
    flip(name, at);
    const auto checked = check_again(*reader.file());
    ASSERT_FALSE(checked) << at;
    EXPECT_EQ(checked.error().code(), Code::kDataLoss);
    EXPECT_NE(checked.error().message().find(name), std::string::npos);
    EXPECT_TRUE(reader.file()->is_damaged());
    EXPECT_FALSE(check_again(*reader.file()));
  }
}

TEST_F(CheckedFilesTest, TheMessageNamesTheSection) {
  const auto reader = make("f", {100, 3000});
  flip("f", 200);
  const auto checked = check_again(*reader.file());
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("section 2 of field 0 (bytes 192 to 3192)"),
            std::string::npos)
      << checked.error().message();
}

TEST_F(CheckedFilesTest, AFileThatIsCutShortIsDamaged) {
  const auto reader = make("f", {3'000'000});
  const auto other = make("other", {3'000'000});
  fs::resize_file(path_ / "f", 1'000'000);
  const auto checked = check_again(*reader.file());
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("cannot be read any more"), std::string::npos);
  EXPECT_TRUE(reader.file()->is_damaged());
  EXPECT_TRUE(check_again(*other.file()));
}

TEST_F(CheckedFilesTest, RemovedAndRenamedFilesAreRead) {
  const auto removed = make("removed", {100'000});
  const auto renamed = make("renamed", {100'000});
  fs::remove(path_ / "removed");
  fs::rename(path_ / "renamed", path_ / "other");
  EXPECT_TRUE(check_again(*removed.file()));
  flip("other", 500);
  EXPECT_FALSE(check_again(*renamed.file()));
}

TEST_F(CheckedFilesTest, FilesThatNobodyUsesAreForgotten) {
  const auto count = [&] {
    const auto all = checked_files();
    return std::ranges::count_if(
        all, [&](const CheckedFile& file) { return file.path.starts_with(path_.string()); });
  };
  {
    const auto first = make("first", {10});
    const auto second = make("second", {10});
    EXPECT_EQ(count(), 2);
    const auto remembered = find_checked(*first.file());
    ASSERT_TRUE(remembered);
  }
  EXPECT_EQ(count(), 0);
  std::optional<FileCheck> check;
  {
    const auto third = make("third", {1'000'000});
    check.emplace(*find_checked(*third.file()));
    EXPECT_GT(check->step().value(), 0U);
  }
  EXPECT_EQ(check->step().value(), 0U);
}

/// Pages that others read stay in memory, and most pages that only the check read do not.
TEST_F(CheckedFilesTest, MemoryIsLeftAsItWas) {
  const auto reader = make("f", {4'000'000});
  const Bytes bytes = reader.file()->bytes();
  const std::size_t n_pages = (bytes.size() + kPageBytes - 1) / kPageBytes;
  drop_pages("f");
  reader.file()->advise_random();  // so that reading a page does not read those around it
  const std::size_t n_left = n_pages_in_memory(bytes);  // the one that was read at opening
  if (n_left > 1) GTEST_SKIP() << "this file system keeps its pages in memory";
  volatile std::byte byte = bytes[100 * kPageBytes];
  byte = bytes[777 * kPageBytes];
  (void)byte;
  const std::size_t n_read = n_pages_in_memory(bytes);  // 2, or as many as the system reads at once
  ASSERT_GE(n_read, 2);
  ASSERT_LT(n_read, n_pages / 2);
  EXPECT_TRUE(check_again(*reader.file()));
  EXPECT_GE(n_pages_in_memory(bytes), n_read);
  EXPECT_LT(n_pages_in_memory(bytes), n_read + n_pages / 8);  // the system keeps some that are new
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) byte = bytes[at];
  EXPECT_TRUE(check_again(*reader.file()));
  EXPECT_EQ(n_pages_in_memory(bytes), n_pages);
}

/// A changed byte on disk, of a page that is not in memory, is found as well.
TEST_F(CheckedFilesTest, PagesThatComeBackWithOtherBytesAreFound) {
  const auto reader = make("f", {4'000'000});
  flip("f", 2'000'000);
  drop_pages("f");
  EXPECT_FALSE(check_again(*reader.file()));
}

/// A read error of the disk (EIO), wherever it is met.
TEST_F(CheckedFilesTest, PagesThatTheDiskCannotReadDamageTheFile) {
  constexpr std::size_t kSize = 3 * FileCheck::kBlockBytes;
  std::uint64_t n_blocks = 1;
  for (std::uint64_t nth = 1; nth <= n_blocks; ++nth) {
    const std::string name = "f" + std::to_string(nth);
    const auto reader = make(name, {100, kSize});
    const auto other = make(name + "-other", {kSize});
    if (nth == 1) {
      testing_support::make_window_unreadable(0);
      ASSERT_TRUE(check_again(*reader.file()));
      n_blocks = testing_support::n_windows();
      ASSERT_GE(n_blocks, 4U);
    }
    testing_support::make_window_unreadable(nth);
    const auto checked = check_again(*reader.file());
    ASSERT_FALSE(checked) << "block " << nth;
    EXPECT_EQ(checked.error().code(), Code::kDataLoss);
    EXPECT_NE(checked.error().message().find("cannot be read any more"), std::string::npos);
    EXPECT_TRUE(reader.file()->is_damaged());
    EXPECT_TRUE(check_again(*other.file()));
  }
}

/// The window of a block stayed mapped when memory ran out: a leak of 256 KiB of addresses each
/// time, and a file that could not be unmounted.
TEST_F(CheckedFilesTest, NoWindowIsLeftBehindWithoutMemory) {
  const auto reader = make("f", {3'000'000});
  const auto n_mappings = [] {
    std::ifstream maps("/proc/self/maps");
    std::size_t n = 0;
    for (std::string line; std::getline(maps, line);) n += line.find("/f") + 2 == line.size();
    return n;
  };
  const std::size_t n_before = n_mappings();
  ASSERT_EQ(n_before, 1U);
  int n_failed = 0;
  for (int nth = 0; nth < 20; ++nth) {
    Checksum sum;
    testing_support::fail_allocations(nth, 1);
    try {
      EXPECT_TRUE(hash_apart(reader.file()->bytes(), sum));
    } catch (const std::bad_alloc&) {
      ++n_failed;
    }
    testing_support::fail_allocations(0, 0);
    EXPECT_EQ(n_mappings(), n_before);
  }
  EXPECT_GT(n_failed, 0);
}

TEST_F(CheckedFilesTest, MemoryOfNoFileIsHashed) {
  std::vector<std::byte> bytes(100'000, std::byte{3});
  Checksum sum;
  EXPECT_TRUE(hash_apart(Bytes(bytes).subspan(5, 90'000), sum));
  EXPECT_EQ(sum.digest(), checksum(Bytes(bytes).subspan(5, 90'000)));
}

}  // namespace
}  // namespace quiver
