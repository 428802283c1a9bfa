#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

TEST(ListStage, GivesMatchingPointsById) {
  const NumbersWorld world;
  const Query query;
  const auto filter = std::make_shared<const payload::Filter>(only_odd());
  const auto all = make_stage(NoQuery{}, {query, nullptr, 100, {}});
  const auto first = make_stage(NoQuery{}, {query, nullptr, 3, {}});
  const auto odd = make_stage(NoQuery{}, {query, filter, 3, {}});
  const auto listing = all->run(world.environment()).value();
  EXPECT_EQ(numbers_of(listing.candidates), (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(listing.is_listing);
  EXPECT_EQ(scores_of(listing), std::vector<float>(9, 1.0F));
  EXPECT_EQ(numbers_of(first->run(world.environment()).value().candidates), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers_of(odd->run(world.environment()).value().candidates), (Numbers{1, 3, 5}));
}

TEST(ListStage, TakesNoPrefetchesButTheirErrorsComeFirst) {
  const NumbersWorld world;
  const Query query;
  const auto message = [&](Result<Ranking> input) {
    const auto stage = make_stage(NoQuery{}, {query, nullptr, 3, fixed_inputs({std::move(input)})});
    const auto answer = stage->run(world.environment());
    return answer ? "none" : answer.error().message();
  };
  EXPECT_EQ(message(Ranking{}),
            "A query is needed to merge the prefetches. Can't have prefetches without defining a "
            "query.");
  EXPECT_EQ(message(fail(Code::kNotFound, "of the prefetch")), "of the prefetch");
}

}  // namespace
}  // namespace quiver::engine::testing
