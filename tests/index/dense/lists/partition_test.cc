#include <gtest/gtest.h>

#include "base/io/section_file.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/search/lists_files_support.h"

namespace quiver::index::testing {
namespace {

/// docs/formats/ivf.md, of the golden files: sizes of sections follow from the facts.
TEST(IvfFile, SectionsAreAsTheFormatSays) {
  const auto directory = make_memory_directory();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  ASSERT_TRUE(directory->write_file("lists.qvx", bytes_of_file(**real, "ivf-v1.qvx")));
  const SectionReader reader = lists_of(*directory);
  EXPECT_EQ(reader.n_rows(), 200U);
  const auto facts = reader.get<std::uint32_t>(1);
  ASSERT_TRUE(facts);
  const auto fact = facts->span();
  ASSERT_EQ(fact.size(), 14U);
  EXPECT_EQ(fact[0], 20U);           // dimensions
  EXPECT_EQ(fact[1], 64U);           // of rotated vectors
  EXPECT_EQ(fact[2], 2U);            // bits
  EXPECT_EQ(fact[3], 8U);            // lists
  EXPECT_EQ(fact[4] | fact[5], 1U);  // seed of the rotation, u64
  EXPECT_EQ(fact[6], 1U);            // version of the rotation
  const std::uint32_t n_positions = fact[7];
  EXPECT_EQ(fact[9], 1U);   // rows are in two lists
  EXPECT_EQ(fact[11], 8U);  // bits of the second codes
  EXPECT_EQ(n_positions % 16, 0U);
  EXPECT_TRUE(reader.get<std::uint32_t>(2, 0, 8 + 1));                            // first blocks
  EXPECT_TRUE(reader.get<std::uint32_t>(3, 0, n_positions));                      // rows
  EXPECT_TRUE(reader.get<std::byte>(4, 0, n_positions / 16 * (2 * 2 + 2) * 64));  // codes
  EXPECT_TRUE(reader.get<std::uint16_t>(5, 0, 8 * 64));                           // centroids
  EXPECT_TRUE(reader.get<std::byte>(6, 0, 1 * (2 + 2) * 64));                     // their codes
  EXPECT_TRUE(reader.get<float>(7, 0, 64));                                       // their mean
  EXPECT_TRUE(reader.get<float>(8, 0, 8));                                        // reaches
  ASSERT_TRUE(directory->write_file("rows.qvx", bytes_of_file(**real, "ivf-v1-rows.qvx")));
  constexpr SectionFormat kRowsFormat{"second codes", "QVIVFROW", "QVIVFREN"};
  const auto rows = SectionReader::open(kRowsFormat, *directory, "rows.qvx");
  ASSERT_TRUE(rows) << rows.error().to_string();
  EXPECT_TRUE(rows->get<std::byte>(20, 0, 200 * 64));
  EXPECT_TRUE(rows->get<float>(21, 0, 2 * 200));
}

/// Each row that is present is in two lists, or in one, and no other row is in any.
TEST(IvfFile, EveryRowIsInItsLists) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(30);
  for (const bool spill : {false, true}) {
    Clumps clumps(schema, 12, random);
    const IvfIndex index(clumps.column(3000, 0.9, 0.05), {{"spill", spill}});
    const auto lists = dense::Partition::open(lists_of(*index.directory), schema, 3000);
    ASSERT_TRUE(lists) << lists.error().to_string();
    std::vector<std::vector<std::uint32_t>> lists_of_row(3000);
    for (std::uint32_t list = 0; list < lists->n_lists(); ++list) {
      const std::size_t n = lists->blocks(list).n * 16;
      const auto rows = lists->rows().subspan(lists->first_position(list), n);
      for (std::size_t i = 0; i < n; ++i) {
        auto& of_row = lists_of_row[rows[i]];
        if (i > 0 && rows[i] == rows[i - 1]) continue;  // fills up the last block
        EXPECT_TRUE(of_row.empty() || of_row.back() != list) << "twice in one list";
        of_row.push_back(list);
      }
    }
    for (std::uint32_t row = 0; row < 3000; ++row) {
      const std::size_t wanted = index.column.present[row] == 0 ? 0 : spill ? 2 : 1;
      EXPECT_EQ(lists_of_row[row].size(), wanted) << "row " << row;
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
