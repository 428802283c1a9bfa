// Search of the OSQ index: the guarantee on the number of hits, recall, exact mode, parameters,
// extreme values.
#include <gtest/gtest.h>

#include <cmath>

#include "index/dense/osq/params.h"
#include "tests/index/dense/osq/osq_support.h"
#include "tests/index/documented.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint32_t kDim = 32;
constexpr std::uint32_t kRows = 3000;

class OsqSearch : public ::testing::TestWithParam<Metric> {
 protected:
  [[nodiscard]] FieldSchema schema() const { return dense_schema(kDim, GetParam()); }

  Random random_{kOsqSeed};
};

/// Allowed rows of `column`, none of them random: those far from the query.
Bitset far_rows(const FieldColumn& column, const PreparedQuery& query, double share) {
  std::vector<std::pair<float, std::uint32_t>> scores;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (const auto score = score_row(query, column, row)) scores.emplace_back(*score, row);
  }
  std::sort(scores.begin(), scores.end());
  Bitset rows(column.n_rows);
  const auto n = static_cast<std::size_t>(share * static_cast<double>(scores.size()));
  for (std::size_t i = 0; i < n; ++i) rows.set(scores[i].second);
  return rows;
}

/// SQUASH fills up answers with rows that fail the filter, or gives fewer. Here a search for k hits
/// gives k allowed rows, or all of them.
TEST_P(OsqSearch, NeverFewerThanKHitsAndNoneThatIsNotAllowed) {
  Clumps clumps(schema(), 12, random_);
  const OsqIndex index(clumps.column(kRows, 0.9, 0.05), partitions(7));
  const Bitset present = present_rows(index.column);
  for (int round = 0; round < 60; ++round) {
    const PreparedQuery query = clumps.query();
    const double share = std::exp2(-static_cast<double>(random_() % 12));
    Bitset allowed =
        round % 3 == 0 ? far_rows(index.column, query, share) : random_rows(kRows, share, random_);
    allowed &= present;
    const std::size_t k = 1 + random_() % (round % 5 == 0 ? 2 * kRows : 40);
    for (const char* word : {"hamming", "bounds", "exact"}) {
      for (const double factor : {1.0, 1.15, 3.0}) {
        KeyValues params = precision(word);
        params["distance_factor"] = factor;
        params["rerank_factor"] = 1.0;
        params["hamming_percent"] = 0.0;
        const auto found = index.find(query, params, RowFilter::of(allowed), k).hits;
        EXPECT_EQ(found.size(), std::min(k, allowed.count())) << word << " " << share;
        for (const Hit& hit : found) EXPECT_TRUE(allowed.test(hit.row));
      }
    }
  }
}

TEST_P(OsqSearch, ExactIsBruteForce) {
  Clumps clumps(schema(), 12, random_);
  const OsqIndex index(clumps.column(kRows, 0.9, 0.05), partitions(5));
  const Bitset present = present_rows(index.column);
  std::uint64_t n_scored = 0;
  for (int i = 0; i < 30; ++i) {
    const PreparedQuery query = clumps.query();
    Bitset allowed = random_rows(kRows, i % 2 == 0 ? 1 : 0.1, random_);
    allowed &= present;
    const auto filter = RowFilter::of(allowed);
    const auto found = index.find(query, precision("exact"), filter, 10);
    expect_same_hits(found.hits, index.exact(query, filter, 10));
    n_scored += found.work.n_rows_scored;
  }
  EXPECT_LT(n_scored, 30 * kRows / 4) << "bounds rule most rows out";
}

TEST_P(OsqSearch, RecallOfEachPrecision) {
  Clumps clumps(schema(), 12, random_);
  const OsqIndex index(clumps.column(kRows), partitions(5));
  for (const char* word : {"hamming", "bounds"}) {
    for (const double share : {1.0, 0.3, 0.08}) {
      double recall = 0;
      for (int i = 0; i < 40; ++i) {
        const PreparedQuery query = clumps.query();
        const Bitset allowed = random_rows(kRows, share, random_);
        const auto filter = RowFilter::of(allowed);
        KeyValues params = precision(word);
        params["distance_factor"] = 2.0;
        recall +=
            recall_of(index.find(query, params, filter, 10).hits, index.exact(query, filter, 10));
      }
      // A bit for each of 32 dimensions says little of which third of the rows is nearest.
      const bool keeps_a_third = word == std::string("hamming") && share == 1;
      EXPECT_GE(recall / 40, keeps_a_third ? 0.7 : 0.95) << word << " " << share;
    }
  }
}

TEST_P(OsqSearch, ParametersDoWhatTheySay) {
  Clumps clumps(schema(), 12, random_);
  const OsqIndex index(clumps.column(kRows), partitions(6));
  const auto all = RowFilter::all(kRows);
  const auto work = [&](const KeyValues& values) {
    WorkCounters sum;
    Random same(kOsqSeed);
    Clumps queries(schema(), 12, same);
    for (int i = 0; i < 10; ++i) sum += index.find(queries.query(), values, all, 10).work;
    return sum;
  };
  EXPECT_EQ(work({{"distance_factor", 1.0}}).n_lists, 10U);
  EXPECT_EQ(work({{"distance_factor", 1e6}}).n_lists, 60U);
  EXPECT_EQ(work(precision("exact")).n_lists, 60U);
  EXPECT_LT(
      work({{"hamming_percent", 1.0}}).n_codes_scored,
      work(precision("bounds")).n_codes_scored + work({{"hamming_percent", 100.0}}).n_codes_scored);
  const auto once = work({{"rerank_factor", 3.0}, {"distance_factor", 1.0}});
  const auto twice =
      work({{"oversampling", 3.0}, {"rerank_factor", 1.0}, {"distance_factor", 1.0}});
  EXPECT_EQ(once.n_rows_scored, twice.n_rows_scored);
  EXPECT_EQ(once.n_rows_scored, 10U * 30);
}

/// Rows and queries of any length: what is found is right, and nothing stops the process.
TEST_P(OsqSearch, HugeAndTinyVectors) {
  for (const float of_rows : {1.0F, 1e19F, 1e37F, 1e-30F, 1e-44F}) {
    const bool all_rows = random_() % 2 == 0;
    for (const float of_query : {1.0F, 1e19F, 1e37F, 1e-30F, 1e-44F, 0.0F}) {
      SCOPED_TRACE(::testing::Message() << of_rows << " " << of_query);
      Clumps clumps(schema(), 5, random_);
      std::vector<std::optional<PlainVector>> vectors;
      for (int row = 0; row < 300; ++row) {
        PlainVector vector = clumps.vector();
        for (float& value : vector.values) value *= all_rows || row == 7 ? of_rows : 1.0F;
        vectors.emplace_back(vector);
      }
      const OsqIndex index(make_column(schema(), vectors), partitions(3));
      PlainVector vector = clumps.vector();
      for (float& value : vector.values) value *= of_query;
      const PreparedQuery query = make_query(schema(), vector);
      const auto all = RowFilter::all(300);
      const auto exact = index.exact(query, all, 10);
      EXPECT_EQ(index.find(query, {}, all, 10).hits.size(), exact.size());
      expect_same_hits(index.find(query, precision("exact"), all, 10).hits, exact);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, OsqSearch,
                         ::testing::Values(Metric::kDot, Metric::kCosine, Metric::kEuclid),
                         [](const auto& tested) {
                           return tested.param == Metric::kDot      ? "Dot"
                                  : tested.param == Metric::kCosine ? "Cosine"
                                                                    : "Euclid";
                         });

TEST(OsqSearchOfSample, RecallAndBytes) {
  const OsqIndex index(sample_column(), partitions(2));
  const auto all = RowFilter::all(index.column.n_rows);
  double recall = 0;
  const auto queries = sample_queries(index.column.schema);
  for (const PreparedQuery& query : queries) {
    recall += recall_of(index.find(query, {}, all, 10).hits, index.exact(query, all, 10));
  }
  EXPECT_GE(recall / static_cast<double>(queries.size()), 0.9);
  std::int64_t codes = 0;
  for (const auto& [name, value] : index.searcher->describe().facts) {
    if (name == "code_bytes" || name == "sign_bytes") codes += std::get<std::int64_t>(value);
  }
  const double budget = (4.0 + 1.0) * 384 / 8;  // 4 bits a dimension, and one
  EXPECT_NEAR(static_cast<double>(codes) / index.column.n_rows, budget, 1);
}

TEST(OsqType, WhatItIsForAndWhatItRefuses) {
  const IndexType& type = osq_type();
  for (const FieldSchema& schema : all_schemas(kDim)) {
    EXPECT_EQ(type.supports(schema),
              schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan);
  }
  EXPECT_TRUE(type.supports(dense_schema(4096)));
  EXPECT_FALSE(type.supports(dense_schema(4097)));
  const std::vector<std::pair<std::string, ParamValue>> refused = {
      {"bits", 8.5},
      {"bits", 0.0},
      {"balance", 2.0},
      {"partitions", std::int64_t{257}},
      {"bits", true},
      {"iterations", std::int64_t{0}},
      {"n_lists", std::int64_t{3}}};
  for (const auto& [name, bad] : refused) {
    const auto parsed = type.parse_build({{name, bad}});
    ASSERT_FALSE(parsed) << name;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.error().message().find(name), std::string::npos) << parsed.error().message();
  }
  const auto word = type.parse_search(precision("best"));
  ASSERT_FALSE(word);
  EXPECT_EQ(word.error().message(), "precision is \"best\", must be hamming, bounds or exact");
  EXPECT_FALSE(type.parse_search({{"distance_factor", 0.5}}));
  EXPECT_FALSE(type.parse_search({{"hamming_percent", 101.0}}));
}

TEST(OsqType, ParametersAreDocumented) {
  expect_documented<dense::osq::OsqBuildParams>("docs/squash.md");
  expect_documented<dense::osq::OsqSearchParams>("docs/squash.md");
}

}  // namespace
}  // namespace quiver::index::testing
