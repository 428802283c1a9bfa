#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Result<Ranking> rescored(const NumbersWorld& world, const Query& query, std::uint64_t limit,
                         std::vector<Result<Ranking>> inputs) {
  const auto& nearest = std::get<Nearest>(query.kind);
  return rescore(nearest, {query, nullptr, limit, fixed_inputs(std::move(inputs))})
      ->run(world.environment());
}

TEST(RescoreStage, ScoresTheUnionExactly) {
  const NumbersWorld world;
  const Ranking one{{world.candidate(2, 0.9F), world.candidate(6, 0.8F)}};
  const Ranking other{{world.candidate(6, 5), world.candidate(4, 4)}, Metric::kEuclid};
  const auto dot = rescored(world, nearest_number("dot", 2, 10), 10, {one, other}).value();
  EXPECT_EQ(numbers_of(dot.candidates), (Numbers{6, 4, 2}));
  EXPECT_EQ(scores_of(dot), (std::vector<float>{12, 8, 4}));
  EXPECT_EQ(dot.metric, Metric::kDot);
  const auto far = rescored(world, nearest_number("far", 5, 10), 2, {one, other}).value();
  EXPECT_EQ(numbers_of(far.candidates), (Numbers{4, 6})) << "at equal distance, by id";
  EXPECT_EQ(far.metric, Metric::kEuclid);
}

TEST(RescoreStage, LeavesOutPointsWithoutTheVector) {
  const NumbersWorld world;
  const Ranking input{{world.candidate(9, 9), world.candidate(1, 1)}};
  const auto answer = rescored(world, nearest_number("dot", 1, 10), 10, {input}).value();
  EXPECT_EQ(numbers_of(answer.candidates), Numbers{1});
}

TEST(RescoreStage, AnErrorOfAnInputComesFirst) {
  const NumbersWorld world;
  const auto failed =
      rescored(world, nearest_number("nosuch", 1, 10), 10, {fail(Code::kUnavailable, "input")});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "input");
  const auto unknown = rescored(world, nearest_number("nosuch", 1, 10), 10, {Ranking{}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::kInvalidArgument);
}

TEST(RescoreStage, StopsWhenCancelled) {
  const NumbersWorld world;
  world.cancel.cancel();
  const auto stopped =
      rescored(world, nearest_number("dot", 1, 10), 10, {Ranking{{world.candidate(1, 1)}}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
