#include <limits>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240504;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using TopKTest = KernelTest;
QV_EVERY_LEVEL(TopKTest);

std::vector<std::uint32_t> slow(const float* scores, std::size_t n, float threshold) {
  std::vector<std::uint32_t> kept;
  for (std::size_t i = 0; i < n; ++i) {
    if (scores[i] >= threshold) kept.push_back(static_cast<std::uint32_t>(i));
  }
  return kept;
}

void check(const KernelTable& k, const float* scores, std::size_t n, float threshold) {
  const std::unique_ptr<std::uint32_t[]> positions(new std::uint32_t[n]);  // not one more
  const std::size_t count = k.topk.at_least(scores, n, threshold, positions.get());
  const std::vector<std::uint32_t> got(positions.get(), positions.get() + count);
  ASSERT_EQ(got, slow(scores, n, threshold))
      << "n " << n << " threshold " << threshold << " seed " << kSeed;
}

TEST_P(TopKTest, EqualsTheSlowLoop) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    const auto scores = random_floats(n, random);
    for (std::size_t i = 0; i < n; ++i) {
      if (random() % 3 == 0) scores[i] = 0.5f;  // ties with the threshold stay
      if (random() % 20 == 0) scores[i] = std::numeric_limits<float>::quiet_NaN();
      if (random() % 20 == 0) scores[i] = random() % 2 ? kInfinity : -kInfinity;
    }
    for (float threshold : {-kInfinity, -1.0f, 0.0f, 0.5f, 2.0f, kInfinity})
      check(k(), scores.get(), n, threshold);
  }
}

TEST_P(TopKTest, EveryPatternOfEight) {
  for (unsigned mask = 0; mask < 256; ++mask) {
    float scores[8];
    for (unsigned bit = 0; bit < 8; ++bit) scores[bit] = mask >> bit & 1 ? 1.0f : 0.0f;
    check(k(), scores, 8, 1.0f);
  }
}

TEST_P(TopKTest, SetBitsAscend) {
  std::mt19937_64 random(kSeed);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<std::uint64_t> words(n);
    for (auto& word : words) {
      const auto kind = random() % 4;
      word = kind == 0   ? 0
             : kind == 1 ? ~std::uint64_t{0}
             : kind == 2 ? random() & random()
                         : random();
    }
    const std::uint32_t first = n % 2 == 0 ? 0 : 0xfffff000U;  // the last ones wrap
    std::vector<std::uint32_t> want;
    for (std::size_t i = 0; i < 64 * n; ++i) {
      if ((words[i / 64] >> (i % 64) & 1) != 0)
        want.push_back(first + static_cast<std::uint32_t>(i));
    }
    const std::unique_ptr<std::uint32_t[]> positions(new std::uint32_t[64 * n]);  // not one more
    const std::size_t count = k().topk.set_bits(words.data(), n, first, positions.get());
    ASSERT_EQ(std::vector<std::uint32_t>(positions.get(), positions.get() + count), want)
        << "n " << n << " seed " << kSeed;
  }
}

TEST_P(TopKTest, ZerosAreEqualAndNaNIsNeverKept) {
  const float scores[] = {-0.0f, 0.0f, std::numeric_limits<float>::quiet_NaN()};
  std::uint32_t positions[3];
  EXPECT_EQ(k().topk.at_least(scores, 3, 0.0f, positions), 2u);
  EXPECT_EQ(k().topk.at_least(scores, 3, -kInfinity, positions), 2u);
  EXPECT_EQ(k().topk.at_least(scores, 3, std::numeric_limits<float>::quiet_NaN(), positions), 0u);
}

}  // namespace
}  // namespace quiver::testing
