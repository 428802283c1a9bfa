#include "payload/scalar/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace quiver::payload {
namespace {

constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();

Number sum_of(const std::vector<Number>& numbers) {
  ExactSum sum;
  for (const Number& number : numbers) sum.add(number);
  return sum.sum();
}

/// J. Shewchuk, "Adaptive Precision Floating-Point Arithmetic" (1997): a sum as doubles that do not
/// overlap, ascending, rounded at the end with a correction for ties (as Python's `math.fsum`).
double sum_by_expansion(const std::vector<double>& values) {
  std::vector<double> parts;
  for (double x : values) {
    std::size_t n = 0;
    for (double y : parts) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y;
      const double low = y - (high - x);
      if (low != 0) parts[n++] = low;
      x = high;
    }
    parts.resize(n);
    parts.push_back(x);
  }
  if (parts.empty()) return 0;
  std::size_t i = parts.size() - 1;
  double high = parts[i];
  double low = 0;
  while (i > 0 && low == 0) {
    const double before = high;
    const double next = parts[--i];
    high = before + next;
    low = next - (high - before);
  }
  if (i > 0 && ((low < 0 && parts[i - 1] < 0) || (low > 0 && parts[i - 1] > 0))) {
    const double twice = low * 2;
    if (high + twice - high == twice) high += twice;
  }
  return high;
}

double as_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

TEST(ExactSum, OfIntegersIsAnInteger) {
  EXPECT_EQ(sum_of({}), Number(std::int64_t{0}));
  EXPECT_EQ(sum_of({std::int64_t{1}, std::int64_t{-3}}), Number(std::int64_t{-2}));
  EXPECT_EQ(sum_of({1.5, 2.5}), Number(std::int64_t{4}));
  EXPECT_EQ(sum_of({kLeast}), Number(static_cast<double>(kLeast)));
  EXPECT_EQ(sum_of({kLeast, std::int64_t{1}}), Number(kLeast + 1));
  EXPECT_EQ(sum_of({kGreatest, std::int64_t{1}}), Number(std::uint64_t{1} << 63));
  EXPECT_EQ(sum_of({std::numeric_limits<std::uint64_t>::max()}),
            Number(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(sum_of({std::numeric_limits<std::uint64_t>::max(), std::int64_t{1}}),
            Number(18446744073709551616.0));
}

TEST(ExactSum, LosesNothing) {
  EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), Number(std::int64_t{1}));
  EXPECT_EQ(sum_of({0.1, 0.2, -0.3}), Number(0x1p-55));
  EXPECT_EQ(sum_of({kMaxDouble, kMaxDouble, -kMaxDouble}), Number(kMaxDouble));
  EXPECT_TRUE(std::isinf(as_double(sum_of({kMaxDouble, kMaxDouble}))));
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(sum_of({least, least}), Number(2 * least));
  EXPECT_EQ(sum_of({1.0, least, -1.0}), Number(least));
  EXPECT_EQ(sum_of({-1.0, -least, 1.0}), Number(-least));
}

TEST(ExactSum, RoundsToEvenOnTies) {
  constexpr double kTwo53 = 9007199254740992.0;
  EXPECT_EQ(sum_of({kTwo53, 0.5, 0.5}), Number(std::int64_t{9007199254740993}));
  EXPECT_EQ(sum_of({kTwo53, 1.0, 0.25}), Number(kTwo53 + 2)) << "above the tie";
  EXPECT_EQ(sum_of({1.0, 0x1p-53}), Number(1.0)) << "to the even one";
  EXPECT_EQ(sum_of({1.0, 0x1p-53, 0x1p-200}), Number(1.0 + 0x1p-52));
  EXPECT_EQ(sum_of({1.0 + 0x1p-52, 0x1p-53}), Number(1.0 + 0x1p-51));
}

TEST(ExactSum, IsTheNearestDoubleInEveryOrder) {
  constexpr std::uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    const int spread = 1 + static_cast<int>(random() % 1000);
    for (std::uint64_t i = random() % 60; i > 0; --i) {
      const double mantissa = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
      values.push_back(std::ldexp(mantissa, static_cast<int>(random() % spread) - spread / 2));
      if (random() % 4 == 0) values.push_back(-values[random() % values.size()]);
    }
    const double expected = sum_by_expansion(values);
    std::vector<Number> numbers(values.begin(), values.end());
    for (int order = 0; order < 3; ++order) {
      EXPECT_EQ(as_double(sum_of(numbers)), expected) << "seed " << kSeed << " round " << round;
      std::shuffle(numbers.begin(), numbers.end(), random);
    }
  }
}

TEST(ExactSum, AddsANumberManyTimes) {
  ExactSum once;
  ExactSum many;
  for (int i = 0; i < 1000; ++i) once.add(-0.1);
  many.add(-0.1, 1000);
  EXPECT_EQ(once.sum(), many.sum());
  ExactSum most;
  most.add(kMaxDouble, 0xFFFFFFFF);
  most.add(-kMaxDouble, 0xFFFFFFFE);
  EXPECT_EQ(most.sum(), Number(kMaxDouble));
}

}  // namespace
}  // namespace quiver::payload
