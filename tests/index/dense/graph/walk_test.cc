// The graph of the index of dense vectors: the rows that wait, links, walks, when there is one, and
// its files. What it owes every caller is in the conformance suite.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/graph/graph_support.h"

namespace quiver::index::testing {
namespace {

double mean_recall(const IvfIndex& index, const std::vector<PreparedQuery>& queries,
                   const KeyValues& params, const RowFilter& filter, std::size_t k) {
  double sum = 0;
  for (const PreparedQuery& query : queries) {
    sum += recall_of(index.find(query, params, filter, k).hits, index.exact(query, filter, k));
  }
  return sum / static_cast<double>(queries.size());
}

std::vector<PreparedQuery> queries_like(const FieldSchema& schema, Random& random, int n = 30) {
  const FieldColumn column = scattered(schema, static_cast<std::uint32_t>(n), random);
  std::vector<PreparedQuery> queries;
  std::vector<float> values(schema.dim);
  const dense::RowTransform rotation(schema.dim, 1);
  const dense::RowSource source(column, rotation);
  for (std::uint32_t i = 0; i < source.n(); ++i) {
    source.read_stored(i, values.data());
    queries.push_back(PreparedQuery::dense(schema, values));
  }
  return queries;
}

struct Walked {
  FieldSchema schema;
  IvfIndex index;
  std::vector<PreparedQuery> queries;
};

/// 6,000 rows that lie nowhere near each other, with a graph.
Walked walked(Metric metric, Random& random) {
  const auto schema = dense_schema(32, metric);
  return {schema, IvfIndex(scattered(schema, 6000, random), {{"graph", "always"}}),
          queries_like(schema, random)};
}

/// Rows that lie nowhere near each other are the case that it is for.
TEST(GraphSearch, FindsTheNearestOfScatteredRows) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto [schema, index, queries] = walked(metric, random);
    const auto all = RowFilter::all(6000);
    double before = 0;
    std::uint64_t work_before = 0;
    for (const std::int64_t effort : {16, 64, 256}) {
      const KeyValues params{{"effort", effort}};
      const double recall = mean_recall(index, queries, params, all, 10);
      const auto work = index.find(queries[0], params, all, 10).work;
      EXPECT_GE(recall, before);
      EXPECT_GT(work.n_codes_scored, work_before);
      EXPECT_EQ(work.n_lists, 3U) << "no walk";
      before = recall;
      work_before = work.n_codes_scored;
    }
    EXPECT_GE(before, 0.97) << describe(schema);
    EXPECT_GE(mean_recall(index, queries, {}, all, 10), 0.93);
    EXPECT_GE(mean_recall(index, queries, {}, all, 100), 0.93);
    EXPECT_GE(mean_recall(index, queries, {{"ef", std::int64_t{1000}}}, all, 10), 0.99);
  }
}

/// A walk ends at its reach, and what is beyond it is not mistaken for the end of the graph.
TEST(GraphSearch, TheReachOfAWalkIsItsRecall) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto [schema, index, queries] = walked(metric, random);
    const auto all = RowFilter::all(6000);
    double before = 0;
    std::uint64_t work_before = 0;
    for (const double reach : {0.02, 0.06, 0.15}) {
      const KeyValues params{{"reach", reach}};
      const double recall = mean_recall(index, queries, params, all, 10);
      std::uint64_t work = 0;
      for (const auto& query : queries) {
        const auto found = index.find(query, params, all, 10);
        EXPECT_EQ(found.work.n_lists, 3U) << "no walk";
        EXPECT_LT(found.work.n_rows_scored, 100U) << "not only a walk";
        work += found.work.n_codes_scored;
      }
      EXPECT_GT(recall, before) << describe(schema);
      EXPECT_GT(work, work_before) << describe(schema);
      before = recall;
      work_before = work;
    }
  }
}

/// Far from each other, and rows about each.
class Islands {
 public:
  Islands(std::size_t n, float width, Random& random) : width_(width), centres_(n * kDim) {
    std::normal_distribution<float> normal;
    for (float& value : centres_) value = normal(random);
  }
  PlainVector near(std::size_t island, Random& random) const {
    return between(island, island, random);
  }
  PlainVector between(std::size_t one, std::size_t other, Random& random) const {
    std::normal_distribution<float> normal;
    PlainVector vector;
    for (std::size_t d = 0; d < kDim; ++d) {
      const float middle = (centres_[one * kDim + d] + centres_[other * kDim + d]) / 2;
      vector.values.push_back(middle + width_ * normal(random));
    }
    return vector;
  }
  FieldColumn rows(const FieldSchema& schema, std::size_t n, Random& random) const {
    std::vector<std::optional<PlainVector>> rows;
    for (std::size_t i = 0; i < n; ++i)
      rows.emplace_back(near(i % (centres_.size() / kDim), random));
    return make_column(schema, rows);
  }

 private:
  static constexpr std::size_t kDim = 32;
  float width_;
  std::vector<float> centres_;
};

/// Islands of 40 rows: who wants more than one has must not get one's rows alone.
TEST(GraphSearch, AWalkThatRunsOutOfNodesIsNotTheAnswer) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto schema = dense_schema(32, metric);
    const Islands islands(50, 0.001F, random);
    const IvfIndex index(islands.rows(schema, 2000, random), {{"graph", "always"}});
    const auto all = RowFilter::all(2000);
    for (std::size_t i = 0; i < 10; ++i) {
      const auto query = make_query(schema, islands.near(i, random));
      const auto found = index.find(query, {}, all, 100);
      EXPECT_GE(recall_of(found.hits, index.exact(query, all, 100)), 0.9) << describe(schema);
    }
  }
}

/// Between two islands, and fewer rows are wanted than one has.
TEST(GraphSearch, RowsOfTwoIslandsAreFound) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto schema = dense_schema(32, metric);
    const Islands islands(50, 0.1F, random);
    const IvfIndex index(islands.rows(schema, 4000, random), {{"graph", "always"}});
    const auto all = RowFilter::all(4000);
    for (const std::size_t k : {10, 25, 70}) {
      double recall = 0;
      for (std::size_t i = 0; i < 20; ++i) {
        const auto query = make_query(schema, islands.between(i, i + 1, random));
        const auto hits = index.find(query, {}, all, k).hits;
        recall += recall_of(hits, index.exact(query, all, k)) / 20;
      }
      EXPECT_GE(recall, 0.95) << describe(schema) << ", k = " << k;
    }
  }
}

/// Most visited nodes turn out to be far, and their links are not read: a walk that expands all its
/// nodes scores more codes and finds no more.
TEST(GraphSearch, FarNodesAreNotExpanded) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto [schema, index, queries] = walked(metric, random);
    const auto all = RowFilter::all(6000);
    const auto codes_of = [&, &queries = queries, &index = index](const KeyValues& params,
                                                                  std::size_t k) {
      std::uint64_t n = 0;
      for (const auto& query : queries) n += index.find(query, params, all, k).work.n_codes_scored;
      return n;
    };
    for (const auto& [k, ef] : {std::pair<std::size_t, std::int64_t>{10, 70}, {40, 130}}) {
      const KeyValues expanded{{"ef", ef}};
      EXPECT_LT(mean_recall(index, queries, expanded, all, k),
                mean_recall(index, queries, {}, all, k) + 0.02)
          << describe(schema) << ", k = " << k;
      EXPECT_LT(codes_of({}, k), codes_of(expanded, k)) << describe(schema) << ", k = " << k;
    }
  }
}

TEST(GraphSearch, SmallNumbersOfVisits) {
  Random random(kSeed);
  const auto [schema, index, queries] = walked(Metric::kCosine, random);
  for (const std::int64_t ef : {1, 2, 3, 5, 9}) {
    for (const std::size_t k : {1, 2, 10}) {
      const auto found = index.find(queries[0], {{"ef", ef}}, RowFilter::all(6000), k);
      EXPECT_EQ(found.hits.size(), k) << "ef = " << ef;
    }
  }
}

/// Under Dot the best rows of unequal lengths are not the nearest, so distances end no walk.
TEST(GraphSearch, DistancesAreTakenFromScoresOfEvenLengthsOnly) {
  Random random(kSeed);
  std::uniform_real_distribution<float> length(0.5F, 2);
  for (const bool is_even : {true, false}) {
    auto schema = dense_schema(32, Metric::kDot);
    std::vector<std::optional<PlainVector>> vectors;
    const FieldColumn directions = scattered(dense_schema(32, Metric::kCosine), 2000, random);
    const dense::RowTransform rotation(32, 1);
    const dense::RowSource source(directions, rotation);
    for (std::uint32_t i = 0; i < source.n(); ++i) {
      auto& vector = vectors.emplace_back(PlainVector{});
      vector->values.resize(32);
      source.read_stored(i, vector->values.data());
      const float factor = is_even ? 1 : length(random);
      for (float& value : vector->values) value *= factor;
    }
    const IvfIndex index(make_column(schema, vectors), {{"graph", "always"}});
    std::uint64_t n_bytes = 0;
    const auto graph = dense::Graph::open(
        *index.directory, {64, index.column.n_rows, index.column.n_present, false}, n_bytes);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->has_distances(), is_even);
  }
}

/// Walks pass rows that are not allowed; narrow filters are for the lists.
TEST(GraphSearch, FiltersCostNoRecall) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kCosine);
  const IvfIndex index(scattered(schema, 4000, random), {{"graph", "always"}});
  const auto queries = queries_like(schema, random);
  const double unfiltered = mean_recall(index, queries, {}, RowFilter::all(4000), 10);
  for (const double share : {0.95, 0.6, 0.3, 0.05}) {
    const Bitset allowed = random_rows(4000, share, random);
    const auto filter = RowFilter::of(allowed);
    EXPECT_GE(mean_recall(index, queries, {}, filter, 10), unfiltered - 0.01) << share;
    for (const Hit& hit : index.find(queries[0], {}, filter, 10).hits) {
      EXPECT_TRUE(allowed.test(hit.row)) << "at " << share;
    }
  }
}

/// All that is near the query is denied: what a walk passes on its way there are no answers.
TEST(GraphSearch, WhereTheNearRowsAreDeniedFartherOnesAreFound) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kEuclid);
  const IvfIndex index(scattered(schema, 6000, random), {{"graph", "always"}});
  double recall = 0;
  for (const PreparedQuery& query : queries_like(schema, random)) {
    Bitset allowed(6000, true);
    for (const Hit& hit : index.exact(query, RowFilter::all(6000), 300)) allowed.reset(hit.row);
    recall += mean_recall(index, {query}, {}, RowFilter::of(allowed), 10) / 30;
  }
  EXPECT_GE(recall, 0.9);
}

/// All rows are compared where a walk would take longer, however long a walk is asked for.
TEST(GraphSearch, WalksAreBounded) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kCosine);
  const IvfIndex index(scattered(schema, 3000, random), with_graph());
  const auto queries = queries_like(schema, random, 3);
  const auto all = RowFilter::all(3000);
  EXPECT_EQ(mean_recall(index, queries, {}, all, 1500), 1);
  for (const KeyValues& params :
       {KeyValues{{"ef", std::int64_t{1'000'000}}}, KeyValues{{"effort", std::int64_t{1'000'000}}},
        KeyValues{{"oversampling", 1e6}}}) {
    EXPECT_EQ(mean_recall(index, queries, params, all, 10), 1);
    EXPECT_EQ(index.find(queries[0], params, all, 10).work.n_rows_scored, 3000U);
  }
}

TEST(GraphSearch, WhoAsksForListsGetsThem) {
  Random random(kSeed);
  const auto schema = dense_schema(32);
  const IvfIndex index(scattered(schema, 3000, random), with_graph());
  const auto queries = queries_like(schema, random, 1);
  const auto found =
      index.find(queries[0], {{"nprobe", std::int64_t{7}}}, RowFilter::all(3000), 10);
  EXPECT_EQ(found.work.n_lists, 7U);
}

TEST(GraphSearch, AWalkThatIsCancelledSaysSo) {
  Random random(kSeed);
  const auto schema = dense_schema(32);
  const IvfIndex index(scattered(schema, 6000, random), with_graph());
  Cancel cancel;
  cancel.cancel();
  TopK top(10);
  WorkCounters work;
  const auto params = index.type.parse_search({{"ef", std::int64_t{150}}});
  const auto done = index.searcher->search(queries_like(schema, random, 1)[0], *params,
                                           RowFilter::all(6000), {cancel}, top, work);
  EXPECT_FALSE(done);
  // What a walk left behind does not show in the next one, on this thread or on another.
  const auto filter = RowFilter::all(6000);
  const auto query = queries_like(schema, random, 1)[0];
  const KeyValues by_number{{"ef", std::int64_t{150}}};
  EXPECT_GE(
      recall_of(index.find(query, by_number, filter, 10).hits, index.exact(query, filter, 10)),
      0.9);
  for (const KeyValues& values : {by_number, KeyValues{}}) {
    const auto here = index.find(query, values, filter, 10).hits;
    std::vector<Hit> there;
    std::thread([&] { there = index.find(query, values, filter, 10).hits; }).join();
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(here[i].row, there[i].row);
  }
}

}  // namespace
}  // namespace quiver::index::testing
