// Plans follow the tree of the query: filters go down, limits and offsets stay where they belong.
#include "engine/query/plan.h"

#include <limits>

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Numbers answer_of(const NumbersWorld& world, const Query& query) {
  return numbers_of(Plan(query).run(world.environment()).value());
}

Query with_prefetches(QueryKind kind, std::vector<Query> prefetches) {
  Query query;
  query.kind = std::move(kind);
  query.prefetch = std::move(prefetches);
  return query;
}

TEST(PlanOf, APlainQuery) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 3);
  EXPECT_EQ(answer_of(world, query), (Numbers{8, 7, 6}));
  query.offset = 2;
  EXPECT_EQ(answer_of(world, query), (Numbers{6, 5, 4}));
  query.offset = 7;
  EXPECT_EQ(answer_of(world, query), Numbers{1});
  query.offset = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(answer_of(world, query), Numbers{});
}

TEST(PlanOf, EachKindWithoutPrefetches) {
  const NumbersWorld world;
  OrderBy order;
  order.key = "n";
  order.start_from = std::int64_t{7};
  EXPECT_EQ(answer_of(world, with_prefetches(NoQuery{}, {})).size(), 9U);
  EXPECT_EQ(answer_of(world, with_prefetches(order, {})), (Numbers{7, 8, 9}));
  EXPECT_EQ(answer_of(world, with_prefetches(Sample{}, {})).size(), 9U);
  EXPECT_FALSE(Plan(with_prefetches(Rrf{}, {})).run(world.environment()));
  EXPECT_FALSE(Plan(with_prefetches(Dbsf{}, {})).run(world.environment()));
}

TEST(PlanOf, FiltersHoldForAllBelow) {
  const NumbersWorld world;
  Query query = with_prefetches(Rrf{}, {nearest_number("dot", 1, 3), nearest_number("far", 1, 2)});
  EXPECT_EQ(answer_of(world, query), (Numbers{1, 8, 2, 7, 6}));
  query.filter = only_odd();
  EXPECT_EQ(answer_of(world, query), (Numbers{3, 1, 7, 5})) << "7 5 3 and 1 3";
  payload::Filter not_seven;
  not_seven.must_not = {payload::HasId{{PointId::number(7)}}};
  query.prefetch[0].filter = not_seven;
  EXPECT_EQ(answer_of(world, query), (Numbers{1, 3, 5})) << "5 3 1 and 1 3";
}

TEST(PlanOf, NestedPrefetches) {
  const NumbersWorld world;
  Query inner = nearest_number("far", 8, 2);
  inner.prefetch = {nearest_number("dot", 1, 5)};  // 8 7 6 5 4, of which 8 7
  Query outer = nearest_number("dot", -1, 10);
  outer.prefetch = {inner, nearest_number("far", 1, 1)};
  outer.prefetch[0].offset = 5;  // ignored below the root
  EXPECT_EQ(answer_of(world, outer), (Numbers{1, 7, 8}));
  outer.offset = 1;
  EXPECT_EQ(answer_of(world, outer), (Numbers{7, 8}));
}

TEST(PlanOf, NamedPointsAreNoHitsAnywhere) {
  const NumbersWorld world;
  Query by_point;
  by_point.kind = Nearest{PointId::number(8)};
  by_point.using_field = "far";
  by_point.limit = 2;
  EXPECT_EQ(answer_of(world, by_point), (Numbers{7, 6}));
  Query fused = with_prefetches(Dbsf{}, {by_point, nearest_number("dot", 1, 2)});
  EXPECT_EQ(answer_of(world, fused), (Numbers{7, 6})) << "not even where another part finds it";
}

TEST(PlanOf, ThresholdsOfEveryKind) {
  const NumbersWorld world;
  OrderBy order;
  order.key = "n";
  const std::vector<Query> prefetches = {nearest_number("dot", 1, 3)};
  for (const QueryKind& kind :
       std::vector<QueryKind>{NoQuery{}, Nearest{DenseVector{1}}, order, Sample{}}) {
    Query query = with_prefetches(kind, {});
    query.using_field = "dot";
    query.score_threshold = 1'000.0F;
    EXPECT_EQ(answer_of(world, query), Numbers{}) << kind.index();
  }
  for (const QueryKind& kind : std::vector<QueryKind>{Rrf{}, Dbsf{}}) {
    Query query = with_prefetches(kind, prefetches);
    const auto all = Plan(query).run(world.environment()).value();
    ASSERT_EQ(all.size(), 3U);
    query.score_threshold = all[1].score;
    EXPECT_EQ(answer_of(world, query), (Numbers{8, 7})) << "an equal score is enough";
  }
}

TEST(PlanOf, RankKeepsTheOffset) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 2);
  query.offset = 3;
  const Plan plan(query);
  const auto ranking = plan.rank(world.environment()).value();
  EXPECT_EQ(numbers_of(ranking.candidates), (Numbers{8, 7, 6, 5, 4}));
  EXPECT_EQ(numbers_of(plan.run(world.environment()).value()), (Numbers{5, 4}));
}

TEST(NRanked, DoesNotOverflow) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  Query query = nearest_number("dot", 1, 3);
  query.offset = 4;
  EXPECT_EQ(n_ranked(query), 7U);
  query.limit = kMax - 2;
  EXPECT_EQ(n_ranked(query), kMax);
}

TEST(RecordsOf, ShowWhatIsAskedFor) {
  const NumbersWorld world;
  Query query = nearest_number("far", 1, 1);
  query.offset = 1;
  auto record = Plan(query).run(world.environment()).value().at(0);
  EXPECT_EQ(record.id, PointId::number(2));
  EXPECT_EQ(record.version, Seq{2});
  EXPECT_EQ(record.score, 1) << "a distance";
  EXPECT_FALSE(record.payload);
  EXPECT_FALSE(record.vectors);
  query.with_payload = payload::Selector::all();
  query.with_vector.names = {"dot"};
  record = Plan(query).run(world.environment()).value().at(0);
  EXPECT_EQ(record.payload, R"({"n":2,"odd":0})");
  ASSERT_EQ(record.vectors->size(), 1U);
  EXPECT_EQ(record.vectors->at(0).value, VectorValue(DenseVector{2}));
  query.with_vector.names = {"nosuch"};
  EXPECT_FALSE(Plan(query).run(world.environment()));
}

TEST(RecordsOf, ListingsHaveVersionZero) {
  const NumbersWorld world;
  const Query query;
  const auto records = Plan(query).run(world.environment()).value();
  ASSERT_EQ(records.size(), 9U);
  for (const auto& record : records) EXPECT_EQ(record.version, Seq{0});
}

TEST(RecordsOf, ARedrawnRankingHasNoOffset) {
  const NumbersWorld world;
  Query query;
  query.offset = 2;
  query.limit = 2;
  Ranking ranking{{world.candidate(1, 4), world.candidate(2, 3), world.candidate(3, 2)}};
  EXPECT_EQ(numbers_of(records_of(world.environment(), query, ranking).value()), Numbers{3});
  ranking.is_redrawn = true;
  EXPECT_EQ(numbers_of(records_of(world.environment(), query, ranking).value()), (Numbers{1, 2}));
}

}  // namespace
}  // namespace quiver::engine::testing
