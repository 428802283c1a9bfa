#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240601;

using TransformTest = KernelTest;
QV_EVERY_LEVEL(TransformTest);

const KernelTable& generic() { return *available().back(); }

bool same(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

TEST_P(TransformTest, HadamardEqualsTheMatrix) {
  std::mt19937 random(kSeed);
  const std::size_t n = 256;
  const auto values = random_floats(n, random);
  std::vector<float> got(values.get(), values.get() + n);
  k().transform.hadamard(got.data(), n);
  for (std::size_t i = 0; i < n; ++i) {
    double wanted = 0;
    for (std::size_t j = 0; j < n; ++j) {
      wanted += __builtin_popcountll(i & j) % 2 != 0 ? -double{values[j]} : double{values[j]};
    }
    EXPECT_NEAR(got[i], wanted, 1e-4) << "row " << i << " seed " << kSeed;
  }
}

TEST_P(TransformTest, HadamardHasTheBitsOfGeneric) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 64; n <= 65536; n *= 2) {
    // From an odd place, and not one value more.
    const auto memory = random_floats(n + 3, random);
    std::vector<float> wanted(memory.get() + 3, memory.get() + 3 + n);
    generic().transform.hadamard(wanted.data(), n);
    k().transform.hadamard(memory.get() + 3, n);
    EXPECT_TRUE(same(memory.get() + 3, wanted.data(), n)) << "n " << n << " seed " << kSeed;
  }
}

TEST_P(TransformTest, SignsAndButterfliesHaveTheBitsOfGeneric) {
  std::mt19937 random(kSeed);
  for (std::size_t n = 0; n <= 150; ++n) {
    const auto a = random_floats(n, random);
    const auto b = random_floats(n, random);
    std::vector<std::uint32_t> signs((n + 31) / 32);
    for (std::uint32_t& word : signs) word = static_cast<std::uint32_t>(random());
    const std::unique_ptr<float[]> got(new float[n]), wanted(new float[n]);
    k().transform.flip_signs(a.get(), n, signs.data(), 0.7f, got.get());
    generic().transform.flip_signs(a.get(), n, signs.data(), 0.7f, wanted.get());
    ASSERT_TRUE(same(got.get(), wanted.get(), n)) << "n " << n << " seed " << kSeed;

    std::vector<float> first(a.get(), a.get() + n), second(b.get(), b.get() + n);
    k().transform.butterfly(a.get(), b.get(), n, 0.7f);
    generic().transform.butterfly(first.data(), second.data(), n, 0.7f);
    ASSERT_TRUE(same(a.get(), first.data(), n) && same(b.get(), second.data(), n))
        << "n " << n << " seed " << kSeed;
  }
}

}  // namespace
}  // namespace quiver::testing
