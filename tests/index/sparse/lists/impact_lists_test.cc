#include "index/sparse/lists/impact_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/executor.h"
#include "index/sparse/rows/sections.h"
#include "tests/index/sparse/lists/lists_support.h"

namespace quiver::index::sparse {
namespace {

using quiver::index::testing::Random;
using testing::impact_column;
using testing::kImpactSeed;
using testing::postings_of;

constexpr SectionFormat kImpactFormat{"test lists", "QVTESTL1", "QVTESTLE"};

/// Lists of a whole column in a file in memory.
struct ListsFile {
  explicit ListsFile(const FieldColumn& rows, Executor* executor = nullptr)
      : column(rows), terms(TermMap::of(column.sparse(), 0, column.n_rows)) {
    const Cancel cancel;
    SectionWriter writer(kImpactFormat, *directory->create_file("lists"));
    EXPECT_TRUE(ImpactLists::write(column.sparse(), column.n_rows, terms,
                                   {executor, cancel, 0, nullptr}, writer));
    EXPECT_TRUE(writer.finish(column.n_rows));
  }
  [[nodiscard]] Result<ImpactLists> open(std::uint32_t n_rows, std::uint32_t n_terms) const {
    const auto reader = SectionReader::open(kImpactFormat, *directory, "lists");
    EXPECT_TRUE(reader);
    return ImpactLists::open(*reader, n_rows, n_terms);
  }

  FieldColumn column;
  TermMap terms;
  std::unique_ptr<Directory> directory = make_memory_directory();
};

/// Every posting once, at a level that is no lower than its value, and totals of all ranges.
void expect_lists_of(const ImpactLists& lists, const SparseColumn& column, std::uint32_t first,
                     const TermMap& terms) {
  for (std::uint32_t term = 0; term < terms.size(); ++term) {
    std::vector<std::uint32_t> totals(kLevels, 0);
    for (std::uint32_t range = 0; range < lists.n_ranges(); ++range) {
      auto left =
          postings_of(column, first + range * kRangeRows, lists.rows_in(range), terms.keys()[term]);
      const ImpactRun run = lists.run(term, range);
      ASSERT_EQ(run.n_from[0], left.size());
      for (std::size_t l = 0; l < kLevels; ++l) totals[l] += run.n_from[l];
      for (std::size_t i = 0; i < run.n_from[0]; ++i) {
        std::size_t level = 0;
        while (level + 1 < kLevels && i < run.n_from[level + 1]) ++level;
        const auto found = left.find(run.rows()[i]);
        ASSERT_NE(found, left.end()) << "twice, or a row without the term";
        EXPECT_LE(found->second, lists.max_of(term) * lists.levels().upper[level] * 1.00001F);
        left.erase(found);
      }
    }
    EXPECT_TRUE(std::equal(totals.begin(), totals.end(), lists.totals_of(term)));
  }
}

TEST(ImpactLists, OfSomeRowsInMemory) {
  SCOPED_TRACE("seed " + std::to_string(kImpactSeed));
  Random random(kImpactSeed);
  const auto column = impact_column(500, 30, random);
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{0, 500}, {123, 200}, {499, 1}, {3, 0}};
  for (const auto& [first, n] : ranges) {
    const TermMap terms = TermMap::of(column.sparse(), first, n);
    const ImpactLists lists = ImpactLists::of_rows(column.sparse(), first, n, terms);
    EXPECT_EQ(lists.n_rows(), n);
    EXPECT_EQ(lists.rows_in(0), n);
    expect_lists_of(lists, column.sparse(), first, terms);
  }
}

TEST(ImpactLists, OfSeveralRangesInAFile) {
  Random random(kImpactSeed);
  const ListsFile file(impact_column(2 * kRangeRows + 100, 300, random));
  const auto lists = file.open(file.column.n_rows, file.terms.size());
  ASSERT_TRUE(lists) << lists.error().to_string();
  EXPECT_EQ(lists->n_ranges(), 3U);
  EXPECT_EQ(lists->rows_in(1), kRangeRows);
  EXPECT_EQ(lists->rows_in(2), 100U);
  EXPECT_GT(lists->bytes(), 0U);
  std::map<std::uint32_t, std::uint64_t> n_with;
  for (const std::uint32_t index : file.column.sparse().indices.span()) ++n_with[index];
  for (std::uint32_t index = 0; index < 302; ++index) {
    EXPECT_EQ(n_rows_with(index, file.terms, *lists), n_with[index]) << "component " << index;
  }
  const TermMap& terms = file.terms;
  for (std::uint32_t term = 0; term < terms.size(); term += 97) {  // postings_of is slow
    for (std::uint32_t range = 0; range < 3; ++range) {
      const auto wanted = postings_of(file.column.sparse(), range * kRangeRows,
                                      lists->rows_in(range), terms.keys()[term]);
      const ImpactRun run = lists->run(term, range);
      std::vector<std::uint32_t> rows(run.rows(), run.rows() + run.n_from[0]);
      std::sort(rows.begin(), rows.end());
      ASSERT_EQ(rows.size(), wanted.size());
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), wanted.begin(),
                             [](std::uint32_t row, const auto& one) { return row == one.first; }));
    }
  }
}

TEST(ImpactLists, SameBytesForAnyNumberOfThreads) {
  Random random(kImpactSeed);
  const auto column = impact_column(2 * kRangeRows + 100, 50, random);
  Executor executor(3, "test");
  EXPECT_TRUE(*ListsFile(column).directory->read_file("lists") ==
              *ListsFile(column, &executor).directory->read_file("lists"));
}

TEST(ImpactLists, OfOtherRowsAreRefused) {
  Random random(kImpactSeed);
  const ListsFile file(impact_column(200, 30, random));
  const std::uint32_t n = file.terms.size();
  EXPECT_TRUE(file.open(200, n));
  const std::pair<std::uint32_t, std::uint32_t> others[] = {{199, n}, {201, n}, {200, n + 1}};
  for (const auto& [n_rows, n_terms] : others) {
    const auto lists = file.open(n_rows, n_terms);
    ASSERT_FALSE(lists);
    EXPECT_EQ(lists.error().code(), Code::kDataLoss);
  }
}

/// Sections whose checksums are right, but not what is in them.
TEST(ImpactLists, WrongPlacesLevelsAndRowsAreRefused) {
  SCOPED_TRACE("seed " + std::to_string(kImpactSeed));
  Random random(kImpactSeed);
  const ListsFile file(impact_column(200, 30, random));
  const auto reader = SectionReader::open(kImpactFormat, *file.directory, "lists");
  ASSERT_TRUE(reader);
  int n_refused = 0;
  for (int i = 0; i < 300; ++i) {
    const auto changed = make_memory_directory();
    SectionWriter writer(kImpactFormat, *changed->create_file("lists"));
    for (const std::uint32_t kind :
         {kListFacts, kListMaxima, kListTotals, kListPlaces, kListRuns}) {
      const auto section = *reader->get<std::byte>(kind);
      std::vector<std::byte> bytes(section.begin(), section.end());
      if (kind == (i % 2 == 0 ? kListPlaces : kListRuns)) {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
      }
      writer.section(kind, std::span<const std::byte>(bytes));
    }
    ASSERT_TRUE(writer.finish(200));
    const auto lists = ImpactLists::open(*SectionReader::open(kImpactFormat, *changed, "lists"),
                                         200, file.terms.size());
    if (!lists) {
      EXPECT_EQ(lists.error().code(), Code::kDataLoss);
      ++n_refused;
      continue;
    }
    for (std::uint32_t term = 0; term < file.terms.size(); ++term) {
      const ImpactRun run = lists->run(term, 0);
      for (std::size_t j = 0; j < run.n_from[0]; ++j) EXPECT_LT(run.rows()[j], 200);
    }
  }
  EXPECT_GT(n_refused, 100);
}

TEST(ImpactLists, CancelledIsAnError) {
  Random random(kImpactSeed);
  const auto column = impact_column(100, 30, random);
  const auto directory = make_memory_directory();
  SectionWriter writer(kImpactFormat, *directory->create_file("lists"));
  const Cancel cancel;
  cancel.cancel();
  const auto written =
      ImpactLists::write(column.sparse(), 100, TermMap::of(column.sparse(), 0, 100),
                         {nullptr, cancel, 0, nullptr}, writer);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::sparse
