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
