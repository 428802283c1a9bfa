#include <algorithm>
#include <limits>
#include <set>

#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Numbers sorted_numbers(const Ranking& ranking) {
  auto numbers = numbers_of(ranking.candidates);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(SampleStage, DrawsMatchingPointsOnceEach) {
  const NumbersWorld world;
  const Query query;
  const auto filter = std::make_shared<const payload::Filter>(only_odd());
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const auto all = make_stage(Sample{}, {query, nullptr, kAll, {}});
  const auto sample = all->run(world.environment()).value();
  EXPECT_EQ(sorted_numbers(sample), (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(sample.is_listing);
  EXPECT_TRUE(sample.is_redrawn);
  const auto odd = make_stage(Sample{}, {query, filter, 100, {}});
  EXPECT_EQ(sorted_numbers(odd->run(world.environment()).value()), (Numbers{1, 3, 5, 7}));
}

TEST(SampleStage, DrawsEveryPointNowAndThen) {
  const NumbersWorld world;
  const Query query;
  const auto stage = make_stage(Sample{}, {query, nullptr, 2, {}});
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 400; ++i) {  // a point is missed by all with a probability below 1e-43
    const auto numbers = sorted_numbers(stage->run(world.environment()).value());
    ASSERT_EQ(numbers.size(), 2U);
    ASSERT_NE(numbers[0], numbers[1]);
    seen.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(seen.size(), 9U);
}

TEST(SampleStage, OfInputsIsAListThatAnOffsetCuts) {
  const NumbersWorld world;
  const Query query;
  const Ranking one{{world.candidate(2, 9), world.candidate(3, 8)}, Metric::kEuclid};
  const Ranking other{{world.candidate(3, 7)}};
  const auto stage = make_stage(Sample{}, {query, nullptr, 10, fixed_inputs({one, other})});
  const auto sample = stage->run(world.environment()).value();
  EXPECT_EQ(sorted_numbers(sample), (Numbers{2, 3}));
  EXPECT_EQ(scores_of(sample), std::vector<float>(2, 1.0F));
  EXPECT_EQ(sample.metric, Metric::kDot);
  EXPECT_FALSE(sample.is_redrawn);
}

}  // namespace
}  // namespace quiver::engine::testing
