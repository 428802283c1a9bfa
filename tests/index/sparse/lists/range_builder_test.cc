#include <gtest/gtest.h>

#include <algorithm>

#include "index/sparse/lists/range_builder.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(RangeBuilder, RunsFallByLevelAndRowsAscendWithinOne) {
  Random random(22);
  const auto column = column_of(random_rows({.n_rows = 500, .n_terms = 60}, random));
  const TermMap terms = TermMap::of(column, 0, 500);
  const auto maxima = largest_values(column, 0, 500, terms);
  const LevelTable levels = fit_levels(column, 0, 500, terms, maxima);
  EXPECT_EQ(levels.upper[kLevels - 1], 1);
  EXPECT_TRUE(std::is_sorted(levels.upper.begin(), levels.upper.end()));
  const RangeRuns range = RangeBuilder(column, terms, maxima, levels).build(0, 500);
  std::size_t n_postings = 0;
  for (std::uint32_t term = 0; term < terms.size(); ++term) {
    ASSERT_NE(range.places[term], RangeRuns::kNone);
    const ImpactRun run{range.runs.data() + range.places[term] * kLevels};
    n_postings += run.n_from[0];
    for (std::size_t l = 0; l < kLevels; ++l) {
      const std::size_t begin = l + 1 < kLevels ? run.n_from[l + 1] : 0;
      EXPECT_LE(begin, run.n_from[l]);
      EXPECT_TRUE(std::is_sorted(run.rows() + begin, run.rows() + run.n_from[l]));
    }
  }
  EXPECT_EQ(n_postings, column.values.size());
}

}  // namespace
}  // namespace quiver::index::sparse::testing
