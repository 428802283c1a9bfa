#include "base/io/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/check.h"

#include "tests/support/faulty_directory.h"

namespace quiver {
namespace {

/// A real directory that is removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = testing::TempDir() + "quiver-XXXXXX";
    path_ = ::mkdtemp(path.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Behaviour that all kinds of directories share. The parameter names the kind.
class DirectoryTest : public testing::TestWithParam<std::string> {
 protected:
  DirectoryTest() {
    if (GetParam() == "real") {
      directory_ = *open_real_directory(temporary_.path());
    } else if (GetParam() == "memory") {
      directory_ = make_memory_directory();
    } else {
      directory_ = std::make_unique<FaultyDirectory>(make_memory_directory());
    }
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    const auto bytes = directory_->read_file(name);
    return bytes ? std::string(as_text(*bytes)) : bytes.error().to_string();
  }

  TemporaryDirectory temporary_;
  std::unique_ptr<Directory> directory_;
};

TEST_P(DirectoryTest, WritesPiecesAndReadsThemBack) {
  const std::vector<Bytes> pieces = {as_byte_span("one "), as_byte_span(""), as_byte_span("two")};
  ASSERT_TRUE(directory_->write_file("f", pieces));
  EXPECT_EQ(read("f"), "one two");
  EXPECT_EQ(*directory_->file_size("f"), 7U);
  EXPECT_TRUE(directory_->exists("f"));
  const auto mapped = *directory_->open_mapped("f");
  EXPECT_EQ(as_text(mapped->bytes()), "one two");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->bytes().data()) % 64, 0U);
  mapped->advise_sequential();
  mapped->advise_random();
  mapped->advise_willneed();
  ASSERT_TRUE(directory_->sync());
}

TEST_P(DirectoryTest, FilesAreWrittenOnce) {
  ASSERT_TRUE(directory_->write_file("f", as_byte_span("old")));
  EXPECT_EQ(directory_->write_file("f", as_byte_span("new")).error().code(), Code::kAlreadyExists);
  EXPECT_EQ(read("f"), "old");
}

TEST_P(DirectoryTest, ReplacesFiles) {
  ASSERT_TRUE(directory_->replace_file("f", as_byte_span("one")));
  ASSERT_TRUE(directory_->write_file("f.tmp", as_byte_span("left by a crash")));
  ASSERT_TRUE(directory_->replace_file("f", as_byte_span("two")));
  EXPECT_EQ(read("f"), "two");
  EXPECT_EQ(directory_->list()->size(), 1U);
}

TEST_P(DirectoryTest, StreamsAndCloses) {
  auto file = *directory_->create_file("f");
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string part(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(file->append(as_byte_span(part)));
    expected += part;
  }
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->close());
  EXPECT_EQ(read("f"), expected);
  EXPECT_FALSE(file->append(as_byte_span("x")));
  EXPECT_FALSE(file->close());
}

TEST_P(DirectoryTest, EmptyFiles) {
  ASSERT_TRUE(directory_->write_file("f", Bytes{}));
  EXPECT_TRUE((*directory_->open_mapped("f"))->bytes().empty());
  EXPECT_EQ(read("f"), "");
}

TEST_P(DirectoryTest, MappingsOutliveTheirFile) {
  ASSERT_TRUE(directory_->write_file("f", as_byte_span("kept")));
  const SharedBytes bytes = shared_bytes(*directory_->open_mapped("f"));
  ASSERT_TRUE(directory_->remove_file("f"));
  EXPECT_FALSE(directory_->exists("f"));
  EXPECT_EQ(as_text(bytes.span()), "kept");
}

TEST_P(DirectoryTest, ListsSorted) {
  ASSERT_TRUE(directory_->write_file("b", Bytes{}));
  ASSERT_TRUE(directory_->write_file("a", Bytes{}));
  ASSERT_TRUE(directory_->subdirectory("c"));
  const std::vector<DirectoryEntry> expected = {
      {"a", EntryKind::kFile}, {"b", EntryKind::kFile}, {"c", EntryKind::kDirectory}};
  EXPECT_EQ(*directory_->list(), expected);
}

TEST_P(DirectoryTest, SubdirectoriesAreOpenedRenamedRemoved) {
  EXPECT_EQ(directory_->open_subdirectory("d").error().code(), Code::kNotFound);
  auto below = *directory_->subdirectory("d");
  ASSERT_TRUE(below->write_file("f", as_byte_span("x")));
  EXPECT_TRUE((*directory_->subdirectory("d"))->exists("f"));  // opened, not emptied
  ASSERT_TRUE(directory_->rename_subdirectory("d", "e"));
  EXPECT_FALSE(directory_->exists("d"));
  EXPECT_TRUE((*directory_->open_subdirectory("e"))->exists("f"));
  ASSERT_TRUE(directory_->subdirectory("d"));
  EXPECT_EQ(directory_->rename_subdirectory("e", "d").error().code(), Code::kAlreadyExists);
  ASSERT_TRUE(directory_->remove_subdirectory("e"));
  EXPECT_FALSE(directory_->exists("e"));
  EXPECT_EQ(directory_->remove_subdirectory("e").error().code(), Code::kNotFound);
}

TEST_P(DirectoryTest, MissingFilesAndWrongKinds) {
  EXPECT_EQ(directory_->read_file("f").error().code(), Code::kNotFound);
  EXPECT_EQ(directory_->open_mapped("f").error().code(), Code::kNotFound);
  EXPECT_EQ(directory_->file_size("f").error().code(), Code::kNotFound);
  EXPECT_EQ(directory_->remove_file("f").error().code(), Code::kNotFound);
  EXPECT_EQ(directory_->rename_file("f", "g").error().code(), Code::kNotFound);
  EXPECT_NE(directory_->read_file("f").error().message().find(directory_->path() + "/f"),
            std::string::npos);
  ASSERT_TRUE(directory_->subdirectory("d"));
  EXPECT_FALSE(directory_->read_file("d"));
  EXPECT_FALSE(directory_->open_mapped("d"));
  EXPECT_FALSE(directory_->remove_file("d"));
  ASSERT_TRUE(directory_->write_file("f", Bytes{}));
  EXPECT_FALSE(directory_->open_subdirectory("f"));
  EXPECT_FALSE(directory_->subdirectory("f"));
  EXPECT_FALSE(directory_->remove_subdirectory("f"));
  EXPECT_TRUE(directory_->exists("f"));
}

TEST_P(DirectoryTest, NamesThatLeaveTheDirectoryAreRefused) {
  for (const std::string_view name :
       {std::string_view(""), std::string_view("."), std::string_view(".."),
        std::string_view("../f"), std::string_view("a/b"), std::string_view("a\0b", 3)}) {
    EXPECT_EQ(directory_->write_file(name, Bytes{}).error().code(), Code::kInvalidArgument);
    EXPECT_EQ(directory_->read_file(name).error().code(), Code::kInvalidArgument);
    EXPECT_EQ(directory_->subdirectory(name).error().code(), Code::kInvalidArgument);
    EXPECT_EQ(directory_->remove_subdirectory(name).error().code(), Code::kInvalidArgument);
    EXPECT_EQ(directory_->replace_file(name, Bytes{}).error().code(), Code::kInvalidArgument);
    EXPECT_FALSE(directory_->exists(name));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, DirectoryTest, testing::Values("real", "memory", "faulty"),
                         [](const auto& kind) { return kind.param; });

TEST_P(DirectoryTest, PlacingAFileChangesNoByte) {
  std::string text(3 * 65536 + 17, 'x');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  ASSERT_TRUE(directory_->write_file("f", as_byte_span(text)));
  const auto mapped = *directory_->open_mapped("f");
  using enum MemoryPlacement;
  for (const auto placement : {kPinned, kCold, kCold, kCached, kPinned, kCached, kCold}) {
    (void)mapped->place(mapped->bytes().first(70'000), placement);  // a small limit may refuse it
    (void)mapped->place(mapped->bytes().subspan(140'001), placement);
    EXPECT_EQ(as_text(mapped->bytes()), text);
    EXPECT_FALSE(mapped->is_damaged());
  }
  EXPECT_TRUE(mapped->place({}, kPinned));
  EXPECT_TRUE(mapped->place(mapped->bytes().subspan(1, 100), kPinned)) << "no whole page";
}

/// Bytes that this process has locked, as the system counts them.
std::uint64_t locked_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmLck:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

/// Pages of `bytes` that are in memory.
std::size_t n_resident(Bytes bytes) {
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(bytes.data()), bytes.size(), pages.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; }));
}

class PlacedFile : public testing::Test {
 protected:
  static constexpr std::size_t kPages = 12;
  PlacedFile() {
    const std::vector<std::byte> bytes(kPages * 4096, std::byte{7});
    QV_CHECK(directory_->write_file("f", bytes));
    mapped_ = *directory_->open_mapped("f");
  }

  TemporaryDirectory temporary_;
  std::unique_ptr<Directory> directory_ = *open_real_directory(temporary_.path());
  std::shared_ptr<const MappedFile> mapped_;
};

TEST_F(PlacedFile, PinnedPagesAreLockedUntilTheyAreReleased) {
  const std::uint64_t before = locked_bytes();
  const auto some = mapped_->bytes().first(5 * 4096 + 9);
  ASSERT_TRUE(mapped_->place(some, MemoryPlacement::kPinned));
  if (locked_bytes() == before) GTEST_SKIP() << "this system does not count locked pages";
  EXPECT_EQ(locked_bytes(), before + 5 * 4096) << "whole pages inside the range";
  EXPECT_EQ(n_resident(mapped_->bytes().first(5 * 4096)), 5U);
  ASSERT_TRUE(mapped_->place(some, MemoryPlacement::kPinned));
  EXPECT_EQ(locked_bytes(), before + 5 * 4096);
  ASSERT_TRUE(mapped_->place(some, MemoryPlacement::kCold));
  EXPECT_EQ(locked_bytes(), before);
  ASSERT_TRUE(mapped_->place(mapped_->bytes(), MemoryPlacement::kPinned));
  mapped_.reset();
  EXPECT_EQ(locked_bytes(), before);
}

TEST_F(PlacedFile, ColdPagesLeaveTheMemory) {
  ASSERT_EQ(mapped_->bytes()[4096 * 3], std::byte{7});
  if (n_resident(mapped_->bytes()) < kPages) GTEST_SKIP() << "the system keeps no pages of files";
  ASSERT_TRUE(mapped_->place(mapped_->bytes(), MemoryPlacement::kCold));
  if (n_resident(mapped_->bytes()) == kPages)
    GTEST_SKIP() << "the system drops no pages when asked";
  EXPECT_LE(n_resident(mapped_->bytes()), kPages / 2);
  EXPECT_EQ(mapped_->bytes()[4096 * 3], std::byte{7});
}

TEST_F(PlacedFile, RefusedLocksAreErrorsAndChangeNothing) {
  const pid_t child = ::fork();  // root may lock what it likes
  if (child == 0) {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 || ::setresuid(65534, 65534, 65534) != 0)
      ::_exit(2);
    const auto refused = mapped_->place(mapped_->bytes(), MemoryPlacement::kPinned);
    const bool is_said = !refused && refused.error().code() == Code::kResourceExhausted;
    ::_exit(is_said && mapped_->bytes()[0] == std::byte{7} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "needs root, or a limit";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(RealDirectory, IsCreatedWithItsParents) {
  const TemporaryDirectory temporary;
  const std::string path = temporary.path() + "/a/b/../b/c/";
  const auto directory = open_real_directory(path);
  ASSERT_TRUE(directory) << directory.error().to_string();
  EXPECT_EQ((*directory)->path(), temporary.path() + "/a/b/c");
  ASSERT_TRUE((*directory)->write_file("f", as_byte_span("x")));
  EXPECT_FALSE(open_real_directory(path + "f"));
  EXPECT_FALSE(open_real_directory(path + "f/g"));
  EXPECT_FALSE(open_real_directory(""));
}

TEST(RealDirectory, AllocatedBytesCountsEverythingBelow) {
  const TemporaryDirectory temporary;
  auto directory = *open_real_directory(temporary.path());
  const auto before = *allocated_bytes(temporary.path());
  auto below = *directory->subdirectory("d");
  ASSERT_TRUE(below->write_file("f", std::vector<std::byte>(1 << 20, std::byte{1})));
  EXPECT_GE(*allocated_bytes(temporary.path()), before + (1 << 20));
  ASSERT_TRUE(directory->remove_subdirectory("d"));
  EXPECT_LE(*allocated_bytes(temporary.path()), before + (1 << 16));
  EXPECT_EQ(*allocated_bytes(temporary.path() + "/missing"), 0U);
}

TEST(FileError, NamesWhatAndWhy) {
  const Error full = file_error(ENOSPC, "append to", "/data/f");
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_EQ(full.message(), "no space left on device: cannot append to `/data/f`");
  const Error missing = file_error(ENOENT, "open", "/data/f");
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.message(), "cannot open `/data/f`: No such file or directory");
  EXPECT_EQ(file_error(EIO, "sync", "f").code(), Code::kUnavailable);
  EXPECT_EQ(file_error(EMFILE, "open", "f").code(), Code::kUnavailable);
  EXPECT_EQ(file_error(EINVAL, "open", "f").code(), Code::kInternal);
}

}  // namespace
}  // namespace quiver
