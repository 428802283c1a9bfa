#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "index/sparse/rows/best_rows.h"

namespace quiver::index::sparse::testing {
namespace {

TEST(BestRows, AreTheBestWhateverTheOrderOfOffering) {
  const std::vector<ScoredRow> rows = {{1, 5}, {3, 9}, {3, 2}, {2, 1}, {3, 4}};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    BestRows best;
    best.start(3);
    for (const std::size_t i : order) best.offer(rows[i]);
    EXPECT_EQ(best.threshold(), 3);
    EXPECT_FALSE(best.offer({3, 10})) << "ties go to the lower row";
    std::vector<ScoredRow> found;
    best.take(found);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].row, 2U);
    EXPECT_EQ(found[1].row, 4U);
    EXPECT_EQ(found[2].row, 9U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(BestRows, NoneWantedTakesNone) {
  BestRows best;
  best.start(0);
  EXPECT_FALSE(best.offer({1, 1}));
  EXPECT_TRUE(best.candidates().empty());
}

}  // namespace
}  // namespace quiver::index::sparse::testing
