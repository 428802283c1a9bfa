#include <gtest/gtest.h>

#include "index/index.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

/// Offers row 0 with the number of searches so far as its score.
class CountingSearcher final : public Searcher {
 public:
  Result<> search(const PreparedQuery&, const AnyParams&, const RowFilter&, const SearchContext&,
                  TopK& out, WorkCounters& work) const override {
    out.offer(static_cast<float>(++n_searches_), 0);
    ++work.n_rows_scored;
    return {};
  }
  [[nodiscard]] std::uint64_t bytes_per_search() const override { return 1; }
  [[nodiscard]] MemoryUse memory() const override { return {}; }

 private:
  mutable int n_searches_ = 0;
};

TEST(Searcher, ABatchIsALoopUnlessATypeSharesAPass) {
  const FieldSchema schema{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}};
  const float vector[] = {1, 2};
  const auto query = PreparedQuery::dense(schema, vector);
  const PreparedQuery* const queries[] = {&query, &query};
  TopK first(1);
  TopK second(1);
  TopK* const results[] = {&first, &second};
  const Cancel cancel;
  WorkCounters work;
  const CountingSearcher searcher;
  ASSERT_TRUE(searcher.search_batch(queries, {}, RowFilter::all(1), {cancel}, results, work));
  EXPECT_EQ(first.take_sorted()[0].score, 1);
  EXPECT_EQ(second.take_sorted()[0].score, 2);
  EXPECT_EQ(work.n_rows_scored, 2U);
}

TEST(Searcher, OtherTypesHaveNoTermsToCount) {
  const Cancel cancel;
  const auto counted = CountingSearcher().count_terms({}, RowFilter::all(1), {}, cancel);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code(), Code::kUnimplemented);
}

TEST(WorkCounters, AreAdded) {
  WorkCounters sum{1, 2, 3, 4, 5};
  sum += {10, 20, 30, 40, 50};
  EXPECT_EQ(sum.n_lists, 11U);
  EXPECT_EQ(sum.n_blocks, 22U);
  EXPECT_EQ(sum.n_codes_scored, 33U);
  EXPECT_EQ(sum.n_rows_scored, 44U);
  EXPECT_EQ(sum.n_bytes, 55U);
}

}  // namespace
}  // namespace quiver::index::testing
