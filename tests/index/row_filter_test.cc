#include "index/row_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index {
namespace {

/// Everything that a filter says, against one bool for each row.
void expect_filter_allows(const RowFilter& filter, const std::vector<bool>& allowed) {
  const auto n = static_cast<std::uint32_t>(allowed.size());
  ASSERT_EQ(filter.n_rows(), n);
  ASSERT_EQ(filter.n_blocks(), (n + 63) / 64);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < n; ++row) {
    EXPECT_EQ(filter.allows(row), allowed[row]) << "row " << row;
    if (allowed[row]) rows.push_back(row);
  }
  EXPECT_EQ(filter.n_allowed(), rows.size());
  for (std::uint32_t b = 0; b < filter.n_blocks(); ++b) {
    std::uint64_t word = 0;
    std::uint32_t next = filter.n_blocks();
    for (const std::uint32_t row : rows) {
      if (row / 64 == b) word |= std::uint64_t{1} << (row % 64);
      if (row / 64 >= b) next = std::min(next, row / 64);
    }
    EXPECT_EQ(filter.block(b), word) << "block " << b;
    EXPECT_EQ(filter.next_block(b), next) << "block " << b;
    if (!filter.allows_all()) {
      EXPECT_EQ(filter.words()[b], word);
    }
  }
  for (const std::uint32_t begin : {0U, 1U, 63U, 64U, n / 2, n}) {
    std::vector<std::uint32_t> found;
    filter.for_each(begin, [&](std::uint32_t row) { found.push_back(row); });
    const auto first = std::lower_bound(rows.begin(), rows.end(), begin);
    EXPECT_EQ(found, std::vector<std::uint32_t>(first, rows.end())) << "from " << begin;
  }
}

TEST(RowFilter, AllRowsOfAnyNumber) {
  for (const std::uint32_t n : {0U, 1U, 63U, 64U, 65U, 300U}) {
    SCOPED_TRACE(std::to_string(n) + " rows");
    const RowFilter filter = RowFilter::all(n);
    EXPECT_TRUE(filter.allows_all());
    EXPECT_EQ(filter.words(), nullptr);
    EXPECT_FALSE(filter.is_listed());
    expect_filter_allows(filter, std::vector<bool>(n, true));
  }
}

std::vector<std::uint32_t> rows_of(const Bitset& bits) {
  std::vector<std::uint32_t> rows;
  bits.for_each([&](std::size_t row) { rows.push_back(static_cast<std::uint32_t>(row)); });
  return rows;
}

TEST(RowFilter, BitmapsAndListedRowsSayTheSame) {
  constexpr std::uint64_t kFilterSeed = 91;
  SCOPED_TRACE("seed " + std::to_string(kFilterSeed));
  testing::Random random(kFilterSeed);
  // Sizes go up and down: the bitmap that a thread keeps fits only some of them.
  for (const std::uint32_t n : {64U, 1U, 65U, 4166U, 200U, 0U, 300U}) {
    for (const Bitset& bits : testing::some_filters(n, random)) {
      SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(bits.count()) + " allowed");
      std::vector<bool> allowed(n);
      for (std::uint32_t row = 0; row < n; ++row) allowed[row] = bits.test(row);
      const RowFilter by_bits = RowFilter::of(bits);
      EXPECT_FALSE(by_bits.is_listed());
      expect_filter_allows(by_bits, allowed);
      const ListedRows rows(n, rows_of(bits));
      const ListedRows other(n, {});  // at the same time
      EXPECT_EQ(RowFilter::of(other).n_allowed(), 0U);
      const RowFilter by_list = RowFilter::of(rows);
      EXPECT_TRUE(by_list.is_listed());
      EXPECT_FALSE(by_list.allows_all());
      expect_filter_allows(by_list, allowed);
    }
  }
}

TEST(RowFilter, ListedRowsLeaveNoBitBehind) {
  for (int round = 0; round < 3; ++round) {
    ListedRows first(500, {3, 70, 499});
    const ListedRows moved = std::move(first);
    EXPECT_TRUE(RowFilter::of(moved).allows(70));
    EXPECT_EQ(moved.rows().size(), 3U);
  }
  const ListedRows next(500, {4});
  for (std::uint32_t row = 0; row < 500; ++row) {
    EXPECT_EQ(RowFilter::of(next).allows(row), row == 4) << row;
  }
}

TEST(RowFilter, EverySearcherFindsTheSameThroughListedRows) {
  SCOPED_TRACE("seed 3");
  testing::Random random(3);
  const FieldSchema schemas[] = {
      {"", FieldKind::kDense, 32, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"", FieldKind::kMulti, 32, DType::kF32, Metric::kCosine, SparseModifier::kNone}};
  const Cancel cancel;
  for (const IndexType* type : index_types()) {
    for (const FieldSchema& schema : schemas) {
      if (!type->supports(schema)) continue;
      const FieldColumn column = testing::random_column(schema, {.n_rows = 3000}, random);
      const auto directory = make_memory_directory();
      ASSERT_TRUE(type->build(column, {}, {nullptr, cancel, 0, nullptr}, *directory));
      const auto searcher = type->open(*directory, column);
      ASSERT_TRUE(searcher);
      for (const Bitset& bits : testing::some_filters(3000, random)) {
        const auto query =
            testing::make_query(schema, testing::random_vector(schema, {.n_rows = 1}, random));
        const ListedRows listed(3000, rows_of(bits));
        std::vector<std::vector<Hit>> hits;
        for (const RowFilter& filter : {RowFilter::of(bits), RowFilter::of(listed)}) {
          TopK top(10);
          WorkCounters work;
          ASSERT_TRUE((*searcher)->search(query, {}, filter, {cancel}, top, work));
          hits.push_back(top.take_sorted());
        }
        testing::expect_same_hits(hits[1], hits[0]);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::index
