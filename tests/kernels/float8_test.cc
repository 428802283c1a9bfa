#include "kernels/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace quiver::testing {
namespace {

/// Value of a finite code, by definition.
template <class Format>
double value_of(unsigned code) {
  const int exponent = static_cast<int>(code & 0x7f) >> Format::kMantissaBits;
  const int one = 1 << Format::kMantissaBits;
  const int mantissa = static_cast<int>(code) % one;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - Format::kBias - Format::kMantissaBits)
                    : std::ldexp(one + mantissa, exponent - Format::kBias - Format::kMantissaBits);
  return code & 0x80 ? -magnitude : magnitude;
}

template <class Format>
class Float8Test : public ::testing::Test {};
using Formats = ::testing::Types<E4m3, E5m2>;
TYPED_TEST_SUITE(Float8Test, Formats);

TYPED_TEST(Float8Test, EveryCodeHasItsValueAndComesBack) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    if ((code & 0x7f) > TypeParam::kLargestBits) continue;
    EXPECT_EQ(from_float8<TypeParam>(byte), value_of<TypeParam>(code)) << code;
    EXPECT_EQ(to_float8<TypeParam>(from_float8<TypeParam>(byte)), byte) << code;
  }
  EXPECT_EQ(from_float8<TypeParam>(TypeParam::kLargestBits), TypeParam::kLargest);
}

TYPED_TEST(Float8Test, RoundsToNearestEven) {
  for (unsigned code = 0; code < TypeParam::kLargestBits; ++code) {
    const double low = value_of<TypeParam>(code);
    const double high = value_of<TypeParam>(code + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact
    const auto even = static_cast<std::uint8_t>(code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(to_float8<TypeParam>(middle), even) << code;
    EXPECT_EQ(to_float8<TypeParam>(-middle), even | 0x80) << code;
    EXPECT_EQ(to_float8<TypeParam>(std::nextafter(middle, 0.0f)), code) << code;
    EXPECT_EQ(to_float8<TypeParam>(std::nextafter(middle, 1e9f)), code + 1) << code;
  }
}

TYPED_TEST(Float8Test, Saturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float value : {TypeParam::kLargest * 1.01f, 1e9f, 3e38f, infinity}) {
    EXPECT_EQ(to_float8<TypeParam>(value), TypeParam::kLargestBits) << value;
    EXPECT_EQ(to_float8<TypeParam>(-value), TypeParam::kLargestBits | 0x80) << value;
  }
  EXPECT_EQ(to_float8<TypeParam>(1e-30f), 0);
  EXPECT_EQ(to_float8<TypeParam>(-1e-30f), 0x80);
  EXPECT_EQ(to_float8<TypeParam>(std::numeric_limits<float>::denorm_min()), 0);
}

TYPED_TEST(Float8Test, NanStaysNan) {
  const std::uint8_t code = to_float8<TypeParam>(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(code & 0x7f, TypeParam::kNan);
  EXPECT_TRUE(std::isnan(from_float8<TypeParam>(code)));
}

TEST(Float8, TheOtherSpecialValues) {
  EXPECT_EQ(from_float8<E5m2>(0x7c), std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_float8<E5m2>(0xfc), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_float8<E5m2>(0x7d)));
  EXPECT_EQ(E4m3::kLargest, 448.0f);
}

}  // namespace
}  // namespace quiver::testing
