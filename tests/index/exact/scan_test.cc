// Rows that cost so much that a block of the exact scan holds few of them, or one.
#include <gtest/gtest.h>

#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

TEST(FlatBlocks, FewRowsOfLongDocuments) {
  constexpr std::uint32_t kRows = 70;
  const FieldSchema field{"", FieldKind::kMulti, 64, DType::kF32, Metric::kDot, {}};
  for (const std::uint32_t max_tokens : {60U, 800U, 5000U}) {
    SCOPED_TRACE("tokens " + std::to_string(max_tokens) + ", seed 61");
    Random random(61);
    const auto column = random_column(
        field, {.n_rows = kRows, .present_share = 0.9, .max_tokens = max_tokens}, random);
    const PreparedQuery query = make_query(field, random_vector(field, {.max_tokens = 3}, random));
    for (Bitset& filter : some_filters(kRows, random)) {
      filter &= present_rows(column);
      TopK top(20);
      WorkCounters work;
      const Cancel cancel;
      const auto done =
          FlatSearcher(column).search(query, {}, RowFilter::of(filter), {cancel}, top, work);
      ASSERT_TRUE(done) << done.error().to_string();
      expect_same_hits(top.take_sorted(), expected_hits(query, column, filter, 20));
      EXPECT_EQ(work.n_rows_scored, filter.count());
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
