#include "index/sparse/rows/coded_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::sparse {
namespace {

using quiver::index::testing::PlainVector;
using quiver::index::testing::Random;

constexpr std::uint64_t kCodedRowsSeed = 123;
const FieldSchema kCodedField{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};

TEST(CodedRows, CodesAreMagnitudesRoundedUp) {
  SCOPED_TRACE("seed " + std::to_string(kCodedRowsSeed));
  Random random(kCodedRowsSeed);
  const auto column = quiver::index::testing::random_column(
      kCodedField, {.n_rows = 100, .present_share = 0.9, .max_nonzero = 20}, random);
  const SparseColumn& sparse = column.sparse();
  const TermMap terms = TermMap::of(sparse, 0, 100);
  const CodedRows rows(sparse, 100, terms, 3);
  EXPECT_EQ(rows.n_rows(), 100U);
  EXPECT_EQ(rows.n_terms(), terms.size());
  std::uint8_t largest = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const SparseView exact = sparse.row(i);
    const auto coded = rows.row(i);
    ASSERT_EQ(coded.terms.size(), exact.indices.size());
    ASSERT_EQ(coded.codes.size(), exact.indices.size());
    for (std::size_t j = 0; j < exact.indices.size(); ++j) {
      EXPECT_EQ(coded.terms[j], terms.at(TermMap::key_of(exact.indices[j], exact.values[j])));
      EXPECT_GE(rows.scale() * coded.codes[j], std::abs(exact.values[j]));
      EXPECT_LT(rows.scale() * coded.codes[j], std::abs(exact.values[j]) + rows.scale() * 1.001F);
      largest = std::max(largest, coded.codes[j]);
    }
  }
  EXPECT_EQ(largest, 255);
}

TEST(CodedRows, StrongestAreTheLargestCodesFirst) {
  Random random(kCodedRowsSeed);
  const auto column = quiver::index::testing::random_column(
      kCodedField, {.n_rows = 60, .small_integers = true, .max_nonzero = 12}, random);  // ties
  const TermMap terms = TermMap::of(column.sparse(), 0, 60);
  for (const std::uint32_t n_strongest : {0U, 1U, 5U, 100U}) {
    const CodedRows rows(column.sparse(), 60, terms, n_strongest);
    for (std::uint32_t i = 0; i < 60; ++i) {
      const auto all = rows.row(i);
      std::vector<std::size_t> order(all.codes.size());
      for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return all.codes[a] > all.codes[b]; });
      const auto strongest = rows.strongest(i);
      ASSERT_EQ(strongest.terms.size(), std::min<std::size_t>(n_strongest, order.size()));
      for (std::size_t j = 0; j < strongest.terms.size(); ++j) {
        EXPECT_EQ(strongest.terms[j], all.terms[order[j]]);
        EXPECT_EQ(strongest.codes[j], all.codes[order[j]]);
      }
      rows.prefetch(i);
      rows.prefetch_strongest(i);
    }
  }
}

TEST(CodedRows, ZerosTinyAndNoValues) {
  const auto zeros = quiver::index::testing::make_column(
      kCodedField, {PlainVector{{0, 0}, {1, 2}}, PlainVector{}});
  const CodedRows of_zeros(zeros.sparse(), 2, TermMap::of(zeros.sparse(), 0, 2), 4);
  EXPECT_EQ(of_zeros.scale(), 1);
  EXPECT_EQ(of_zeros.row(0).codes[1], 0);
  EXPECT_TRUE(of_zeros.row(1).terms.empty());
  const auto tiny =
      quiver::index::testing::make_column(kCodedField, {PlainVector{{1e-40F, -1e-42F}, {1, 2}}});
  const CodedRows of_tiny(tiny.sparse(), 1, TermMap::of(tiny.sparse(), 0, 1), 4);
  EXPECT_GT(of_tiny.scale(), 0);
  EXPECT_GE(of_tiny.row(0).codes[0], 1) << "not rounded to nothing";
  const auto none = quiver::index::testing::make_column(kCodedField, {});
  EXPECT_EQ(CodedRows(none.sparse(), 0, TermMap(), 4).n_rows(), 0U);
}

/// Of a file that is damaged while it is read: rows stay within their bounds.
TEST(CodedRows, OffsetsThatDescendMakeEmptyRows) {
  const SparseColumn column{SharedSpan<std::uint64_t>::of({0, 2, 1, 3}),
                            SharedSpan<std::uint32_t>::of({1, 2, 3}),
                            SharedSpan<float>::of({1, 2, 3})};
  const std::vector<TermMap::Key> keys = {2, 4, 6};
  const CodedRows rows(column, 3, TermMap(SharedSpan<TermMap::Key>::of(keys)), 2);
  EXPECT_EQ(rows.row(0).terms.size(), 2U);
  EXPECT_TRUE(rows.row(1).terms.empty());
  EXPECT_EQ(rows.row(2).terms.size(), 1U);
}

}  // namespace
}  // namespace quiver::index::sparse
