#include <gtest/gtest.h>

#include "index/cost.h"

namespace quiver::index::testing {
namespace {

TEST(Cost, SpareRowsGrowWithTheHits) {
  EXPECT_EQ(cost::n_rescored(10), 16U);
  EXPECT_EQ(cost::n_rescored(100), 129U);
  EXPECT_EQ(cost::n_rescored_by_coarse_codes(10), 32U);
  for (std::size_t k = 0; k < 100; ++k) {
    EXPECT_GT(cost::n_rescored(k), k);
    EXPECT_GT(cost::n_rescored_by_coarse_codes(k), cost::n_rescored(k));
  }
}

}  // namespace
}  // namespace quiver::index::testing
