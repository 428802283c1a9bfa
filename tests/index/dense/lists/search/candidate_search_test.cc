#include <gtest/gtest.h>

#include <set>

#include "index/dense/params.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"
#include "tests/index/documented.h"

namespace quiver::index::testing {
namespace {

/// Under tight parameters too: one list, no row to spare.
TEST_P(IvfSearch, NeverFewerThanThereAre) {
  Random random(kIvfSeed);
  Clumps clumps(schema(16), 30, random);
  const IvfIndex index(clumps.column(3000, 0.9));
  const KeyValues tight = {{"nprobe", std::int64_t{1}}, {"rerank", std::int64_t{1}}};
  for (const Bitset& allowed : filters_over(index.column, random)) {
    for (const std::size_t k : {1, 10, 300, 1000}) {
      const Found found = index.find(clumps.query(), tight, RowFilter::of(allowed), k);
      EXPECT_EQ(found.hits.size(), std::min(k, allowed.count()));
    }
  }
}

/// Rows are in two lists; a row that both find is one hit.
TEST_P(IvfSearch, ARowOfTwoListsIsOneHit) {
  Random random(kIvfSeed);
  Clumps clumps(schema(32), 5, random);
  const IvfIndex index(clumps.column(2000, 1, 0.3));
  const auto all = RowFilter::all(index.column.n_rows);
  for (int i = 0; i < 10; ++i) {
    const Found found = index.find(clumps.query(), {{"rerank", std::int64_t{1000}}}, all, 500);
    std::set<std::uint32_t> rows;
    for (const Hit& hit : found.hits) EXPECT_TRUE(rows.insert(hit.row).second) << hit.row;
    EXPECT_EQ(rows.size(), 500U);
  }
}

/// Without a filter searches of a batch share lists: the same hits, also where many rows are equal
/// and whatever is asked for, out of memory that is read once.
TEST_P(IvfSearch, ABatchReadsAListOnce) {
  Random random(kIvfSeed);
  constexpr std::size_t kQueries = 90;
  Clumps clumps(schema(40), 30, random);
  const IvfIndex index(clumps.column(4000, 1, 0.6));
  const auto all = RowFilter::all(index.column.n_rows);
  std::vector<PreparedQuery> queries;
  for (std::size_t i = 0; i < kQueries; ++i) queries.push_back(clumps.query());
  std::vector<const PreparedQuery*> query_pointers;
  for (const PreparedQuery& query : queries) query_pointers.push_back(&query);
  for (const KeyValues& values :
       {KeyValues{}, KeyValues{{"effort", std::int64_t{1000}}}, KeyValues{{"gap", 0.01}},
        KeyValues{{"gap", 1e6}, {"stop", 0.5}}, KeyValues{{"nprobe", std::int64_t{3}}},
        KeyValues{{"rerank", std::int64_t{1100}}}}) {
    std::vector<TopK> tops;
    std::vector<TopK*> results;
    for (std::size_t i = 0; i < kQueries; ++i) tops.emplace_back(i % 7 == 3 ? 60 : i % 12);
    for (TopK& top : tops) results.push_back(&top);
    const Cancel cancel;
    WorkCounters work;
    const auto params = ivf_type().parse_search(values);
    ASSERT_TRUE(index.searcher->search_batch(query_pointers, *params, all, {cancel, nullptr, {}},
                                             results, work));
    WorkCounters alone;
    for (std::size_t i = 0; i < kQueries; ++i) {
      const Found found = index.find(queries[i], values, all, tops[i].k());
      expect_same_hits(tops[i].take_sorted(), found.hits);
      alone += found.work;
    }
    EXPECT_EQ(work.n_codes_scored, alone.n_codes_scored);
    EXPECT_EQ(work.n_rows_scored, alone.n_rows_scored);
    const bool is_by_lists = alone.n_lists > 0;
    EXPECT_TRUE(!is_by_lists || work.n_bytes < alone.n_bytes);
  }
}

/// A search ends by the rows that it found: fewer codes for hardly fewer hits, none for the nearest
/// lists, and as many as without where it may go as far as it likes.
TEST_P(IvfSearch, StopLeavesOutLists) {
  Random random(kIvfSeed);
  constexpr int kRows = 6000;
  Clumps clumps(schema(48), 40, random);
  const IvfIndex index(clumps.column(kRows));
  const auto all = RowFilter::all(kRows);
  const double stops[] = {0.5, 1.4, 1e6};
  double recalls[3] = {};
  std::uint64_t codes[3] = {};
  for (int i = 0; i < 30; ++i) {
    const PreparedQuery query = clumps.query();
    const auto truth = index.exact(query, all, 10);
    for (std::size_t s = 0; s < 3; ++s) {
      const Found found = index.find(query, {{"gap", 1e6}, {"stop", stops[s]}}, all, 10);
      recalls[s] += recall_of(found.hits, truth) / 30;
      codes[s] += found.work.n_codes_scored;
      EXPECT_GE(found.work.n_lists, 32U);
    }
  }
  EXPECT_LE(codes[0], codes[1]);
  EXPECT_LT(codes[1], codes[2]);
  EXPECT_LE(recalls[0], recalls[1]);
  EXPECT_GE(recalls[1], recalls[2] - 0.03);
  EXPECT_GE(recalls[2], 0.99);
}

}  // namespace
}  // namespace quiver::index::testing
