// Queries answered together get the answers that each gets alone.
#include "engine/query/shared_pass.h"

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

TEST(AreSearchedAlike, IsOneFieldWithTheSameParameters) {
  const Query plain = nearest_number("dot", 1, 3);
  Query other = nearest_number("dot", 7, 9);
  other.offset = 2;
  other.score_threshold = 1.0F;
  other.with_payload = payload::Selector::all();
  EXPECT_TRUE(are_searched_alike(plain, other));
  EXPECT_FALSE(are_searched_alike(plain, nearest_number("far", 1, 3)));
  Query exact = plain;
  exact.params.exact = true;
  EXPECT_FALSE(are_searched_alike(plain, exact));
  // The effort that reaches a recall depends on the number of hits.
  Query by_recall = plain;
  by_recall.params.target.mean = 0.9;
  Query more = by_recall;
  EXPECT_TRUE(are_searched_alike(by_recall, more));
  more.limit += 1;
  EXPECT_FALSE(are_searched_alike(by_recall, more));
  Query filtered = plain;
  filtered.filter = only_odd();
  EXPECT_FALSE(are_searched_alike(plain, filtered));
  EXPECT_FALSE(are_searched_alike(filtered, filtered));
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
