#include "base/schema.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

TEST(Schema, BytesPerValue) {
  EXPECT_EQ(bytes_per_value(DType::kF32), 4U);
  EXPECT_EQ(bytes_per_value(DType::kF16), 2U);
  EXPECT_EQ(bytes_per_value(DType::kBf16), 2U);
  EXPECT_EQ(bytes_per_value(DType::kU8), 1U);
}

TEST(Schema, BytesOfAVector) {
  EXPECT_EQ(vector_bytes(7, DType::kF32), 28U);
  EXPECT_EQ(vector_bytes(7, DType::kF16), 14U);
  EXPECT_EQ(vector_bytes(7, DType::kU8), 7U);
  EXPECT_EQ(vector_bytes(7, DType::kBf16), 14U);
  EXPECT_EQ(vector_bytes(8, DType::kBinary), 1U);
  EXPECT_EQ(vector_bytes(9, DType::kBinary), 2U);
  EXPECT_EQ(vector_bytes(7, DType::kE4m3), 7U);
  EXPECT_EQ(vector_bytes(7, DType::kE5m2), 7U);
  EXPECT_EQ(vector_bytes(7, DType::kI8), 11U);     // a scale too
  EXPECT_EQ(vector_bytes(7, DType::kTurbo4), 8U);  // a scale of 4 bytes, and 7 half bytes
  EXPECT_EQ(vector_bytes(7, DType::kTurbo8), 11U);
  EXPECT_EQ(vector_bytes(7, DType::kTurbo16), 18U);
  EXPECT_EQ(vector_bytes(65536, DType::kTurbo4), 32772U);
}

TEST(Schema, DistancesAreEuclidAndManhattan) {
  EXPECT_TRUE(is_distance(Metric::kEuclid));
  EXPECT_TRUE(is_distance(Metric::kManhattan));
  EXPECT_FALSE(is_distance(Metric::kDot));
  EXPECT_FALSE(is_distance(Metric::kCosine));
}

}  // namespace
}  // namespace quiver
