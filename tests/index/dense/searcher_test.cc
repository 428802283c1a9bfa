// Searches of the IVF index against brute force: all lists miss nothing, few lists find most, and
// whatever is found has its exact score.
#include <gtest/gtest.h>

#include "index/dense/params.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"
#include "tests/index/documented.h"

namespace quiver::index::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(, IvfSearch, ::testing::ValuesIn(ivf_schemas(0)),
                         [](const auto& one) { return describe(one.param); });

const KeyValues kNoSecondCodes = {{"refine_bits", std::int64_t{0}}};

/// Every list scanned and every row scored: the bits of brute force, whatever the shape.
TEST_P(IvfSearch, AllListsGiveTheBitsOfBruteForce) {
  Random random(kIvfSeed);
  for (int round = 0; round < 6; ++round) {
    const std::uint32_t dims[] = {1, 3, 31, 64, 100, 333};
    const auto rows_schema = schema(dims[round]);
    const auto n_rows = static_cast<std::uint32_t>(1200 + random() % 600);
    SCOPED_TRACE("dim " + std::to_string(rows_schema.dim) + ", " + std::to_string(n_rows) +
                 " rows, seed " + std::to_string(kIvfSeed));
    Clumps clumps(rows_schema, 12, random);
    KeyValues values = kNoSecondCodes;
    values["bits"] = std::int64_t{1} << round % 4;
    values["spill"] = round % 2 == 0;
    const IvfIndex index(clumps.column(n_rows, 0.9, 0.1), values);
    for (const Bitset& allowed : filters_over(index.column, random)) {
      const RowFilter filter = RowFilter::of(allowed);
      const PreparedQuery query = clumps.query();
      for (const std::size_t k : {1, 10, 150}) {
        const auto found = index.find(query, everything(), filter, k);
        expect_same_hits(found.hits, index.exact(query, filter, k));
      }
    }
  }
}

TEST_P(IvfSearch, DefaultsFindMostWithExactScoresAndNeverTooFew) {
  Random random(kIvfSeed);
  Clumps clumps(schema(48), 40, random);
  const IvfIndex index(clumps.column(4000, 0.95, 0.02));
  const Bitset present = present_rows(index.column);
  for (const std::size_t k : {1, 10, 100}) {
    double recall = 0;
    std::uint64_t n_lists = 0;
    constexpr int kQueries = 20;
    for (int i = 0; i < kQueries; ++i) {
      const PreparedQuery query = clumps.query();
      const RowFilter filter = RowFilter::of(present);
      const Found found = index.find(query, {}, filter, k);
      ASSERT_EQ(found.hits.size(), k);
      for (const Hit& hit : found.hits) {
        EXPECT_EQ(score_row(query, index.column, hit.row), hit.score) << "row " << hit.row;
      }
      recall += recall_of(found.hits, index.exact(query, filter, k));
      n_lists += found.work.n_lists;
    }
    EXPECT_GE(recall / kQueries, k > 10 ? 0.9 : 0.95) << "k " << k;
    EXPECT_GT(n_lists, 0U) << "this was no test of the lists";
  }
}

/// Second codes of half the bytes: about as much is found.
TEST_P(IvfSearch, HalfBytesFindMostToo) {
  Random random(kIvfSeed);
  Clumps clumps(schema(96), 40, random);
  const FieldColumn column = clumps.column(4000, 0.95, 0.02);
  const Bitset present = present_rows(column);
  const RowFilter filter = RowFilter::of(present);
  const IvfIndex halves(column, {{"refine_bits", std::int64_t{4}}});
  const IvfIndex bytes(column);
  for (const std::size_t k : {1, 10, 100}) {
    double recall = 0;
    double wanted = 0;
    for (int i = 0; i < 20; ++i) {
      const PreparedQuery query = clumps.query();
      const auto exact = bytes.exact(query, filter, k);
      const Found found = halves.find(query, {}, filter, k);
      ASSERT_EQ(found.hits.size(), k);
      for (const Hit& hit : found.hits) EXPECT_EQ(score_row(query, column, hit.row), hit.score);
      recall += recall_of(found.hits, exact) / 20;
      wanted += recall_of(bytes.find(query, {}, filter, k).hits, exact) / 20;
    }
    EXPECT_GE(recall, wanted - 0.01) << "k " << k;
  }
}

TEST_P(IvfSearch, PreferExactIsBruteForce) {
  Random random(kIvfSeed);
  Clumps clumps(schema(20), 10, random);
  const IvfIndex index(clumps.column(2000, 0.9));
  for (const Bitset& allowed : filters_over(index.column, random)) {
    const RowFilter filter = RowFilter::of(allowed);
    const PreparedQuery query = clumps.query();
    const Found found = index.find(query, {}, filter, 30, Prefer::kExact);
    expect_same_hits(found.hits, index.exact(query, filter, 30));
    EXPECT_EQ(found.work.n_lists, 0U);
  }
}

TEST_P(IvfSearch, MoreWantedThanThereIs) {
  Random random(kIvfSeed);
  Clumps clumps(schema(20), 10, random);
  const IvfIndex index(clumps.column(1500, 0.9));
  for (const Bitset& allowed : filters_over(index.column, random)) {
    const RowFilter filter = RowFilter::of(allowed);
    const PreparedQuery query = clumps.query();
    for (const std::size_t k : {allowed.count(), allowed.count() + 1, std::size_t{100'000}}) {
      expect_same_hits(index.find(query, {}, filter, k).hits, index.exact(query, filter, k));
    }
    EXPECT_EQ(index.find(query, {}, filter, allowed.count() - 1).hits.size(), allowed.count() - 1);
  }
}

TEST_P(IvfSearch, EqualRowsAreOrderedByRow) {
  Random random(kIvfSeed);
  Clumps clumps(schema(32), 5, random);
  const IvfIndex index(make_column(schema(32), repeated(3000, clumps.vector())), kNoSecondCodes);
  const auto all = RowFilter::all(3000);
  const PreparedQuery query = clumps.query();
  const auto hits = index.find(query, everything(), all, 25).hits;
  ASSERT_EQ(hits.size(), 25U);
  for (std::uint32_t i = 0; i < 25; ++i) EXPECT_EQ(hits[i].row, i);
  EXPECT_EQ(index.find(query, {}, all, 25).hits.size(), 25U);
}

TEST_P(IvfSearch, WideAndNarrowRows) {
  Random random(kIvfSeed);
  for (const std::uint32_t dim : {1U, 2U, 63U, 65U, 1000U, 4096U}) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    const auto rows_schema = schema(dim);
    Clumps clumps(rows_schema, 6, random);
    const IvfIndex index(clumps.column(600), {{"n_lists", std::int64_t{8}}});
    const auto all = RowFilter::all(index.column.n_rows);
    double recall = 0;
    for (int i = 0; i < 10; ++i) {
      const PreparedQuery query = clumps.query();
      const Found found = index.find(query, {{"nprobe", std::int64_t{8}}}, all, 10);
      recall += recall_of(found.hits, index.exact(query, all, 10));
    }
    EXPECT_GE(recall / 10, 0.9);
  }
}

/// Zero rows among others, and a zero query: every row is as good, or the zeros are.
TEST_P(IvfSearch, ZeroVectors) {
  Random random(kIvfSeed);
  const auto rows_schema = schema(24);
  Clumps clumps(rows_schema, 8, random);
  const PlainVector zero{std::vector<float>(24, 0.0F), {}};
  std::vector<std::optional<PlainVector>> vectors;
  for (int i = 0; i < 2000; ++i) {
    vectors.emplace_back(i % 3 == 0 ? zero : clumps.vector());
  }
  const IvfIndex index(make_column(rows_schema, vectors), kNoSecondCodes);
  const auto all = RowFilter::all(2000);
  for (const PreparedQuery& query : {make_query(rows_schema, zero), clumps.query()}) {
    expect_same_hits(index.find(query, everything(), all, 40).hits, index.exact(query, all, 40));
    EXPECT_EQ(index.find(query, {}, all, 40).hits.size(), 40U);
  }
}

TEST_P(IvfSearch, CancelledWhileItScans) {
  Random random(kIvfSeed);
  Clumps clumps(schema(24), 8, random);
  const IvfIndex index(clumps.column(3000));
  const Bitset half = random_rows(3000, 0.5, random);
  const Cancel cancel;
  cancel.cancel();
  const auto params = ivf_type().parse_search(everything());
  for (const RowFilter& filter : {RowFilter::all(3000), RowFilter::of(half)}) {
    TopK top(10);
    WorkCounters work;
    const auto result =
        index.searcher->search(clumps.query(), *params, filter, {cancel, nullptr, {}}, top, work);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kCancelled);
    EXPECT_EQ(top.size(), 0U);
  }
}

TEST_P(IvfSearch, ABatchGivesTheHitsOfItsQueries) {
  Random random(kIvfSeed);
  Clumps clumps(schema(40), 30, random);
  const IvfIndex index(clumps.column(4000, 0.95));
  const auto params = ivf_type().parse_search({});
  for (const Bitset& allowed : filters_over(index.column, random)) {
    std::vector<PreparedQuery> queries;
    std::vector<TopK> tops;
    for (std::size_t i = 0; i < 13; ++i) {
      queries.push_back(clumps.query());
      tops.emplace_back(i * 3);
    }
    std::vector<const PreparedQuery*> query_pointers;
    std::vector<TopK*> results;
    for (std::size_t i = 0; i < 13; ++i) {
      query_pointers.push_back(&queries[i]);
      results.push_back(&tops[i]);
    }
    const Cancel cancel;
    WorkCounters work;
    const RowFilter filter = RowFilter::of(allowed);
    ASSERT_TRUE(index.searcher->search_batch(query_pointers, *params, filter, {cancel, nullptr, {}},
                                             results, work));
    for (std::size_t i = 0; i < 13; ++i) {
      expect_same_hits(tops[i].take_sorted(), index.find(queries[i], {}, filter, i * 3).hits);
    }
  }
}

/// Ten hits under filters that test rows before and after they are found. Lists without a key must
/// not keep a search going.
void expect_ten_hits_with_filters(const IvfIndex& index, const PreparedQuery& query) {
  Random random(kIvfSeed);
  for (const double share : {0.9, 0.3}) {
    const Bitset allowed = random_rows(index.column.n_rows, share, random);
    EXPECT_EQ(index.find(query, {}, RowFilter::of(allowed), 10).hits.size(), 10U) << share;
  }
}

/// Lengths whose squares, or whose products, are no floats: centroids and codes say little then, so
/// that recall is promised up to lengths of 1e10 only.
TEST(IvfSearchEdges, HugeRows) {
  Random random(kIvfSeed);
  for (const Metric metric : {Metric::kDot, Metric::kEuclid, Metric::kCosine}) {
    for (const float length : {1e10F, 1e19F, 3e30F, 3e37F}) {
      const auto schema = dense_schema(24, metric);
      SCOPED_TRACE(describe(schema) + " " + std::to_string(length));
      Clumps clumps(schema, 8, random);
      std::vector<std::optional<PlainVector>> vectors;
      for (int i = 0; i < 2000; ++i) {
        vectors.emplace_back(clumps.vector());
        if (i % 100 == 50) {
          for (float& value : vectors.back()->values) value *= length / 4;
        }
      }
      const IvfIndex index(make_column(schema, vectors), kNoSecondCodes);
      const IvfIndex refined(make_column(schema, vectors));
      const auto all = RowFilter::all(2000);
      double recall = 0;
      for (int i = 0; i < 10; ++i) {
        const PreparedQuery query = clumps.query();
        const auto truth = index.exact(query, all, 10);
        expect_same_hits(index.find(query, everything(), all, 10).hits, truth);
        const auto found = refined.find(query, {{"nprobe", std::int64_t{1} << 20}}, all, 10).hits;
        for (const Hit& hit : found)
          EXPECT_EQ(score_row(query, refined.column, hit.row), hit.score);
        EXPECT_EQ(found.size(), 10U);
        EXPECT_EQ(refined.find(query, {}, all, 10).hits.size(), 10U);
        expect_ten_hits_with_filters(refined, query);
        recall += recall_of(found, truth);
      }
      EXPECT_GE(recall / 10, length <= 1e10F ? 0.9 : 0.0);
    }
  }
}

TEST(IvfSearchEdges, HugeQueries) {
  Random random(kIvfSeed);
  for (const Metric metric : {Metric::kDot, Metric::kEuclid, Metric::kCosine}) {
    for (const float length : {1e10F, 1e19F, 1e38F, 1e-30F, 1e-44F}) {
      const auto schema = dense_schema(24, metric);
      SCOPED_TRACE(describe(schema) + " " + std::to_string(length));
      Clumps clumps(schema, 8, random);
      const IvfIndex index(clumps.column(2000), kNoSecondCodes);
      const auto all = RowFilter::all(2000);
      PlainVector vector = clumps.vector();
      for (float& value : vector.values) value *= length;
      const PreparedQuery query = make_query(schema, vector);
      expect_same_hits(index.find(query, everything(), all, 10).hits, index.exact(query, all, 10));
      EXPECT_EQ(index.find(query, {}, all, 10).hits.size(), 10U);
      expect_ten_hits_with_filters(index, query);
    }
  }
}

/// Under Dot the length of a query changes no order, so it should change no recall.
TEST(IvfSearchEdges, QueriesMayBeOfAnyLength) {
  Random random(kIvfSeed);
  const FieldSchema schema = dense_schema(96);
  Clumps clumps(schema, 40, random);
  const IvfIndex index(clumps.column(6000), kNoSecondCodes);
  const RowFilter all = RowFilter::all(6000);
  std::vector<PlainVector> vectors(30);
  for (PlainVector& vector : vectors) vector = clumps.vector();
  const auto recall = [&](float length) {
    double sum = 0;
    for (PlainVector vector : vectors) {
      for (float& value : vector.values) value *= length;
      const PreparedQuery query = make_query(schema, vector);
      sum += recall_of(index.find(query, {}, all, 10).hits, index.exact(query, all, 10));
    }
    return sum / static_cast<double>(vectors.size());
  };
  const double usual = recall(1);
  EXPECT_GE(usual, 0.9);
  for (const float length : {1e-4F, 1e-2F, 1e2F, 1e4F}) {
    EXPECT_GE(recall(length), usual - 0.02) << length;
  }
}

TEST(IvfSearchEdges, FewRowsOneRowNoRows) {
  Random random(kIvfSeed);
  for (const FieldSchema& schema : ivf_schemas(24)) {
    SCOPED_TRACE(describe(schema));
    Clumps clumps(schema, 3, random);
    for (const std::uint32_t n_rows : {0U, 1U, 2U, 15U, 16U, 17U, 100U}) {
      for (const double present : {1.0, 0.5, 0.0}) {
        const IvfIndex index(clumps.column(n_rows, present));
        const Bitset rows = present_rows(index.column);
        const PreparedQuery query = clumps.query();
        expect_same_hits(index.find(query, {}, RowFilter::of(rows), 10).hits,
                         index.exact(query, RowFilter::of(rows), 10));
      }
    }
  }
}

/// The parameters that are for more recall give more of it, and take more work.
TEST(IvfSearchEdges, EffortBuysRecall) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(64);
  Clumps clumps(schema, 60, random);
  const IvfIndex index(clumps.column(6000));
  const auto all = RowFilter::all(6000);
  double recalls[3] = {};
  std::uint64_t codes[3] = {};
  for (int i = 0; i < 30; ++i) {
    const PreparedQuery query = clumps.query();
    const auto truth = index.exact(query, all, 10);
    for (std::size_t e = 0; e < 3; ++e) {
      const std::int64_t efforts[] = {4, 128, 1024};
      const Found found = index.find(query, {{"effort", efforts[e]}}, all, 10);
      recalls[e] += recall_of(found.hits, truth) / 30;
      codes[e] += found.work.n_codes_scored;
    }
  }
  EXPECT_LE(recalls[0], recalls[1]);
  EXPECT_LE(recalls[1], recalls[2]);
  EXPECT_GE(recalls[2], 0.99);
  EXPECT_LT(codes[0], codes[1]);
  EXPECT_LT(codes[1], codes[2]);
}

/// Codes of centroids err by far more than lists of a clump differ. Then more centroids are
/// compared: searches are neither poor nor exact.
TEST(IvfSearchEdges, ClumpsFarApart) {
  Random random(kIvfSeed);
  constexpr std::uint32_t kRows = 12'000;
  for (const std::uint32_t dim : {4U, 16U, 48U, 128U}) {
    for (const float radius : {0.3F, 0.1F}) {
      for (const Metric metric : {Metric::kEuclid, Metric::kCosine}) {
        SCOPED_TRACE(::testing::Message() << "dim " << dim << ", radius " << radius);
        Clumps clumps(dense_schema(dim, metric), 20, random, radius);
        const IvfIndex index(clumps.column(kRows), {{"graph", std::string("never")}});
        const auto all = RowFilter::all(kRows);
        double recall = 0;
        std::uint64_t n_codes = 0;
        for (int i = 0; i < 30; ++i) {
          const PreparedQuery query = clumps.query();
          const Found found = index.find(query, {}, all, 10);
          recall += recall_of(found.hits, index.exact(query, all, 10)) / 30;
          n_codes += found.work.n_codes_scored / 30;
          EXPECT_LT(found.work.n_rows_scored, 100U);
        }
        EXPECT_GE(recall, 0.9);
        EXPECT_LT(n_codes, kRows / 5);
      }
    }
  }
}

/// Second codes cannot tell the rows of a clump apart: more are scored exactly, not all.
TEST(IvfSearchEdges, SmallClumpsFarFromTheOrigin) {
  Random random(kIvfSeed);
  constexpr std::uint32_t kRows = 12'000;
  Clumps clumps(dense_schema(128, Metric::kEuclid), 20, random, 0.03F);
  const IvfIndex index(clumps.column(kRows), {{"graph", std::string("never")}});
  const auto all = RowFilter::all(kRows);
  double recall = 0;
  for (int i = 0; i < 30; ++i) {
    const PreparedQuery query = clumps.query();
    const Found found = index.find(query, {}, all, 10);
    recall += recall_of(found.hits, index.exact(query, all, 10)) / 30;
    EXPECT_LT(found.work.n_rows_scored, 400U);
  }
  EXPECT_GE(recall, 0.85);
}

/// If the lists within the gap have fewer than k rows, the next lists are scanned, not all rows.
TEST(IvfSearchEdges, ListsWithTooFewRowsAreWidened) {
  Random random(kIvfSeed);
  constexpr std::size_t kRows = 6000;
  constexpr std::size_t kWanted = 100;
  const auto schema = dense_schema(64);
  Clumps clumps(schema, 200, random);  // of 30 rows each
  const IvfIndex index(clumps.column(kRows), {{"n_lists", std::int64_t{200}}});
  const auto all = RowFilter::all(kRows);
  for (const KeyValues& params :
       {KeyValues{{"effort", std::int64_t{1}}}, KeyValues{{"nprobe", std::int64_t{1}}}}) {
    for (int i = 0; i < 30; ++i) {
      const PreparedQuery query = clumps.query();
      const Found found = index.find(query, params, all, kWanted);
      EXPECT_EQ(found.hits.size(), kWanted);
      EXPECT_LT(found.work.n_rows_scored, kRows / 10);
      EXPECT_LT(found.work.n_codes_scored, kRows / 2);
    }
  }
}

TEST(IvfSearchEdges, ParametersOutOfRangeAreRefused) {
  for (const KeyValues& values :
       {KeyValues{{"bits", std::int64_t{0}}}, KeyValues{{"bits", std::int64_t{9}}},
        KeyValues{{"refine_bits", std::int64_t{5}}}, KeyValues{{"n_lists", std::int64_t{-1}}},
        KeyValues{{"lists", std::int64_t{1}}}}) {
    const auto parsed = ivf_type().parse_build(values);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument) << parsed.error().to_string();
  }
  EXPECT_FALSE(ivf_type().parse_search({{"gap", -0.1}}));
  EXPECT_FALSE(ivf_type().parse_search({{"stop", -1.0}}));
  EXPECT_FALSE(ivf_type().parse_search({{"nprobes", std::int64_t{1}}}));
  EXPECT_FALSE(ivf_type().supports(dense_schema(8, Metric::kManhattan)));
}

TEST(IvfParameters, EveryOneIsDocumented) {
  expect_documented<dense::DenseSearchParams>("docs/dense.md");
  expect_documented<dense::DenseBuildParams>("docs/dense.md");
}

}  // namespace
}  // namespace quiver::index::testing
