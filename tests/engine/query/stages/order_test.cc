#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

OrderBy descending_by(const std::string& key) {
  OrderBy order;
  order.key = key;
  order.descending = true;
  return order;
}

TEST(OrderStage, OrdersTheRowsOfTheSnapshotThatMatch) {
  const NumbersWorld world;
  const Query query;
  const OrderBy order = descending_by("n");
  const auto filter = std::make_shared<const payload::Filter>(only_odd());
  const auto all = make_stage(order, {query, nullptr, 3, {}})->run(world.environment()).value();
  EXPECT_EQ(numbers_of(all.candidates), (Numbers{9, 8, 7}));
  EXPECT_TRUE(all.is_listing);
  EXPECT_EQ(all.candidates[0].order_value, OrderValue(std::int64_t{9}));
  EXPECT_EQ(scores_of(all), std::vector<float>(3, 1.0F));
  const auto odd = make_stage(order, {query, filter, 3, {}})->run(world.environment()).value();
  EXPECT_EQ(numbers_of(odd.candidates), (Numbers{7, 5, 3}));
}

TEST(OrderStage, OrdersWhatItsInputsFound) {
  const NumbersWorld world;
  const Query query;
  const OrderBy order = descending_by("n");
  const Ranking one{{world.candidate(2, 9), world.candidate(3, 8)}};
  const Ranking other{{world.candidate(3, 7), world.candidate(7, 6)}};
  const auto stage = make_stage(order, {query, nullptr, 10, fixed_inputs({one, other})});
  EXPECT_EQ(numbers_of(stage->run(world.environment()).value().candidates), (Numbers{7, 3, 2}));
}

TEST(OrderStage, NeedsAnIndex) {
  const NumbersWorld world;
  const Query query;
  const OrderBy order = descending_by("odd");
  const auto failed = make_stage(order, {query, nullptr, 3, {}})->run(world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quiver::engine::testing
