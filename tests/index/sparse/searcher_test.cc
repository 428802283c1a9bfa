// The sparse index as a whole: codecs of records, filters over blocks, scores by codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/io/section_file.h"
#include "index/sparse/type.h"
#include "tests/index/built_index.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;
using base::BuiltIndex;

KeyValues with_blocks(const std::string& codec = "u8") {
  return {{"blocks_from", std::int64_t{1}}, {"n_postings", std::int64_t{100}}, {"codec", codec}};
}

KeyValues searched_by(const std::string& method, bool rescore = true) {
  return {{"method", method}, {"exact_below", std::int64_t{0}}, {"rescore", rescore}};
}

FieldColumn full_column(const std::vector<PlainVector>& vectors) {
  const std::vector<std::optional<PlainVector>> all(vectors.begin(), vectors.end());
  return base::make_column(sparse_schema(), all);
}

class SeismicCodec : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(, SeismicCodec, ::testing::Values("u8", "gaps", "f16", "f32"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(SeismicCodec, FindsMostWithExactScores) {
  Random random(kSeed);
  const Topics topics{.n_rows = 3000, .negative_share = 0.05};
  const BuiltIndex built(kSeismic, full_column(random_rows(topics, random)),
                         with_blocks(GetParam()), kSeed);
  const auto all = RowFilter::all(built.column.n_rows);
  constexpr int kQueries = 30;
  for (const char* method : {"scan", "blocks"}) {
    double recall = 0;
    for (int i = 0; i < kQueries; ++i) {
      const PreparedQuery query = base::make_query(built.column.schema, random_row(topics, random));
      const auto found = built.find(query, searched_by(method), all, 10);
      for (const Hit& hit : found.hits) {
        EXPECT_EQ(hit.score, *score_row(query, built.column, hit.row));
      }
      EXPECT_GT(found.work.n_codes_scored, found.work.n_rows_scored) << method;
      recall += base::recall_of(found.hits, built.exact(query, all, 10));
    }
    EXPECT_GE(recall / kQueries, 0.9) << method;
  }
}

TEST_P(SeismicCodec, HitsHaveTheScoresOfRecordsIfThatIsWanted) {
  Random random(kSeed);
  const Topics topics{.n_rows = 2000};
  const BuiltIndex built(kSeismic, full_column(random_rows(topics, random)),
                         with_blocks(GetParam()), kSeed);
  const auto all = RowFilter::all(built.column.n_rows);
  bool differs = false;
  for (int i = 0; i < 5; ++i) {
    const PreparedQuery query = base::make_query(built.column.schema, random_row(topics, random));
    const auto found = built.find(query, searched_by("blocks", false), all, 10);
    ASSERT_EQ(found.hits.size(), 10U);
    EXPECT_EQ(found.work.n_rows_scored, 0U) << "no row is read";
    for (const Hit& hit : found.hits) {
      const float exact = *score_row(query, built.column, hit.row);
      EXPECT_NEAR(hit.score, exact, std::abs(exact) * 0.02);
      differs = differs || std::abs(hit.score - exact) > std::abs(exact) * 1e-5;
    }
  }
  EXPECT_EQ(differs, std::string_view(GetParam()) != "f32");
}

/// Rows that share nothing with a query are no hits, though they may be neighbours of hits.
TEST(SeismicNeighbours, AreHitsOnlyIfTheyShareATerm) {
  std::vector<PlainVector> rows;
  for (std::uint32_t i = 0; i < 40; ++i) {
    rows.push_back(i < 10 ? sparse({1, 2 + i % 2}, {1.0F + static_cast<float>(i), 9.0F})
                          : sparse({2 + i % 2, 5}, {8.0F, static_cast<float>(i)}));
  }
  KeyValues build = with_blocks();
  build["n_neighbours"] = std::int64_t{8};
  const BuiltIndex built(kSeismic, full_column(rows), build, kSeed);
  KeyValues params = searched_by("blocks");
  params["n_knn"] = std::int64_t{8};
  const PreparedQuery query = base::make_query(built.column.schema, sparse({1, 7}, {1.0F, 1.0F}));
  const auto all = RowFilter::all(built.column.n_rows);
  for (const std::size_t k : {5U, 10U, 20U}) {
    const auto found = built.find(query, params, all, k);
    EXPECT_EQ(found.hits.size(), std::min<std::size_t>(k, 10)) << k;
  }
  Bitset allowed(built.column.n_rows, true);
  for (std::uint32_t i = 0; i < 8; ++i) allowed.reset(i);
  EXPECT_EQ(built.find(query, params, RowFilter::of(allowed), 4).hits.size(), 2U);
}

/// Walked lists hold few allowed rows: without a wider search recall falls with the selectivity.
TEST(SeismicFilters, BlocksFindAsManyUnderAFilterAsWithout) {
  Random random(kSeed);
  const Topics topics{.n_rows = 20'000, .n_terms = 2000};
  KeyValues build = with_blocks();
  build["n_postings"] = std::int64_t{200};
  const BuiltIndex built(kSeismic, full_column(random_rows(topics, random)), build, kSeed);
  std::vector<PreparedQuery> queries;
  for (int i = 0; i < 40; ++i) {
    queries.push_back(base::make_query(built.column.schema, random_row(topics, random)));
  }
  KeyValues params = searched_by("blocks");
  params["query_cut"] = std::int64_t{6};
  const auto recall_with = [&](const RowFilter& filter) {
    double sum = 0;
    for (const PreparedQuery& query : queries) {
      const auto wanted = built.exact(query, filter, 10);
      const auto found = built.find(query, params, filter, 10).hits;
      EXPECT_EQ(found.size(), wanted.size());
      for (const Hit& hit : found) EXPECT_TRUE(filter.allows(hit.row));
      sum += base::recall_of(found, wanted);
    }
    return sum / static_cast<double>(queries.size());
  };
  const double without = recall_with(RowFilter::all(built.column.n_rows));
  for (const unsigned one_in : {2U, 10U, 100U, 1000U}) {
    Bitset allowed(built.column.n_rows);
    for (std::uint32_t row = 0; row < allowed.size(); ++row) {
      if (random() % one_in == 0) allowed.set(row);
    }
    EXPECT_GE(recall_with(RowFilter::of(allowed)), without - 0.01) << "1 in " << one_in;
  }
}

}  // namespace
}  // namespace quiver::index::sparse
