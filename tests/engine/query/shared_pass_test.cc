// Queries answered together get the answers that each gets alone.
#include "engine/query/shared_pass.h"

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

bool are_alike(const Query& a, const Query& b) {
  return are_searched_alike(a, b, Searched::kOnCpu);
}

TEST(AreSearchedAlike, IsOneFieldWithTheSameParameters) {
  const Query plain = nearest_number("dot", 1, 3);
  Query other = nearest_number("dot", 7, 9);
  other.offset = 2;
  other.score_threshold = 1.0F;
  other.with_payload = payload::Selector::all();
  EXPECT_TRUE(are_alike(plain, other));
  EXPECT_FALSE(are_alike(plain, nearest_number("far", 1, 3)));
  Query exact = plain;
  exact.params.exact = true;
  EXPECT_FALSE(are_alike(plain, exact));
  // The effort that reaches a recall depends on the number of hits.
  Query by_recall = plain;
  by_recall.params.target.mean = 0.9;
  Query more = by_recall;
  EXPECT_TRUE(are_alike(by_recall, more));
  more.limit += 1;
  EXPECT_FALSE(are_alike(by_recall, more));
  Query filtered = plain;
  filtered.filter = only_odd();
  EXPECT_FALSE(are_alike(plain, filtered));
  EXPECT_FALSE(are_alike(filtered, filtered));
  // A device takes several filters at a time.
  EXPECT_TRUE(are_searched_alike(plain, filtered, Searched::kOnDevice));
  EXPECT_TRUE(are_searched_alike(filtered, filtered, Searched::kOnDevice));
  filtered.params = more.params;
  EXPECT_FALSE(are_searched_alike(filtered, filtered, Searched::kOnDevice));
}

void expect_same_records(const std::vector<Record>& found, const std::vector<Record>& expected) {
  ASSERT_EQ(numbers_of(found), numbers_of(expected));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].score, expected[i].score);
    EXPECT_EQ(found[i].version, expected[i].version);
    EXPECT_EQ(found[i].payload, expected[i].payload);
  }
}

TEST(RunQueries, AnswersEachAsAlone) {
  const NumbersWorld world;
  std::vector<Query> queries = {
      nearest_number("dot", 1, 3),  nearest_number("far", 4, 2), Query{},
      nearest_number("dot", -1, 4), nearest_number("far", 8, 5), nearest_number("dot", 2, 5)};
  queries[0].offset = 2;
  queries[3].score_threshold = -3.0F;
  queries[5].with_payload = payload::Selector::all();
  queries.push_back(queries[0]);
  queries.back().filter = only_odd();
  const auto answers = run_queries(world.environment(), queries).value();
  ASSERT_EQ(answers.size(), queries.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same_records(answers[i], Plan(queries[i]).run(world.environment()).value());
  }
  EXPECT_EQ(numbers_of(answers[3]), (Numbers{1, 2}));
  EXPECT_TRUE(run_queries(world.environment(), {}).value().empty());
}

/// Filters of different text, equal ones and none, with devices: all in one group.
TEST(RunQueries, DifferentFiltersInAGroup) {
  const NumbersWorld world;
  const auto devices = gpu::Devices::open({.devices = "emulated", .module = "", .min_bytes = 0});
  ASSERT_TRUE(devices);
  Executor executor(3, "compute");
  auto environment = world.environment();
  environment.executor = &executor;
  environment.devices = devices->get();
  std::vector<Query> queries;
  for (int i = 0; i < 40; ++i) {
    auto& query = queries.emplace_back(nearest_number("dot", static_cast<float>(i % 7 - 3), 4));
    query.params.exact = true;
    if (i % 4 == 1) query.filter = only_odd();
    if (i % 4 == 2) query.filter.emplace().must_not = {payload::HasId{{PointId::number(i % 8)}}};
    if (i % 4 == 3) query.filter.emplace();
  }
  for (int round = 0; round < 2; ++round) {
    const auto answers = run_queries(environment, queries).value();
    (*devices)->wait_for_loading();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same_records(answers[i], Plan(queries[i]).run(world.environment()).value());
    }
  }
  EXPECT_EQ(most_filtered_together(environment.snapshot), QueryCost::kMostOnDevice);
  queries[9].filter.emplace().must = {
      payload::FieldCondition{"a[[", payload::MatchValue{payload::MatchScalar(std::int64_t{1})}}};
  const auto failed = run_queries(environment, queries);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
}

TEST(RunQueries, SeveralThreadsAnswerLargeGroups) {
  const NumbersWorld world;
  Executor executor(3, "compute");
  auto environment = world.environment();
  environment.executor = &executor;
  std::vector<Query> queries;
  for (int i = 0; i < 50; ++i) {
    queries.push_back(nearest_number("dot", static_cast<float>(i % 7 - 3), 1 + i % 9));
    if (i % 3 == 0) queries.back().score_threshold = 2.0F;
  }
  const auto answers = run_queries(environment, queries).value();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same_records(answers[i], Plan(queries[i]).run(world.environment()).value());
  }
  queries[17].kind = Nearest{DenseVector{1, 2}};
  EXPECT_FALSE(run_queries(environment, queries));
}

TEST(RunQueries, AnErrorOfOneIsThatOfAll) {
  const NumbersWorld world;
  const std::vector<Query> queries = {nearest_number("dot", 1, 3), nearest_number("nosuch", 1, 3)};
  const auto failed = run_queries(world.environment(), queries);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "vector field `nosuch` does not exist");
}

}  // namespace
}  // namespace quiver::engine::testing
