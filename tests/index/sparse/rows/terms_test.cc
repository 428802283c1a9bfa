#include <gtest/gtest.h>

#include "index/sparse/rows/terms.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(TermMap, SplitsComponentsBySign) {
  const SparseColumn column =
      column_of({sparse({3, 8}, {1, -2}), sparse({3, 4'000'000'000}, {-1, 5}), sparse({}, {})});
  const TermMap terms = TermMap::of(column, 0, 3);
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms.find(TermMap::key_of(3, 1)), 0U);
  EXPECT_EQ(terms.find(TermMap::key_of(3, -1)), 1U);
  EXPECT_EQ(terms.find(TermMap::key_of(8, -1)), 2U);
  EXPECT_EQ(terms.find(TermMap::key_of(8, 1)), std::nullopt);
  EXPECT_EQ(terms.at(TermMap::key_of(4'000'000'000, 1)), 3U);
  EXPECT_EQ(TermMap::of(column, 0, 1).size(), 2U);
}

TEST(TermMap, AQueryWeighsNegativeTermsNegated) {
  const SparseColumn column = column_of({sparse({3, 5}, {1, 1}), sparse({3}, {-1})});
  const PlainVector query = sparse({3, 4, 5}, {2, 9, -3});
  const auto found = TermMap::of(column, 0, 2).terms_of({query.indices, query.values});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].weight, 2);
  EXPECT_EQ(found[1].weight, -2);
  EXPECT_EQ(found[2].weight, -3);
}

}  // namespace
}  // namespace quiver::index::sparse::testing
