#include "kernels/turbo/turbo.h"

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kTurboSeed = 20261124;

using TurboTest = KernelTest;
QV_EVERY_LEVEL(TurboTest);

/// `n` bytes at an odd address, with nothing behind them.
struct OddBytes {
  OddBytes(std::size_t n, std::mt19937& random) : memory(new std::byte[n + 1]) {
    for (std::size_t i = 0; i <= n; ++i) memory[i] = static_cast<std::byte>(random() & 255);
  }
  [[nodiscard]] const std::byte* data() const { return memory.get() + 1; }
  [[nodiscard]] int at(std::size_t i) const { return static_cast<int>(data()[i]); }

  std::unique_ptr<std::byte[]> memory;
};

TEST_P(TurboTest, FourBits) {
  std::mt19937 random(kTurboSeed);
  const auto levels = random_floats(16, random);
  for (std::size_t n = 0; n <= 130; ++n) {
    const OddBytes codes((n + 1) / 2, random);
    const std::unique_ptr<float[]> got(new float[n]);
    k().turbo.four_bits(codes.data(), n, levels.get(), got.get());
    for (std::size_t i = 0; i < n; ++i) {
      const int code = i % 2 == 0 ? codes.at(i / 2) % 16 : codes.at(i / 2) / 16;
      ASSERT_EQ(got[i], levels[code]) << "n " << n << " value " << i << " seed " << kTurboSeed;
    }
  }
}

const KernelTable& generic() { return *available().back(); }

/// Values near all levels; some are on a bound, or zero of either sign.
std::vector<float> values_near_levels(std::size_t n, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) {
    value = random() % 9 == 0 ? kTurboBounds[random() % 7] : normal(random);
    if (random() % 17 == 0) value = 0;
    if (random() % 2 == 0) value = -value;
  }
  return values;
}

TEST_P(TurboTest, SumsAndCodesHaveTheBitsOfGeneric) {
  std::mt19937 random(kTurboSeed);
  for (std::size_t n = 0; n <= 700; n += n < 160 ? 1 : 37) {
    const auto values = values_near_levels(n, random);
    for (const float factor : {1.0f, 0.37f, 2.5f}) {
      const TurboSums got = k().turbo.measure(values.data(), n, factor);
      const TurboSums wanted = generic().turbo.measure(values.data(), n, factor);
      ASSERT_EQ(got.dot, wanted.dot) << "n " << n << " seed " << kTurboSeed;
      ASSERT_EQ(got.squares, wanted.squares) << "n " << n << " seed " << kTurboSeed;
      std::vector<std::byte> codes((n + 1) / 2 + 1, std::byte{0xAA}), others = codes;
      k().turbo.encode(values.data(), n, factor, codes.data());
      generic().turbo.encode(values.data(), n, factor, others.data());
      ASSERT_EQ(codes, others) << "n " << n << " seed " << kTurboSeed;
      ASSERT_EQ(codes.back(), std::byte{0xAA}) << "written beyond the end";
    }
  }
}

TEST_P(TurboTest, CodesAreTheNearestLevels) {
  std::mt19937 random(kTurboSeed);
  const std::size_t n = 333;
  const auto values = values_near_levels(n, random);
  std::vector<std::byte> codes((n + 1) / 2);
  k().turbo.encode(values.data(), n, 1, codes.data());
  TurboSums wanted;
  for (std::size_t i = 0; i < n; ++i) {
    const auto pair = static_cast<unsigned>(codes[i / 2]);
    const unsigned code = i % 2 == 0 ? pair % 16 : pair / 16;
    const float size = kTurboSizes[code < 8 ? 7 - code : code - 8];
    EXPECT_EQ(code < 8, values[i] < 0) << values[i];
    for (const float other : kTurboSizes) {
      EXPECT_LE(std::abs(std::abs(values[i]) - size), std::abs(std::abs(values[i]) - other) + 1e-6)
          << values[i];
    }
    wanted.dot += double{std::abs(values[i])} * double{size};
    wanted.squares += double{size} * double{size};
  }
  const TurboSums got = k().turbo.measure(values.data(), n, 1);
  EXPECT_NEAR(got.dot, wanted.dot, 1e-6 * wanted.dot);
  EXPECT_NEAR(got.squares, wanted.squares, 1e-6 * wanted.squares);
}

TEST_P(TurboTest, EightAndSixteenBits) {
  std::mt19937 random(kTurboSeed);
  const float scale = 0.0031f;
  for (std::size_t n = 0; n <= 70; ++n) {
    const OddBytes codes(2 * n, random);
    const std::unique_ptr<float[]> got(new float[n]);
    k().turbo.eight_bits(codes.data(), n, scale, got.get());
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(got[i], static_cast<float>(2 * codes.at(i) - 255) * scale) << "n " << n;
    }
    k().turbo.sixteen_bits(codes.data(), n, scale, got.get());
    for (std::size_t i = 0; i < n; ++i) {
      const int code = codes.at(2 * i) + 256 * codes.at(2 * i + 1);
      ASSERT_EQ(got[i], static_cast<float>(2 * code - 65535) * scale) << "n " << n;
    }
  }
}

}  // namespace
}  // namespace quiver::testing
