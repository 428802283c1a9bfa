#include "base/schema.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

TEST(Schema, BytesPerValue) {
  EXPECT_EQ(bytes_per_value(DType::kF32), 4U);
  EXPECT_EQ(bytes_per_value(DType::kF16), 2U);
  EXPECT_EQ(bytes_per_value(DType::kU8), 1U);
}

TEST(Schema, DistancesAreEuclidAndManhattan) {
  EXPECT_TRUE(is_distance(Metric::kEuclid));
  EXPECT_TRUE(is_distance(Metric::kManhattan));
  EXPECT_FALSE(is_distance(Metric::kDot));
  EXPECT_FALSE(is_distance(Metric::kCosine));
}

}  // namespace
}  // namespace quiver
