#include <gtest/gtest.h>

#include <algorithm>

#include "index/sparse/lists/impact_lists.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(ImpactLists, HoldEveryPostingInItsLevel) {
  Random random(23);
  const auto column = column_of(random_rows({.n_rows = 300, .n_terms = 80}, random));
  const TermMap terms = TermMap::of(column, 0, 300);
  const ImpactLists lists = ImpactLists::of_rows(column, 0, 300, terms);
  EXPECT_EQ(lists.n_rows(), 300U);
  EXPECT_EQ(lists.n_ranges(), 1U);
  for (std::uint32_t row = 0; row < 300; ++row) {
    const auto entries = column.row(row);
    for (std::size_t i = 0; i < entries.values.size(); ++i) {
      const std::uint32_t term = terms.at(TermMap::key_of(entries.indices[i], entries.values[i]));
      const std::size_t level = lists.levels().level_of(entries.values[i] / lists.max_of(term));
      EXPECT_LE(entries.values[i], lists.levels().upper[level] * lists.max_of(term) * (1 + 1e-6F));
      const ImpactRun run = lists.run(term, 0);
      const auto* end = run.rows() + run.n_from[level];
      EXPECT_NE(std::find(run.rows(), end, row), end);
    }
  }
}

TEST(ImpactLists, CountRowsWithAComponentOfEitherSign) {
  const auto column = column_of({sparse({3}, {1}), sparse({3, 4}, {-1, 2}), sparse({4}, {1})});
  const TermMap terms = TermMap::of(column, 0, 3);
  const ImpactLists lists = ImpactLists::of_rows(column, 0, 3, terms);
  EXPECT_EQ(n_rows_with(3, terms, lists), 2U);
  EXPECT_EQ(n_rows_with(4, terms, lists), 2U);
  EXPECT_EQ(n_rows_with(5, terms, lists), 0U);
}

}  // namespace
}  // namespace quiver::index::sparse::testing
