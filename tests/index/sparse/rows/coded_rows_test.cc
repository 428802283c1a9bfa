#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "index/sparse/rows/coded_rows.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(CodedRows, CodesAreNeverBelowTheirValues) {
  Random random(21);
  const auto column = column_of(random_rows({.n_rows = 200, .negative_share = 0.2}, random));
  const TermMap terms = TermMap::of(column, 0, 200);
  const CodedRows rows(column, 200, terms, 5);
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto row = rows.row(i);
    const auto values = column.row(i).values;
    ASSERT_EQ(row.codes.size(), values.size());
    for (std::size_t j = 0; j < values.size(); ++j) {
      const float code = static_cast<float>(row.codes[j]) * rows.scale();
      EXPECT_GE(code, std::abs(values[j]));
      EXPECT_LT(code, std::abs(values[j]) + rows.scale() * 1.001F);
    }
    const auto strongest = rows.strongest(i);
    ASSERT_EQ(strongest.codes.size(), std::min<std::size_t>(5, values.size()));
    EXPECT_TRUE(std::is_sorted(strongest.codes.rbegin(), strongest.codes.rend()));
    if (!values.empty()) {
      EXPECT_EQ(strongest.codes[0], *std::max_element(row.codes.begin(), row.codes.end()));
    }
  }
}

}  // namespace
}  // namespace quiver::index::sparse::testing
