#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "index/row_filter.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

std::vector<std::uint32_t> rows_from(const RowFilter& filter, std::uint32_t begin) {
  std::vector<std::uint32_t> rows;
  filter.for_each(begin, [&](std::uint32_t row) { rows.push_back(row); });
  return rows;
}

void expect_same_rows(const RowFilter& filter, const Bitset& wanted) {
  ASSERT_EQ(filter.n_rows(), wanted.size());
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < wanted.size(); ++row) {
    EXPECT_EQ(filter.allows(row), wanted.test(row)) << row;
    if (wanted.test(row)) rows.push_back(row);
  }
  EXPECT_EQ(rows_from(filter, 0), rows);
  EXPECT_EQ(filter.n_allowed(), wanted.count());
  for (std::uint32_t block = 0; block < filter.n_blocks(); ++block) {
    EXPECT_EQ(filter.block(block), wanted.words()[block]);
    const std::uint32_t next = filter.next_block(block);
    for (std::uint32_t b = block; b < next; ++b) EXPECT_EQ(filter.block(b), 0U);
    if (next < filter.n_blocks()) {
      EXPECT_NE(filter.block(next), 0U);
    }
  }
}

TEST(RowFilter, EveryRow) {
  for (const std::uint32_t n : {0U, 1U, 63U, 64U, 65U, 1000U}) {
    const RowFilter all = RowFilter::all(n);
    EXPECT_TRUE(all.allows_all());
    EXPECT_EQ(all.words(0, n), nullptr);
    EXPECT_EQ(all.n_allowed_estimate(), n);
    expect_same_rows(all, Bitset(n, true));
  }
}

TEST(RowFilter, BitsOfABitmap) {
  Random random(1);
  for (const std::size_t n : {0, 1, 64, 1000}) {
    for (const Bitset& bits : some_filters(n, random)) {
      const RowFilter filter = RowFilter::of(bits);
      expect_same_rows(filter, bits);
      EXPECT_TRUE(filter.is_counted());
      EXPECT_EQ(filter.n_allowed_estimate(), bits.count());
      EXPECT_EQ(filter.words(0, filter.n_rows()), bits.words().data());
    }
  }
}

TEST(RowFilter, LazyRowsAreTheSameRows) {
  Random random(2);
  for (const Bitset& bits : some_filters(10'000, random)) {
    const LazyRows lazy(10'000, 5, [&](std::uint32_t first, std::span<std::uint64_t> words) {
      std::copy_n(bits.words().begin() + first / 64, words.size(), words.begin());
    });
    const RowFilter filter = RowFilter::of(lazy);
    EXPECT_FALSE(filter.is_counted());
    EXPECT_EQ(filter.n_allowed_estimate(), 5U);
    const std::uint32_t some[] = {4500, 9999};
    EXPECT_EQ(filter.words_of(some)[9999 / 64], bits.words()[9999 / 64]);
    EXPECT_EQ(filter.words(4096, 8192)[4096 / 64], bits.words()[4096 / 64]);
    expect_same_rows(filter, bits);
  }
}

TEST(RowFilter, ForEachStartsInTheMiddleOfABlock) {
  EXPECT_EQ(rows_from(RowFilter::all(70), 62),
            (std::vector<std::uint32_t>{62, 63, 64, 65, 66, 67, 68, 69}));
  EXPECT_TRUE(rows_from(RowFilter::all(70), 70).empty());
}

TEST(RowFilter, EverySearcherFindsTheSameThroughLazyRows) {
  Random random(3);
  const FieldSchema schemas[] = {
      {"", FieldKind::kDense, 32, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"", FieldKind::kMulti, 32, DType::kF32, Metric::kCosine, SparseModifier::kNone}};
  const Cancel cancel;
  for (const IndexType* type : index_types()) {
    for (const FieldSchema& schema : schemas) {
      if (!type->supports(schema)) continue;
      const FieldColumn column = random_column(schema, {.n_rows = 3000}, random);
      const auto directory = make_memory_directory();
      ASSERT_TRUE(type->build(column, {}, {nullptr, cancel, 0, nullptr}, *directory));
      const auto searcher = type->open(*directory, column);
      ASSERT_TRUE(searcher);
      for (const Bitset& bits : some_filters(3000, random)) {
        const auto query = make_query(schema, random_vector(schema, {.n_rows = 1}, random));
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
        expect_same_hits(hits[1], hits[0]);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
