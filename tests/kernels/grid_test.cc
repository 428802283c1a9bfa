#include <algorithm>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240601;

const KernelTable& generic() { return *available().back(); }

using GridTest = KernelTest;
QV_EVERY_LEVEL(GridTest);

TEST_P(GridTest, HasTheBitsOfGeneric) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 150; ++n) {
    const auto values = random_floats(n, random);
    for (std::size_t i = 0; i < n; ++i) {
      if (random() % 8 == 0) values[i] = random() % 2 != 0 ? 0.0f : -0.0f;
    }
    EXPECT_TRUE(
        same_bits(k().grid.largest(values.get(), n), generic().grid.largest(values.get(), n)));
    for (float half : {1.0f, 2.0f, 8.0f, 128.0f}) {
      const float scale = half * 0.4f;
      const GridSums got = k().grid.measure(values.get(), n, scale, half);
      const GridSums wanted = generic().grid.measure(values.get(), n, scale, half);
      ASSERT_TRUE(same_bits(got.dot, wanted.dot) && same_bits(got.squares, wanted.squares))
          << "n " << n << " half " << half << " seed " << kSeed;
      const std::unique_ptr<std::uint8_t[]> codes(new std::uint8_t[n]), slow(new std::uint8_t[n]);
      k().grid.encode(values.get(), n, scale, half, codes.get());
      generic().grid.encode(values.get(), n, scale, half, slow.get());
      ASSERT_TRUE(std::equal(codes.get(), codes.get() + n, slow.get()))
          << "n " << n << " half " << half << " seed " << kSeed;
    }
  }
}

TEST_P(GridTest, CodesAreTheNearestPoints) {
  const float values[] = {-9.0f, -1.6f, -1.0f, -0.4f, 0.0f, 0.3f, 1.1f, 2.0f, 77.0f};
  const std::uint8_t wanted[] = {0, 0, 1, 1, 2, 2, 3, 3, 3};  // -1.5, -0.5, 0.5, 1.5
  std::uint8_t codes[9];
  k().grid.encode(values, 9, 1.0f, 2.0f, codes);
  EXPECT_TRUE(std::equal(codes, codes + 9, wanted));
  EXPECT_EQ(k().grid.largest(values, 9), 77.0f);
  const GridSums sums = k().grid.measure(values, 9, 1.0f, 2.0f);
  EXPECT_FLOAT_EQ(sums.squares, 5 * 2.25f + 4 * 0.25f);
  EXPECT_FLOAT_EQ(sums.dot,
                  1.5f * (9.0f + 1.6f + 1.1f + 2.0f + 77.0f) + 0.5f * (1.0f + 0.4f + 0.3f));
}

}  // namespace
}  // namespace quiver::testing
