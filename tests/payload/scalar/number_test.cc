#include "payload/scalar/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quiver::payload {
namespace {

constexpr auto kMaxI64 = std::numeric_limits<std::int64_t>::max();
constexpr auto kMinI64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMaxU64 = std::numeric_limits<std::uint64_t>::max();

TEST(Number, ComparesWithoutRounding) {
  const std::int64_t two53 = std::int64_t{1} << 53;
  EXPECT_TRUE(compare(Number(two53 + 1), Number(std::ldexp(1.0, 53))) > 0);
  EXPECT_TRUE(compare(Number(two53), Number(std::ldexp(1.0, 53))) == 0);
  EXPECT_TRUE(compare(Number(kMaxI64), Number(std::ldexp(1.0, 63))) < 0);
  EXPECT_TRUE(compare(Number(kMinI64), Number(-std::ldexp(1.0, 63))) == 0);
  EXPECT_TRUE(compare(Number(kMaxU64), Number(std::ldexp(1.0, 64))) < 0);
  EXPECT_TRUE(compare(Number(std::int64_t{-1}), Number(kMaxU64)) < 0);
  EXPECT_TRUE(compare(Number(std::int64_t{-1}), Number(-1.5)) > 0);
  EXPECT_TRUE(compare(Number(0.0), Number(std::int64_t{0})) == 0);
  EXPECT_TRUE(compare(Number(1e300), Number(kMaxU64)) > 0);
}

/// Numbers near every edge that matters.
Number random_number(std::mt19937_64& random) {
  const std::int64_t edges[] = {0, kMaxI64, kMinI64, std::int64_t{1} << 53,
                                -(std::int64_t{1} << 53)};
  const std::int64_t edge = edges[random() % 5];
  const auto step = static_cast<std::int64_t>(random() % 5);
  switch (random() % 4) {
    case 0:
      return edge > 0 ? edge - step : edge + step;
    case 1:
      return kMaxU64 - static_cast<std::uint64_t>(step) * (random() % 2 == 0 ? 1 : kMaxU64 / 9);
    case 2:
      return static_cast<double>(edge) + static_cast<double>(step) / 2 - 1;
    default:
      return std::nextafter(static_cast<double>(edge), random() % 2 == 0 ? 1e300 : -1e300);
  }
}

TEST(Number, IntervalsHoldExactlyTheNumbersInRange) {
  std::mt19937_64 random(31);
  for (int i = 0; i < 200000; ++i) {
    Range range;
    if (random() % 2 == 0) range.gt = random_number(random);
    if (random() % 2 == 0) range.gte = random_number(random);
    if (random() % 2 == 0) range.lt = random_number(random);
    if (random() % 2 == 0) range.lte = random_number(random);
    const Number number = random_number(random);
    if (const auto* integer = std::get_if<std::int64_t>(&number)) {
      ASSERT_EQ(integers_in(range).contains(*integer), in_range(range, number)) << i;
    } else if (const auto* real = std::get_if<double>(&number)) {
      ASSERT_EQ(doubles_in(range).contains(*real), in_range(range, number)) << i;
    }
  }
}

TEST(Number, NearestDoubleKnowsWhetherItIsExact) {
  EXPECT_TRUE(nearest_double(Number(std::int64_t{1} << 53)).exact);
  EXPECT_FALSE(nearest_double(Number((std::int64_t{1} << 53) + 1)).exact);
  EXPECT_FALSE(nearest_double(Number(kMaxU64)).exact);
  EXPECT_FALSE(nearest_double(Number(kMaxI64)).exact);
  EXPECT_TRUE(nearest_double(Number(0.1)).exact);
}

}  // namespace
}  // namespace quiver::payload
