#include "engine/model/planned_query.h"

#include <gtest/gtest.h>

namespace quiver::engine {
namespace {

TEST(QueryCostLimits, AreInclusive) {
  QueryCost cost;
  EXPECT_TRUE(cost.is_small());
  cost.read_bytes = QueryCost::kMaxSmallBytes;
  EXPECT_TRUE(cost.is_small());
  cost.read_bytes += 1;
  EXPECT_FALSE(cost.is_small());
  cost.read_bytes = QueryCost::kMaxSerialBytes;
  EXPECT_FALSE(cost.is_parallel());
  cost.read_bytes += 1;
  EXPECT_TRUE(cost.is_parallel());
}

}  // namespace
}  // namespace quiver::engine
