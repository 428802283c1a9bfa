#include "index/index.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/index/support.h"

namespace quiver::index {
namespace {

/// Offers row 0 with the query's first value as its score; a negative one is an error.
class FirstValueSearcher final : public Searcher {
 public:
  Result<> search(const PreparedQuery& query, const AnyParams&, const RowFilter&,
                  const SearchContext&, TopK& out, WorkCounters& work) const override {
    ++work.n_lists;
    if (query.values()[0] < 0) return fail(Code::kInvalidArgument, "negative");
    out.offer(query.values()[0], 0);
    return {};
  }
  [[nodiscard]] std::uint64_t bytes_per_search() const override { return 0; }
  [[nodiscard]] MemoryUse memory() const override { return {}; }
};

/// Queries of one dimension, each with a heap, searched in one batch.
struct BatchOfValues {
  explicit BatchOfValues(const std::vector<float>& values) {
    const FieldSchema field{"", FieldKind::kDense, 1, DType::kF32, Metric::kDot, {}};
    for (const float value : values) {
      queries.push_back(PreparedQuery::dense(field, std::span(&value, 1)));
      heaps.emplace_back(3);
    }
    std::vector<const PreparedQuery*> asked;
    std::vector<TopK*> outs;
    for (const auto& query : queries) asked.push_back(&query);
    for (auto& heap : heaps) outs.push_back(&heap);
    const Cancel cancel;
    result = FirstValueSearcher().search_batch(asked, {}, RowFilter::all(1), {cancel}, outs, work);
  }
  std::vector<PreparedQuery> queries;
  std::vector<TopK> heaps;
  WorkCounters work;
  Result<> result;
};

TEST(SearcherDefaults, ABatchIsALoopOverItsQueries) {
  BatchOfValues batch({5, 2, 9});
  ASSERT_TRUE(batch.result);
  EXPECT_EQ(batch.work.n_lists, 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto hits = batch.heaps[i].take_sorted();
    ASSERT_EQ(hits.size(), 1U);
    EXPECT_EQ(hits[0].score, batch.queries[i].values()[0]);
  }
  EXPECT_TRUE(BatchOfValues({}).result);
}

TEST(SearcherDefaults, ABatchEndsWithItsFirstError) {
  BatchOfValues batch({5, -1, 9});
  ASSERT_FALSE(batch.result);
  EXPECT_EQ(batch.result.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(batch.work.n_lists, 2U);
  EXPECT_EQ(batch.heaps[2].size(), 0U);
}

TEST(SearcherDefaults, HaveNoTermsAndNothingToSay) {
  const FirstValueSearcher searcher;
  const Cancel cancel;
  const std::uint32_t terms[] = {1};
  std::uint64_t counts[] = {0};
  const auto counted = searcher.count_terms(terms, RowFilter::all(1), counts, cancel);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code(), Code::kUnimplemented);
  EXPECT_TRUE(searcher.describe().facts.empty());
  EXPECT_TRUE(searcher.describe().columns.empty());
}

TEST(WorkCounters, AddUpFieldByField) {
  WorkCounters sum{1, 2, 3, 4, 5};
  sum += {10, 20, 30, 40, 50};
  EXPECT_EQ(sum.n_lists, 11U);
  EXPECT_EQ(sum.n_blocks, 22U);
  EXPECT_EQ(sum.n_codes_scored, 33U);
  EXPECT_EQ(sum.n_rows_scored, 44U);
  EXPECT_EQ(sum.n_bytes, 55U);
}

}  // namespace
}  // namespace quiver::index
