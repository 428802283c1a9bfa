#include "engine/query/stages/nearest.h"

#include <array>

#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Result<Ranking> run_nearest(const NumbersWorld& world, const Query& query,
                            FilterPtr filter = nullptr, std::vector<StagePtr> inputs = {}) {
  const auto stage = make_stage(std::get<Nearest>(query.kind),
                                {query, std::move(filter), query.limit, std::move(inputs)});
  return stage->run(world.environment());
}

TEST(NearestStage, FindsTheBestOfAllSegments) {
  const NumbersWorld world;
  const auto dot = run_nearest(world, nearest_number("dot", 2, 3)).value();
  EXPECT_EQ(numbers_of(dot.candidates), (Numbers{8, 7, 6}));
  EXPECT_EQ(scores_of(dot), (std::vector<float>{16, 14, 12}));
  EXPECT_FALSE(dot.is_listing);
  const auto far = run_nearest(world, nearest_number("far", 4, 3)).value();
  EXPECT_EQ(numbers_of(far.candidates), (Numbers{4, 3, 5}));
  EXPECT_EQ(far.metric, Metric::kEuclid);
}

TEST(NearestStage, KeepsToFilterAndThreshold) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 10);
  const auto filter = std::make_shared<const payload::Filter>(only_odd());
  EXPECT_EQ(numbers_of(run_nearest(world, query, filter).value().candidates),
            (Numbers{7, 5, 3, 1}));
  query.score_threshold = 3.0F;
  EXPECT_EQ(numbers_of(run_nearest(world, query, filter).value().candidates), (Numbers{7, 5}));
}

TEST(NearestStage, RescoresItsInputs) {
  const NumbersWorld world;
  const Ranking input{{world.candidate(2, 9), world.candidate(3, 1)}};
  const auto answer =
      run_nearest(world, nearest_number("dot", 1, 10), nullptr, fixed_inputs({input})).value();
  EXPECT_EQ(numbers_of(answer.candidates), (Numbers{3, 2}));
}

TEST(NearestStage, ChoosesDiverseHitsAmongItsCandidatesAboveTheThreshold) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 2);
  auto& mmr = std::get<Nearest>(query.kind).mmr.emplace();
  mmr.diversity = 1;  // after the best, the least similar
  EXPECT_EQ(numbers_of(run_nearest(world, query).value().candidates), (Numbers{8, 7}));
  mmr.candidates_limit = 5;
  EXPECT_EQ(numbers_of(run_nearest(world, query).value().candidates), (Numbers{8, 4}));
  query.score_threshold = 5.0F;
  EXPECT_EQ(numbers_of(run_nearest(world, query).value().candidates), (Numbers{8, 6}));
}

TEST(SearchNearest, AnswersEachQueryAsAlone) {
  const NumbersWorld world;
  const Query one = nearest_number("far", 1, 3);
  const Query other = nearest_number("far", 7, 2);
  const std::array queries = {&one, &other};
  const std::array<std::uint64_t, 2> limits = {3, 4};
  const auto rankings = search_nearest(world.environment(), queries, limits).value();
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(numbers_of(rankings[0].candidates), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers_of(rankings[1].candidates), (Numbers{7, 6, 8, 5}))
      << "the limit given, not its own";
  EXPECT_EQ(rankings[1].metric, Metric::kEuclid);
}

TEST(NamedPoints, AreThoseInPlaceOfVectors) {
  std::vector<PointId> ids;
  Nearest nearest{DenseVector{1}};
  add_named_points(nearest, ids);
  add_named_points(Rrf{}, ids);
  EXPECT_TRUE(ids.empty());
  nearest.own = PointId::number(3);
  add_named_points(nearest, ids);
  add_named_points(Nearest{PointId::number(4)}, ids);
  EXPECT_EQ(ids, (std::vector{PointId::number(3), PointId::number(4)}));
}

TEST(IsPlainNearest, IsAVectorAndNothingElse) {
  const Query plain = nearest_number("dot", 1, 3);
  EXPECT_TRUE(is_plain_nearest(plain));
  std::vector<Query> others(5, plain);
  others[0].kind = Rrf{};
  others[1].kind = Nearest{PointId::number(1)};
  std::get<Nearest>(others[2].kind).own = PointId::number(1);
  std::get<Nearest>(others[3].kind).mmr = Mmr{};
  others[4].prefetch = {plain};
  for (const auto& other : others) EXPECT_FALSE(is_plain_nearest(other));
  Query bounded = plain;
  bounded.score_threshold = 1;
  bounded.params.exact = true;
  bounded.filter = only_odd();
  EXPECT_TRUE(is_plain_nearest(bounded));
}

}  // namespace
}  // namespace quiver::engine::testing
