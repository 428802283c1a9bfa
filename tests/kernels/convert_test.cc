#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/float8.h"
#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240505;

using ConvertTest = KernelTest;
QV_EVERY_LEVEL(ConvertTest);

const KernelTable& generic() { return *available().back(); }

TEST_P(ConvertTest, EveryHalf) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> floats(halves.size());
  k().convert.f16_to_f32(halves.data(), halves.size(), floats.data());
  std::vector<std::uint16_t> back(halves.size());
  EXPECT_EQ(k().convert.f32_to_f16(floats.data(), floats.size(), back.data()), 0u);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const double want = half_value(halves[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(floats[i])) << i;
      ASSERT_EQ(back[i], halves[i] | 0x200) << "NaN is made quiet";
    } else {
      ASSERT_EQ(floats[i], want) << i;
      ASSERT_EQ(back[i], halves[i]);
    }
  }
}

// Around every rounding boundary: exactly between two halves, and a float to either side.
TEST_P(ConvertTest, RoundsToNearestEven) {
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const double low = half_value(half);
    const double high = half_value(static_cast<std::uint16_t>(half + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const float in[] = {std::nextafterf(middle, 0.0f), middle, std::nextafterf(middle, 1e9f),
                        -middle};
    std::uint16_t out[4];
    ASSERT_EQ(k().convert.f32_to_f16(in, 4, out), 0u);
    const std::uint16_t even = static_cast<std::uint16_t>(half + (half & 1));
    ASSERT_EQ(out[0], half);
    ASSERT_EQ(out[1], even);
    ASSERT_EQ(out[2], half + 1);
    ASSERT_EQ(out[3], even | 0x8000);
  }
}

TEST_P(ConvertTest, OverflowIsCounted) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> pattern = {65504.0f, 65519.99f, 65520.0f,   -65520.0f,
                                      1e30f,    kInfinity, -kInfinity, std::nanf(""),
                                      -3e38f,   1.0f,      0.0f};
  for (std::size_t n = 0; n <= pattern.size(); ++n) {
    std::size_t want = 0;
    for (std::size_t i = 0; i < n; ++i)
      want += std::isfinite(pattern[i]) && std::abs(pattern[i]) >= 65520.0f;
    std::vector<std::uint16_t> out(n);
    EXPECT_EQ(k().convert.f32_to_f16(pattern.data(), n, out.data()), want) << n;
    if (n > 2) {
      EXPECT_EQ(out[1], 0x7bff);
      EXPECT_EQ(out[2], 0x7c00);
    }
  }
}

TEST_P(ConvertTest, RandomBitsEqualGeneric) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    std::vector<float> in(n);
    for (float& value : in) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    std::vector<std::uint16_t> got(n), want(n);
    EXPECT_EQ(k().convert.f32_to_f16(in.data(), n, got.data()),
              generic().convert.f32_to_f16(in.data(), n, want.data()));
    ASSERT_EQ(got, want) << "seed " << kSeed;
    std::vector<float> got_back(n), want_back(n);
    k().convert.f16_to_f32(got.data(), n, got_back.data());
    generic().convert.f16_to_f32(want.data(), n, want_back.data());
    ASSERT_TRUE(n == 0 || std::memcmp(got_back.data(), want_back.data(), n * 4) == 0);
  }
}

TEST_P(ConvertTest, Bytes) {
  for (std::size_t n = 0; n <= 256; ++n) {
    std::vector<std::uint8_t> in(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::uint8_t>(255 - i);
    std::vector<float> out(n);
    k().convert.u8_to_f32(in.data(), n, out.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], static_cast<float>(in[i]));
  }
}

TEST_P(ConvertTest, NumbersThatAreBytes) {
  std::mt19937 random(kSeed);
  const float unfit[] = {-1,
                         256,
                         0.5F,
                         -0.25F,
                         254.9999F,
                         1e10F,
                         -1e10F,
                         -2147483648.0F,
                         2147483648.0F,
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t n = 0; n <= 300; ++n) {
    std::vector<float> in(n);
    std::vector<std::uint8_t> want(n + 1, 0);
    std::size_t n_unfit = 0;
    for (std::size_t i = 0; i < n; ++i) {
      want[i] = static_cast<std::uint8_t>(random());
      in[i] = want[i] == 0 && random() % 2 == 0 ? -0.0F : static_cast<float>(want[i]);
      if (random() % 5 != 0) continue;
      in[i] = unfit[random() % std::size(unfit)];
      want[i] = 0;
      ++n_unfit;
    }
    want[n] = 77;
    std::vector<std::uint8_t> got(n + 1, 77);
    ASSERT_EQ(k().convert.f32_to_u8(in.data(), n, got.data()), n_unfit) << "seed " << kSeed;
    ASSERT_EQ(got, want) << "seed " << kSeed;
  }
}

TEST_P(ConvertTest, SignedBytesTimesAScale) {
  for (std::size_t n = 0; n <= 256; ++n) {
    std::vector<std::int8_t> in(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::int8_t>(127 - static_cast<int>(i));
    std::vector<float> out(n + 1, 7.0f);
    k().convert.i8_to_f32(in.data(), n, 0.3f, out.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], static_cast<float>(in[i]) * 0.3f);
    ASSERT_EQ(out[n], 7.0f) << "written beyond the end";
  }
}

template <class Format>
void check_float8(void (*convert)(const std::uint8_t*, std::size_t, float*)) {
  for (std::size_t n = 0; n <= 256; ++n) {
    std::vector<std::uint8_t> in(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::uint8_t>(255 - i);
    std::vector<float> out(n + 1, 7.0f);
    convert(in.data(), n, out.data());
    for (std::size_t i = 0; i < n; ++i) {
      const float want = from_float8<Format>(in[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(out[i])) << int{in[i]};
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(want))
            << int{in[i]};
      }
    }
    ASSERT_EQ(out[n], 7.0f) << "written beyond the end";
  }
}

TEST_P(ConvertTest, EveryFloat8) {
  check_float8<E4m3>(k().convert.e4m3_to_f32);
  check_float8<E5m2>(k().convert.e5m2_to_f32);
}

TEST_P(ConvertTest, BitsAreSigns) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    std::vector<std::uint8_t> in((n + 7) / 8);
    for (auto& byte : in) byte = static_cast<std::uint8_t>(random());
    std::vector<float> out(n + 1, 7.0f);
    k().convert.bits_to_f32(in.data(), n, out.data());
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_set = (in[i / 8] & (1 << (i % 8))) != 0;
      ASSERT_EQ(out[i], is_set ? 1.0f : -1.0f) << i << ", seed " << kSeed;
    }
    ASSERT_EQ(out[n], 7.0f) << "written beyond the end";
  }
}

/// The nearer of the two neighbours, or the even one if both are equally near.
std::uint16_t slow_bf16(float value) {
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  if (std::isinf(value)) return below;
  const auto above = static_cast<std::uint16_t>(below + 1);
  const double low = std::abs(double{value} - bf16_value(below));
  // Infinity counts as the next power of two here.
  const double next =
      std::isinf(bf16_value(above)) ? std::copysign(0x1p128, value) : bf16_value(above);
  const double high = std::abs(double{value} - next);
  return low < high || (low == high && below % 2 == 0) ? below : above;
}

TEST_P(ConvertTest, Bf16RoundsToNearestEven) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    std::vector<float> floats(n);
    for (float& value : floats) {
      auto bits = static_cast<std::uint32_t>(random());
      if (random() % 3 == 0) bits = (bits & 0xffff0000u) | 0x8000u;  // half way
      if (random() % 20 == 0) bits |= 0x7f7f0000u;                   // the greatest
      value = std::bit_cast<float>(bits);
    }
    std::vector<std::uint16_t> got(n);
    k().convert.f32_to_bf16(floats.data(), n, got.data());
    std::vector<float> back(n);
    k().convert.bf16_to_f32(got.data(), n, back.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(floats[i])) {
        ASSERT_TRUE(std::isnan(back[i]));
      } else {
        ASSERT_EQ(got[i], slow_bf16(floats[i])) << floats[i] << ", seed " << kSeed;
        ASSERT_EQ(double{back[i]}, bf16_value(got[i]));
      }
    }
  }
}

TEST_P(ConvertTest, NormAndScaleHaveTheSameBitsOnEveryLevel) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    const auto in = random_floats(n, random);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += double{in[i]} * in[i];
    const double norm = k().convert.norm(in.get(), n);
    ASSERT_NEAR(norm, std::sqrt(squares), 1e-13 * std::sqrt(squares));
    ASSERT_EQ(norm, generic().convert.norm(in.get(), n)) << n << ", seed " << kSeed;
    std::vector<float> got(n), want(n);
    k().convert.scale(in.get(), n, 1.0 / norm, got.data());
    generic().convert.scale(in.get(), n, 1.0 / norm, want.data());
    ASSERT_EQ(got, want);
    k().convert.scale(in.get(), n, 1.0 / norm, in.get());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), in.get())) << "in place";
    ASSERT_NEAR(k().convert.norm(in.get(), n), n > 0 ? 1.0 : 0.0, 1e-6);
  }
}

TEST_P(ConvertTest, NormOfExtremes) {
  for (float value : {1e-45f, 1e-30f, 3e38f}) {
    std::vector<float> in(100, value);
    const double norm = k().convert.norm(in.data(), in.size());
    EXPECT_NEAR(norm / value, 10.0, 1e-12);
    k().convert.scale(in.data(), in.size(), 1.0 / norm, in.data());
    EXPECT_FLOAT_EQ(in[99], 0.1f);
  }
  EXPECT_EQ(k().convert.norm(nullptr, 0), 0.0);
}

}  // namespace
}  // namespace quiver::testing
