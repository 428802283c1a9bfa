#include <gtest/gtest.h>

#include "index/stored_rows.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

TEST(StoredRows, EveryTypeBecomesFloats) {
  float out[2];
  const float f32[] = {1.5F, -2};
  to_floats(reinterpret_cast<const std::byte*>(f32), DType::kF32, 2, out);
  EXPECT_EQ(out[1], -2);
  const std::uint16_t f16[] = {0x3C00, 0xC000};
  to_floats(reinterpret_cast<const std::byte*>(f16), DType::kF16, 2, out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], -2);
  const std::uint8_t u8[] = {0, 255};
  to_floats(reinterpret_cast<const std::byte*>(u8), DType::kU8, 2, out);
  EXPECT_EQ(out[1], 255);
}

TEST(StoredRows, AreScaledUnlessTheyAreZero) {
  float vector[] = {3, 4};
  to_unit_length(vector, 2);
  EXPECT_FLOAT_EQ(vector[0], 0.6F);
  EXPECT_FLOAT_EQ(vector[1], 0.8F);
  float zero[] = {0, 0};
  to_unit_length(zero, 2);
  EXPECT_EQ(zero[0], 0);
}

TEST(StoredRows, PresentOnesAreListed) {
  const FieldSchema schema{"", FieldKind::kDense, 1, DType::kF32, Metric::kDot, {}};
  const PlainVector one{{1}, {}};
  EXPECT_EQ(list_present_rows(make_column(schema, {one, std::nullopt, one})),
            (std::vector<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace quiver::index::testing
