#include "bench/common/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace quiver::bench {
namespace {

TEST(Statistics, ByHand) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({5}, 0.999), 5);
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 0.05), 5);
  EXPECT_EQ(percentile(values, 0.5), 50);
  EXPECT_EQ(percentile(values, 0.999), 100);
  EXPECT_DOUBLE_EQ(spread({90, 100, 120}), 0.3);
  EXPECT_EQ(spread({}), 0);
}

}  // namespace
}  // namespace quiver::bench
