// Data that lists of codes do not suit: what an index found out about itself when it was built
// keeps searches that nobody steers from missing what there is.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint32_t kTrialRows = 12'000;

using RowMaker = std::function<PlainVector(std::uint32_t row)>;

FieldColumn column_from(const FieldSchema& schema, const RowMaker& make) {
  std::vector<std::optional<PlainVector>> rows;
  for (std::uint32_t row = 0; row < kTrialRows; ++row) rows.emplace_back(make(row));
  return make_column(schema, rows);
}

/// Of 30 queries.
double default_recall(const IvfIndex& index, const std::function<PlainVector()>& query_values,
                      const KeyValues& search = {}) {
  const auto all = RowFilter::all(kTrialRows);
  double sum = 0;
  for (int i = 0; i < 30; ++i) {
    const PreparedQuery query = make_query(index.column.schema, query_values());
    sum += recall_of(index.find(query, search, all, 10).hits, index.exact(query, all, 10));
  }
  return sum / 30;
}

double fact_of(const IvfIndex& index, const std::string& name) {
  for (const auto& [key, value] : index.searcher->describe().facts) {
    if (key == name) return std::get<double>(value);
  }
  ADD_FAILURE() << "no fact " << name;
  return -1;
}

bool has_graph(const IvfIndex& index) {
  for (const auto& [key, value] : index.searcher->describe().facts) {
    if (key == "links") return true;
  }
  return false;
}

struct Normal {
  Random random{kIvfSeed};
  std::normal_distribution<float> distribution;

  PlainVector vector(std::uint32_t dim, float length = 1) {
    PlainVector made;
    for (std::uint32_t d = 0; d < dim; ++d) made.values.push_back(length * distribution(random));
    return made;
  }
};

TEST(DenseTrial, LeavesUsualDataAsItIs) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(64, Metric::kCosine);
  Clumps clumps(schema, 200, random);
  const IvfIndex index(clumps.column(kTrialRows));
  EXPECT_GE(fact_of(index, "trial_recall"), 0.9);
  EXPECT_EQ(fact_of(index, "trial_effort"), 1);
  EXPECT_GE(default_recall(index, [&] { return clumps.vector(); }), 0.9);
}

TEST(DenseTrial, PlacesOnAMapAreFound) {
  Normal normal;
  std::vector<PlainVector> towns;
  for (int i = 0; i < 100; ++i) towns.push_back(normal.vector(2, 60));
  const auto near_town = [&] {
    PlainVector place = towns[normal.random() % towns.size()];
    for (float& value : place.values) value += 0.01F * normal.distribution(normal.random);
    return place;
  };
  const IvfIndex index(
      column_from(dense_schema(2, Metric::kEuclid), [&](std::uint32_t) { return near_town(); }));
  EXPECT_GE(default_recall(index, near_town), 0.9);
}

TEST(DenseTrial, OneDimensionMayBeLargerThanAllOthers) {
  Normal normal;
  const auto person = [&] {
    PlainVector row = normal.vector(12);
    row.values[3] = std::exp(10 + normal.distribution(normal.random));  // an income
    return row;
  };
  const IvfIndex index(
      column_from(dense_schema(12, Metric::kEuclid), [&](std::uint32_t) { return person(); }));
  EXPECT_GE(default_recall(index, person), 0.9);
}

TEST(DenseTrial, OneLongRowDoesNotHideTheOthers) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(48, Metric::kDot);
  Clumps clumps(schema, 100, random);
  const IvfIndex index(column_from(schema, [&](std::uint32_t row) {
    PlainVector vector = clumps.vector();
    for (float& value : vector.values) value *= row == 0 ? 100.0F : 1.0F;
    return vector;
  }));
  EXPECT_GE(default_recall(index, [&] { return clumps.vector(); }), 0.9);
}

/// Of such rows all are about as far from each other.
TEST(DenseTrial, RowsWithoutStructureHaveNoPoorGraph) {
  Normal normal;
  const IvfIndex index(column_from(dense_schema(256, Metric::kCosine),
                                   [&](std::uint32_t) { return normal.vector(256); }));
  EXPECT_FALSE(has_graph(index));
  EXPECT_GE(default_recall(index, [&] { return normal.vector(256); }), 0.8);
}

/// Their scores are no numbers, which is no reason to end.
TEST(DenseTrial, AHugeRowIsSurvived) {
  Normal normal;
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    const auto schema = dense_schema(64, metric);
    const IvfIndex index(column_from(schema, [&](std::uint32_t row) {
      PlainVector vector = normal.vector(64);
      if (row == 5) std::fill(vector.values.begin(), vector.values.end(), 3.75e37F);
      return vector;
    }));
    Bitset some(kTrialRows, true);
    some.reset(7);
    for (const float length : {1e-18F, 1.0F, 1e18F}) {
      const PreparedQuery query = make_query(schema, normal.vector(64, length));
      EXPECT_EQ(index.find(query, {}, RowFilter::all(kTrialRows), 10).hits.size(), 10U);
      EXPECT_EQ(index.find(query, {}, RowFilter::of(some), 10).hits.size(), 10U);
      EXPECT_EQ(
          index.find(query, {{"nprobe", std::int64_t{3}}}, RowFilter::of(some), 10).hits.size(),
          10U);
    }
  }
}

TEST(DenseTrial, WhoSteersIsObeyed) {
  Normal normal;
  const auto schema = dense_schema(2, Metric::kEuclid);
  const IvfIndex index(column_from(schema, [&](std::uint32_t) { return normal.vector(2, 1000); }));
  const PreparedQuery query = make_query(schema, normal.vector(2, 1000));
  const auto all = RowFilter::all(kTrialRows);
  EXPECT_LT(index.find(query, {{"nprobe", std::int64_t{1}}}, all, 10).work.n_codes_scored,
            kTrialRows / 4);
}

/// Rows that are in two lists leave no search short, whose length would then be that of an exact
/// one.
TEST(DenseTrial, AskingForLittleReadsLittle) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(64, Metric::kCosine);
  Clumps clumps(schema, 200, random);
  const IvfIndex index(clumps.column(kTrialRows), {{"graph", "never"}});
  for (int i = 0; i < 20; ++i) {
    const auto found =
        index.find(clumps.query(), {{"rerank", std::int64_t{10}}}, RowFilter::all(kTrialRows), 10);
    EXPECT_LT(found.work.n_rows_scored, 100U);
  }
}

}  // namespace
}  // namespace quiver::index::testing
