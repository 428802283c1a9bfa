#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

const FieldSchema kSparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};

TEST(CountTerms, CountsAllowedRowsThatHoldEachTerm) {
  for (const std::uint64_t seed : {21, 22, 23}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto column = random_column(
        kSparse, {.n_rows = 300, .present_share = 0.8, .sparse_dim = 40, .max_nonzero = 15},
        random);
    const std::vector<std::uint32_t> terms = {0, 3, 7, 39, 40, 4000000000U};
    for (const Bitset& filter : some_filters(300, random)) {
      std::vector<std::uint64_t> wanted(terms.size(), 5);
      filter.for_each([&](std::size_t row) {
        const auto indices = column.sparse().row(row).indices;
        for (std::size_t t = 0; t < terms.size(); ++t) {
          wanted[t] += std::count(indices.begin(), indices.end(), terms[t]);
        }
      });
      std::vector<std::uint64_t> counts(terms.size(), 5);  // added to, not overwritten
      const Cancel cancel;
      ASSERT_TRUE(count_terms(column.sparse(), RowFilter::of(filter), terms, counts, cancel));
      EXPECT_EQ(counts, wanted);
    }
  }
}

TEST(CountTerms, NoTermsNoRows) {
  const auto empty = make_column(kSparse, {});
  std::vector<std::uint64_t> counts;
  const Cancel cancel;
  EXPECT_TRUE(count_terms(empty.sparse(), RowFilter::all(0), {}, counts, cancel));
}

TEST(CountTerms, Cancelled) {
  Random random(24);
  const auto column = random_column(kSparse, {.n_rows = 10}, random);
  const std::vector<std::uint32_t> terms = {1};
  std::vector<std::uint64_t> counts(1);
  const Cancel cancel;
  cancel.cancel();
  const auto result = count_terms(column.sparse(), RowFilter::all(10), terms, counts, cancel);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
