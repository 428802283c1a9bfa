#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "index/index_file.h"

namespace quiver::index::testing {
namespace {

constexpr SectionFormat kNumbersFormat{"numbers", "QVTESTNU", "QVTESTNE"};

TEST(IndexFile, IsRefusedIfItIsOfAnotherColumn) {
  const auto directory = make_memory_directory();
  SectionWriter writer(kNumbersFormat, *directory->create_file("numbers"));
  const std::uint32_t numbers[] = {1, 2, 3};
  writer.section(1, std::span<const std::uint32_t>(numbers));
  ASSERT_TRUE(writer.finish(3));
  std::uint64_t n_bytes = 10;
  const auto reader = open_index_file(*directory, "numbers", kNumbersFormat, 3, n_bytes);
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_EQ(n_bytes, 10 + directory->read_file("numbers")->size());
  const auto other = open_index_file(*directory, "numbers", kNumbersFormat, 4, n_bytes);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kDataLoss);
  EXPECT_FALSE(open_index_file(*directory, "missing", kNumbersFormat, 3, n_bytes));
}

}  // namespace
}  // namespace quiver::index::testing
