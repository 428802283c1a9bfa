#include <utility>

#include "base/bitset.h"
#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240611;

using SumsTest = KernelTest;
QV_EVERY_LEVEL(SumsTest);

TEST_P(SumsTest, EqualTheSlowLoop) {
  std::mt19937 random(kSeed);
  struct alignas(64) Sums {
    std::uint16_t values[512];
  };
  for (std::size_t n = 0; n <= 512; n += 64) {
    Sums sums;
    Bitset allowed(512);
    for (std::size_t i = 0; i < 512; ++i) {
      sums.values[i] = static_cast<std::uint16_t>(random() % 3 == 0 ? random() : random() % 8);
      if (random() % 2 == 0) allowed.set(i);
    }
    for (const unsigned threshold : {0U, 1U, 5U, 0x7FFFU, 0x8000U, 0xFFFFU}) {
      for (const std::uint64_t* words :
           {static_cast<const std::uint64_t*>(nullptr), std::as_const(allowed).words().data()}) {
        std::vector<std::uint16_t> wanted;
        for (std::size_t i = 0; i < n; ++i) {
          if (sums.values[i] >= threshold && (words == nullptr || allowed.test(i))) {
            wanted.push_back(static_cast<std::uint16_t>(i));
          }
        }
        std::vector<std::uint16_t> found(n);
        const auto bar = static_cast<std::uint16_t>(threshold);
        found.resize(k().sums.at_least(sums.values, n, bar, words, found.data()));
        EXPECT_EQ(found, wanted) << "n " << n << " threshold " << threshold << " seed " << kSeed;
        EXPECT_EQ(k().sums.count_at_least(sums.values, n, bar, words), wanted.size());
      }
    }
  }
}

}  // namespace
}  // namespace quiver::testing
