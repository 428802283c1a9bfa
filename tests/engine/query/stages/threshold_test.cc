#include "engine/query/stages/threshold.h"

#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Numbers above_threshold(const Ranking& ranking, std::optional<float> threshold) {
  Query query;
  query.score_threshold = threshold;
  Ranking rest = ranking;
  apply_threshold(query, rest);
  return numbers_of(rest.candidates);
}

TEST(Threshold, IsStrictButForFusions) {
  const NumbersWorld world;
  Ranking ranking{{world.candidate(3, 3), world.candidate(2, 2), world.candidate(1, 1)}};
  EXPECT_EQ(above_threshold(ranking, 2.0F), Numbers{3});
  EXPECT_EQ(above_threshold(ranking, std::nullopt), (Numbers{3, 2, 1}));
  ranking.is_fused = true;
  EXPECT_EQ(above_threshold(ranking, 2.0F), (Numbers{3, 2}));
}

TEST(Threshold, IsTheGreatestDistance) {
  const NumbersWorld world;
  const Ranking euclid{{world.candidate(1, -1), world.candidate(2, -4), world.candidate(3, -9)},
                       Metric::kEuclid};
  EXPECT_EQ(above_threshold(euclid, 2.0F), Numbers{1}) << "distances are shown as roots";
  EXPECT_EQ(above_threshold(euclid, 2.5F), (Numbers{1, 2}));
}

TEST(Threshold, AStageIsAddedWhereThereIsOne) {
  const NumbersWorld world;
  const Ranking ranking{{world.candidate(3, 3), world.candidate(1, 1)}};
  Query query;
  auto input = fixed(ranking);
  const auto* same = input.get();
  auto without = with_threshold(query, std::move(input));
  EXPECT_EQ(without.get(), same);
  query.score_threshold = 1.0F;
  const auto with = with_threshold(query, std::move(without));
  EXPECT_EQ(numbers_of(with->run(world.environment()).value().candidates), Numbers{3});
  const auto failing = with_threshold(query, fixed(fail(Code::kNotFound, "no")));
  EXPECT_FALSE(failing->run(world.environment()));
}

}  // namespace
}  // namespace quiver::engine::testing
