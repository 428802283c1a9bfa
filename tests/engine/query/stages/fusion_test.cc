// Fusion against values that are worked out by hand.
#include "engine/query/stages/fusion.h"

#include <cmath>

#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

using RankedLists = std::vector<std::vector<Ranked>>;

Ranked hit(std::uint64_t number, float score) { return {PointId::number(number), score}; }

void expect_ranked(const std::vector<Ranked>& found, const std::vector<Ranked>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << "hit " << i;
    EXPECT_FLOAT_EQ(found[i].score, expected[i].score) << "hit " << i;
  }
}

TEST(FuseRrf, AddsReciprocalRanks) {
  const RankedLists lists = {{hit(1, 9), hit(2, 8), hit(3, 7)}, {hit(3, 0.3F), hit(1, 0.2F)}};
  // k = 2: 1 / (rank + 2).
  expect_ranked(fuse_rrf(lists, Rrf{}),
                {hit(1, 1.0F / 2 + 1.0F / 3), hit(3, 1.0F / 4 + 1.0F / 2), hit(2, 1.0F / 3)});
  expect_ranked(fuse_rrf(lists, Rrf{60, {}}),
                {hit(1, 1.0F / 60 + 1.0F / 61), hit(3, 1.0F / 62 + 1.0F / 60), hit(2, 1.0F / 61)});
}

TEST(FuseRrf, WeighsRanks) {
  const RankedLists lists = {{hit(1, 9), hit(2, 8)}, {hit(3, 9), hit(2, 8)}};
  // A weight w divides (rank + 1): 1 / ((rank + 1) / w + 1).
  expect_ranked(fuse_rrf(lists, Rrf{2, {3, 1}}), {hit(2, 1.0F / (2.0F / 3 + 1) + 1.0F / 3),
                                                  hit(1, 1.0F / (1.0F / 3 + 1)), hit(3, 1.0F / 2)});
  expect_ranked(fuse_rrf(lists, Rrf{2, {1, 0}}), {hit(1, 1.0F / 2), hit(2, 1.0F / 3), hit(3, 0)});
}

TEST(FuseRrf, EqualScoresAreOrderedById) {
  expect_ranked(fuse_rrf(RankedLists{{hit(7, 1)}, {hit(4, 1)}}, Rrf{}),
                {hit(4, 1.0F / 2), hit(7, 1.0F / 2)});
  EXPECT_TRUE(fuse_rrf(RankedLists{{}, {}}, Rrf{}).empty());
}

TEST(FuseDbsf, MapsThreeDeviationsToOneHalf) {
  // Mean 2, sample standard deviation 1: (score - (2 - 3)) / 6.
  expect_ranked(fuse_dbsf(RankedLists{{hit(1, 3), hit(2, 2), hit(3, 1)}}),
                {hit(1, 4.0F / 6), hit(2, 3.0F / 6), hit(3, 2.0F / 6)});
}

TEST(FuseDbsf, ListsWithoutSpreadAreWorthOneHalf) {
  const RankedLists lists = {{hit(1, 5)}, {hit(2, 4), hit(1, 4)}, {}};
  expect_ranked(fuse_dbsf(lists), {hit(1, 1), hit(2, 0.5F)});
}

TEST(FuseDbsf, DoesNotClamp) {
  std::vector<Ranked> list;
  for (std::uint64_t i = 1; i <= 20; ++i) list.push_back(hit(i, i == 1 ? 1000.0F : 1.0F));
  EXPECT_GT(fuse_dbsf(RankedLists{list}).front().score, 1);
}

TEST(FusionStage, NegatesDistancesAndCutsAtItsLimit) {
  const NumbersWorld world;
  const Ranking near{{world.candidate(1, -1), world.candidate(2, -4), world.candidate(3, -9)},
                     Metric::kEuclid};
  Query query;
  query.kind = Dbsf{};
  const auto stage =
      make_stage(std::get<Dbsf>(query.kind), {query, nullptr, 2, fixed_inputs({near})});
  const auto ranking = stage->run(world.environment()).value();
  EXPECT_TRUE(ranking.is_fused);
  EXPECT_EQ(ranking.metric, Metric::kDot) << "scores are shown as they are";
  EXPECT_EQ(numbers_of(ranking.candidates), (Numbers{1, 2}));
  EXPECT_NE(ranking.candidates[0].segment, nullptr);
  // Of -1, -2, -3.
  EXPECT_FLOAT_EQ(ranking.candidates[0].score, 4.0F / 6);
}

TEST(FusionStage, NeedsPrefetchesAndAWeightForEach) {
  const NumbersWorld world;
  Query query;
  query.kind = Rrf{2, {1}};
  const auto& rrf = std::get<Rrf>(query.kind);
  const auto without = make_stage(rrf, {query, nullptr, 2, {}})->run(world.environment());
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message(), "Fusion queries need at least one prefetch to fuse.");
  const auto two = make_stage(rrf, {query, nullptr, 2, fixed_inputs({Ranking{}, Ranking{}})});
  const auto failed = two->run(world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(failed.error().message(), "rrf has 1 weights for 2 prefetches, must be one for each");
}

TEST(FusionStage, HasNoFieldOfItsOwn) {
  const NumbersWorld world;
  Query query;
  query.kind = Rrf{};
  query.using_field = "dot";
  const auto& rrf = std::get<Rrf>(query.kind);
  const auto failed =
      make_stage(rrf, {query, nullptr, 2, fixed_inputs({Ranking{}})})->run(world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "Fusion queries cannot be combined with the 'using' field.");
  const auto input =
      make_stage(rrf, {query, nullptr, 2, fixed_inputs({fail(Code::kNotFound, "x")})})
          ->run(world.environment());
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().message(), "x") << "errors of prefetches come first";
}

}  // namespace
}  // namespace quiver::engine::testing
