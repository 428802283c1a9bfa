// Files of sections: the checks at opening, and their origin.
#include "base/io/section_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/faulty_directory.h"

namespace quiver {
namespace {

constexpr SectionFormat kTestSections{"test file", "QVTEST01", "QVTESTND"};
constexpr std::uint64_t kOwner = 0x1122334455667788;

void write(Directory& directory, std::string_view name, std::size_t n_numbers = 100) {
  std::vector<std::uint32_t> numbers(n_numbers);
  for (std::size_t i = 0; i < n_numbers; ++i) numbers[i] = static_cast<std::uint32_t>(i * 7);
  SectionWriter writer(kTestSections, *directory.create_file(name));
  writer.section(1, std::span<const std::uint32_t>(numbers));
  writer.section(2, std::span<const std::uint32_t>(), 5);
  ASSERT_TRUE(writer.finish(3));
}

std::string open_error(const Directory& directory, std::string_view name) {
  const auto reader = SectionReader::open(kTestSections, directory, name);
  return reader ? "" : reader.error().to_string();
}

std::uint32_t version_of(const Directory& directory, std::string_view name) {
  const auto bytes = *directory.read_file(name);
  return static_cast<std::uint32_t>(bytes[8]);
}

TEST(SectionFile, LargerThanAnyBuffer) {
  const auto directory = make_memory_directory();
  write(*directory, "f", 1'000'003);
  const auto reader = SectionReader::open(kTestSections, *directory, "f");
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ(reader->n_rows(), 3U);
  const auto numbers = *reader->get<std::uint32_t>(1);
  ASSERT_EQ(numbers.size(), 1'000'003U);
  EXPECT_EQ(numbers[1'000'002], 7'000'014U);
  EXPECT_EQ(reader->get<std::uint32_t>(2, 5)->size(), 0U);
}

TEST(SectionFile, EveryFlippedBitIsDamage) {
  for (const bool has_owner : {false, true}) {
    SCOPED_TRACE(has_owner);
    const auto directory = make_memory_directory();
    if (has_owner) directory->set_owner(kOwner);
    write(*directory, "f", 3);
    const auto good = *directory->read_file("f");
    // The format, not SectionReader, checks the number of rows.
    const std::size_t n_rows_at = good.size() - 20;
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      if (bit / 8 >= n_rows_at && bit / 8 < n_rows_at + 4) continue;
      auto bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      ASSERT_TRUE(directory->remove_file("f"));
      ASSERT_TRUE(directory->write_file("f", bad));
      const auto reader = SectionReader::open(kTestSections, *directory, "f");
      ASSERT_FALSE(reader) << "bit " << bit % 8 << " of byte " << bit / 8;
      EXPECT_EQ(reader.error().code(), Code::kDataLoss);
    }
  }
}

TEST(SectionFile, ABadDiskIsDamageAndOthersAreNot) {
  FaultyDirectory directory(make_memory_directory());
  write(directory, "f");
  struct Case {
    int error_number;
    Code code;
  };
  for (const auto& [error_number, code] :
       {Case{EIO, Code::kDataLoss}, Case{EBADMSG, Code::kDataLoss}, Case{EUCLEAN, Code::kDataLoss},
        Case{EMFILE, Code::kUnavailable}, Case{ENFILE, Code::kUnavailable},
        Case{ENOMEM, Code::kUnavailable}, Case{EACCES, Code::kInternal},
        Case{ENOENT, Code::kNotFound}, Case{ENOSPC, Code::kResourceExhausted}}) {
    SCOPED_TRACE(error_number);
    for (const auto operation : {FileOperation::kOpen, FileOperation::kRead}) {
      const std::uint64_t n_calls = operation == FileOperation::kOpen ? 1 : 5;
      for (std::uint64_t nth = 1; nth <= n_calls; ++nth) {
        directory.inject({.operation = operation, .nth = nth, .error_number = error_number});
        const auto reader = SectionReader::open(kTestSections, directory, "f");
        ASSERT_FALSE(reader) << "call " << nth;
        EXPECT_EQ(reader.error().code(), code) << reader.error().to_string();
        EXPECT_NE(reader.error().message().find("`memory:/f`"), std::string::npos);
        directory.clear_faults();
      }
    }
  }
  EXPECT_EQ(open_error(directory, "f"), "");
}

TEST(SectionFile, FilesSayWhoseTheyAre) {
  const auto directory = make_memory_directory();
  const auto outside = *directory->subdirectory("12");
  write(*outside, "old");
  EXPECT_EQ(version_of(*outside, "old"), 1U);
  directory->set_owner(kOwner);
  const auto inside = *directory->subdirectory("12");
  write(*inside, "a");
  EXPECT_EQ(version_of(*inside, "a"), 2U);
  EXPECT_EQ(open_error(*inside, "a"), "");
  EXPECT_EQ(open_error(*inside, "old"), "");  // version 1 has no origin
  EXPECT_EQ(open_error(*outside, "a"), "");   // no origin is expected

  ASSERT_TRUE(inside->write_file("b", *inside->read_file("a")));
  EXPECT_NE(open_error(*inside, "b").find("data_loss"), std::string::npos);
  EXPECT_NE(open_error(*inside, "b").find("another path"), std::string::npos);
  const auto sibling = *directory->subdirectory("13");
  ASSERT_TRUE(sibling->write_file("a", *inside->read_file("a")));
  EXPECT_NE(open_error(*sibling, "a").find("another path"), std::string::npos);

  const auto stranger = make_memory_directory();
  stranger->set_owner(kOwner + 1);
  const auto same_path = *stranger->subdirectory("12");
  ASSERT_TRUE(same_path->write_file("a", *inside->read_file("a")));
  EXPECT_NE(open_error(*same_path, "a").find("another owner"), std::string::npos);
}

TEST(SectionFile, DraftsHaveTheOriginOfWhatTheyBecome) {
  const auto directory = make_memory_directory();
  directory->set_owner(kOwner);
  const auto draft = *directory->subdirectory("index.tmp");
  write(*draft, "f.tmp");
  ASSERT_TRUE(draft->rename_file("f.tmp", "f"));
  ASSERT_TRUE(directory->rename_subdirectory("index.tmp", "index"));
  EXPECT_EQ(open_error(**directory->open_subdirectory("index"), "f"), "");
}

/// Files of released versions must be read and written with the same bytes for ever:
/// docs/formats/segment.md.
TEST(SectionFile, GoldenFiles) {
  const auto real = *open_real_directory("tests/base/golden");
  for (const std::uint32_t version : {1U, 2U}) {
    SCOPED_TRACE(version);
    const std::string golden = "sections-v" + std::to_string(version) + ".qvx";
    const auto directory = make_memory_directory();
    if (version == 2) directory->set_owner(kOwner);
    const auto below = *directory->subdirectory("12");
    write(*below, "rows.qvs", 20);
    const auto written = *below->read_file("rows.qvs");
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE(real->replace_file(golden, written));
    }
    const auto kept = real->read_file(golden);
    ASSERT_TRUE(kept) << kept.error().to_string();
    EXPECT_TRUE(*kept == written) << "the bytes that are written have changed";
    ASSERT_TRUE(below->remove_file("rows.qvs"));
    ASSERT_TRUE(below->write_file("rows.qvs", *kept));
    EXPECT_EQ(open_error(*below, "rows.qvs"), "");
  }
}

}  // namespace
}  // namespace quiver
