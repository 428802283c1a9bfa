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
      EXPECT_EQ(filter.words(b * 64, std::min(n, b * 64 + 64))[b], word);
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
    EXPECT_EQ(filter.words(0, n), nullptr);
    EXPECT_EQ(filter.words_of({}), nullptr);
    EXPECT_EQ(filter.n_allowed_estimate(), n);
    EXPECT_TRUE(filter.is_counted());
    expect_filter_allows(filter, std::vector<bool>(n, true));
  }
}

TEST(RowFilter, BitmapsAndLazyRowsSayTheSame) {
  constexpr std::uint64_t kFilterSeed = 91;
  SCOPED_TRACE("seed " + std::to_string(kFilterSeed));
  testing::Random random(kFilterSeed);
  for (const std::uint32_t n : {1U, 64U, 65U, 200U, LazyRows::kBlockRows + 70}) {
    for (const Bitset& bits : testing::some_filters(n, random)) {
      SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(bits.count()) + " allowed");
      std::vector<bool> allowed(n);
      for (std::uint32_t row = 0; row < n; ++row) allowed[row] = bits.test(row);
      const RowFilter by_bits = RowFilter::of(bits);
      EXPECT_FALSE(by_bits.allows_all());
      EXPECT_TRUE(by_bits.is_counted());
      EXPECT_EQ(by_bits.n_allowed_estimate(), bits.count());
      expect_filter_allows(by_bits, allowed);
      const LazyRows lazy(n, 12, [&](std::uint32_t first, std::span<std::uint64_t> words) {
        std::copy_n(bits.words().begin() + first / 64, words.size(), words.begin());
      });
      const RowFilter by_blocks = RowFilter::of(lazy);
      EXPECT_FALSE(by_blocks.is_counted());
      EXPECT_EQ(by_blocks.n_allowed_estimate(), 12U);
      expect_filter_allows(by_blocks, allowed);
    }
  }
}

TEST(RowFilter, WordsOfRowsFillTheirBlocksOnly) {
  constexpr std::uint32_t kBlock = LazyRows::kBlockRows;
  std::vector<std::uint32_t> filled;
  const LazyRows lazy(4 * kBlock, 9, [&](std::uint32_t first, std::span<std::uint64_t> words) {
    filled.push_back(first / kBlock);
    words[0] = 1;
  });
  const std::vector<std::uint32_t> rows = {3 * kBlock, 5, 3 * kBlock + 7};
  const std::uint64_t* words = RowFilter::of(lazy).words_of(rows);
  EXPECT_EQ(filled, (std::vector<std::uint32_t>{3, 0}));
  EXPECT_EQ(words[3 * kBlock / 64], 1U);
  EXPECT_EQ(words[kBlock / 64], 0U) << "not asked for";
}

TEST(RowFilter, EverySearcherFindsTheSameThroughLazyRows) {
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
        const LazyRows lazy(
            3000, bits.count(), [&](std::uint32_t first, std::span<std::uint64_t> words) {
              std::copy_n(bits.words().begin() + first / 64, words.size(), words.begin());
            });
        std::vector<std::vector<Hit>> hits;
        for (const RowFilter& filter : {RowFilter::of(bits), RowFilter::of(lazy)}) {
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
