#include "index/index_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quiver::index {
namespace {

constexpr SectionFormat kIndexFileFormat{"test index", "QVTESTI1", "QVTESTIE"};

/// A file of one section, of a column of five rows.
std::unique_ptr<Directory> directory_with_index_file() {
  auto directory = make_memory_directory();
  SectionWriter writer(kIndexFileFormat, *directory->create_file("index"));
  const std::vector<std::uint32_t> values = {3, 1, 4};
  writer.section(1, std::span<const std::uint32_t>(values));
  EXPECT_TRUE(writer.finish(5));
  return directory;
}

TEST(IndexFile, OpensAndAddsItsSize) {
  const auto directory = directory_with_index_file();
  std::uint64_t n_bytes = 100;
  const auto reader = open_index_file(*directory, "index", kIndexFileFormat, 5, n_bytes);
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ(n_bytes, 100 + directory->read_file("index")->size());
  const auto values = reader->get<std::uint32_t>(1, 0, 3);
  ASSERT_TRUE(values);
  EXPECT_EQ((*values)[2], 4U);
}

TEST(IndexFile, OfOtherRowsIsRefused) {
  const auto directory = directory_with_index_file();
  for (const std::uint32_t n_rows : {0U, 4U, 6U}) {
    std::uint64_t n_bytes = 0;
    const auto reader = open_index_file(*directory, "index", kIndexFileFormat, n_rows, n_bytes);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code(), Code::kDataLoss);
    EXPECT_NE(reader.error().message().find("5 rows, expected"), std::string::npos);
  }
}

TEST(IndexFile, AnyChangedByteIsRefused) {
  const auto directory = directory_with_index_file();
  const auto good = *directory->read_file("index");
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{16};
    const auto damaged = make_memory_directory();
    ASSERT_TRUE(damaged->write_file("index", bad));
    std::uint64_t n_bytes = 0;
    const auto reader = open_index_file(*damaged, "index", kIndexFileFormat, 5, n_bytes);
    ASSERT_FALSE(reader) << "byte " << at;
    EXPECT_EQ(reader.error().code(), Code::kDataLoss) << "byte " << at;
  }
}

TEST(IndexFile, MissingShortAndForeignFilesAreErrors) {
  const auto directory = directory_with_index_file();
  std::uint64_t n_bytes = 0;
  EXPECT_FALSE(open_index_file(*directory, "other", kIndexFileFormat, 5, n_bytes));
  constexpr SectionFormat kOther{"other index", "QVTESTO1", "QVTESTOE"};
  EXPECT_FALSE(open_index_file(*directory, "index", kOther, 5, n_bytes));
  auto bytes = *directory->read_file("index");
  bytes.resize(bytes.size() / 2);
  ASSERT_TRUE(directory->write_file("half", bytes));
  EXPECT_FALSE(open_index_file(*directory, "half", kIndexFileFormat, 5, n_bytes));
  EXPECT_EQ(n_bytes, 0U);
}

}  // namespace
}  // namespace quiver::index
