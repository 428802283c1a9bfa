// Searches by sign codes, which strict filters lead to.
#include <gtest/gtest.h>

#include "index/dense/lists/search/lists_files.h"
#include "index/dense/lists/sign_rows.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"

namespace quiver::index::testing {
namespace {

const KeyValues kNoSigns = {{"signs", false}};

bool is_taken(std::span<const WayReport> ways, std::string_view name) {
  return std::any_of(ways.begin(), ways.end(),
                     [&](const auto& way) { return way.way == name && way.is_taken; });
}

struct ReportedSearch {
  std::vector<Hit> hits;
  WorkCounters work;
  std::vector<WayReport> ways;
};

ReportedSearch search(const IvfIndex& index, const PreparedQuery& query, const RowFilter& filter,
                      std::size_t k) {
  ReportedSearch result;
  const Cancel cancel;
  TopK top(k);
  const auto params = ivf_type().parse_search({});
  EXPECT_TRUE(index.searcher->search(query, *params, filter,
                                     {cancel, nullptr, Prefer::kAny, nullptr, &result.ways}, top,
                                     result.work));
  result.hits = top.take_sorted();
  return result;
}

/// A strict filter: signs of the allowed rows alone are read, and hits have exact scores.
TEST_P(IvfSearch, StrictFiltersReadSigns) {
  Random random(kIvfSeed);
  Clumps clumps(schema(64), 30, random);
  const IvfIndex index(clumps.column(20'000, 0.95));
  Bitset allowed = random_rows(index.column.n_rows, 0.03, random);
  allowed &= present_rows(index.column);
  double recall = 0;
  int n_by_signs = 0;
  constexpr int kQueries = 20;
  for (int i = 0; i < kQueries; ++i) {
    const PreparedQuery query = clumps.query();
    const auto found = search(index, query, RowFilter::of(allowed), 10);
    ASSERT_EQ(found.hits.size(), 10U);
    for (const Hit& hit : found.hits) {
      EXPECT_TRUE(allowed.test(hit.row));
      EXPECT_EQ(score_row(query, index.column, hit.row), hit.score);
    }
    recall += recall_of(found.hits, index.exact(query, RowFilter::of(allowed), 10)) / kQueries;
    if (!is_taken(found.ways, "signs") || is_taken(found.ways, "lists")) continue;
    ++n_by_signs;
    EXPECT_EQ(found.work.n_lists, 0U);
    EXPECT_LT(found.work.n_rows_scored, allowed.count() / 2);
  }
  EXPECT_GE(recall, 0.95);
  const bool has_large_rows = bits_per_value(schema(64).dtype) > 8;
  EXPECT_TRUE(n_by_signs > 0 || !has_large_rows);
}

/// Estimates of equal rows are equal: none of them may crowd out a better one.
TEST_P(IvfSearch, SignsOfEqualRowsLoseNothing) {
  Random random(kIvfSeed);
  Clumps clumps(schema(64), 4, random);
  const IvfIndex index(clumps.column(6000, 1, 0.97));
  for (const double share : {0.2, 0.1, 0.02}) {
    const Bitset allowed = random_rows(index.column.n_rows, share, random);
    const RowFilter filter = RowFilter::of(allowed);
    for (const std::size_t k : {1, 10, 120}) {
      const PreparedQuery query = clumps.query();
      const auto found = search(index, query, filter, k);
      EXPECT_EQ(found.hits.size(), std::min(k, allowed.count()));
      if (is_taken(found.ways, "lists")) continue;
      EXPECT_GE(recall_of(found.hits, index.exact(query, filter, k)), 0.9)
          << "share " << share << " k " << k;
    }
  }
}

/// Most of many allowed rows are estimated by one bit a dimension of the query only.
TEST_P(IvfSearch, SignsOfManyRowsMissNothing) {
  using namespace quiver::index::dense;
  Random random(kIvfSeed);
  Clumps clumps(schema(96), 40, random);
  const IvfIndex index(clumps.column(12'000, 0.95));
  if (!index.directory->exists("row-signs.qvx")) GTEST_SKIP() << "rows are as small";
  const FieldColumn& column = index.column;
  const auto lists =
      open_lists(*index.directory, {column.schema, column.n_rows, column.n_present}).value();
  Bitset allowed = random_rows(column.n_rows, 0.6, random);
  allowed &= present_rows(column);
  const RowFilter filter = RowFilter::of(allowed);
  const Cancel cancel;
  for (const std::size_t k : {1, 10, 120}) {
    double recall = 0;
    constexpr int kQueries = 10;
    for (int i = 0; i < kQueries; ++i) {
      const PreparedQuery query = clumps.query();
      WorkCounters work;
      const CandidateRequest request{.vector = query.values(),
                                     .k = k,
                                     .params = lists.candidates.settled({}, k),
                                     .filter = filter,
                                     .n_allowed = allowed.count(),
                                     .cancel = cancel,
                                     .work = work};
      const auto found = lists.candidates.find_by_signs(request);
      ASSERT_TRUE(found);
      EXPECT_LT(found->rows.size(), allowed.count() / 4) << "k " << k;
      const auto truth = index.exact(query, filter, k);
      const auto n = std::ranges::count_if(truth, [&](const Hit& hit) {
        return std::ranges::find(found->rows, hit.row) != found->rows.end();
      });
      recall += static_cast<double>(n) / static_cast<double>(truth.size()) / kQueries;
    }
    EXPECT_GE(recall, 0.98) << "k " << k;
  }
}

/// The file is not there, and all is found by other ways.
TEST_P(IvfSearch, AnIndexWithoutSignsAnswers) {
  Random random(kIvfSeed);
  Clumps clumps(schema(48), 20, random);
  const IvfIndex index(clumps.column(4000), kNoSigns);
  EXPECT_FALSE(index.directory->exists("row-signs.qvx"));
  const Bitset allowed = random_rows(index.column.n_rows, 0.05, random);
  const RowFilter filter = RowFilter::of(allowed);
  for (int i = 0; i < 10; ++i) {
    const PreparedQuery query = clumps.query();
    const auto found = search(index, query, filter, 10);
    EXPECT_FALSE(is_taken(found.ways, "signs"));
    EXPECT_GE(recall_of(found.hits, index.exact(query, filter, 10)), 0.8);
  }
}

/// Wherever the allowed rows lie: no search reads more than twice what their signs take, and the
/// rows that are scored exactly.
TEST_P(IvfSearch, NoFilterReadsMoreThanTwiceItsSigns) {
  Random random(kIvfSeed);
  constexpr std::size_t kRows = 8000;
  Clumps clumps(schema(64), 20, random);
  const IvfIndex index(clumps.column(kRows), {{"graph", std::string("never")}});
  const std::size_t sign_bytes = dense::SignRows::stride(64);
  const PreparedQuery query = clumps.query();
  const auto order = index.exact(query, RowFilter::all(kRows), kRows);
  for (const std::size_t n : {4000, 2000, 1000, 500, 250, 100}) {
    for (const bool is_near : {true, false}) {
      Bitset allowed(kRows);
      for (std::size_t i = 0; i < n; ++i) allowed.set(order[is_near ? i : kRows - 1 - i].row);
      const auto found = search(index, query, RowFilter::of(allowed), 10);
      const std::size_t scored = found.work.n_rows_scored * index.column.dense().stride();
      // Second codes of the kept rows, and the looks between the lists.
      const std::size_t slack = 400'000;
      EXPECT_LE(found.work.n_bytes, scored + 2 * n * (sign_bytes + 150) + slack)
          << n << (is_near ? " near" : " far");
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
