#include "engine/query/stages/stage.h"

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

TEST(RunInputs, AnswersInOrderAndStopsAtTheFirstError) {
  const NumbersWorld world;
  const Query query;
  const Ranking one{{world.candidate(1, 1)}};
  const Ranking two{{world.candidate(2, 1), world.candidate(3, 1)}};
  const PlanNode good{query, nullptr, 10, fixed_inputs({one, two})};
  const auto rankings = run_inputs(good, world.environment()).value();
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(numbers_of(rankings[0].candidates), Numbers{1});
  EXPECT_EQ(numbers_of(rankings[1].candidates), (Numbers{2, 3}));

  const PlanNode bad{
      query, nullptr, 10,
      fixed_inputs({one, fail(Code::kNotFound, "first"), fail(Code::kInvalidArgument, "second")})};
  const auto failed = run_inputs(bad, world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "first");
}

TEST(CompileFilter, UsesTheFilterOfTheNode) {
  const NumbersWorld world;
  const Query query;
  EXPECT_EQ(compile_filter({query, nullptr, 10, {}}, world.environment()).value(), nullptr);
  const auto filter = std::make_shared<const payload::Filter>(only_odd());
  const auto predicate = compile_filter({query, filter, 10, {}}, world.environment()).value();
  ASSERT_NE(predicate, nullptr);
  EXPECT_FALSE(predicate->always_true());

  payload::Filter malformed;
  malformed.must = {payload::FieldCondition{"a[", payload::IsEmpty{}}};
  const auto unusable = std::make_shared<const payload::Filter>(malformed);
  const auto failed = compile_filter({query, unusable, 10, {}}, world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quiver::engine::testing
