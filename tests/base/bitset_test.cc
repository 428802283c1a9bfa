#include "base/bitset.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quiver {
namespace {

TEST(Bitset, EqualsVectorOfBools) {
  constexpr unsigned kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 200U}) {
    Bitset a(size);
    Bitset b(size, true);
    std::vector<bool> va(size, false);
    std::vector<bool> vb(size, true);
    for (std::size_t i = 0; i < size; ++i) {
      if (random() % 2 != 0) a.set(i), va[i] = true;
      if (random() % 3 == 0) b.reset(i), vb[i] = false;
    }
    const auto check = [&](const Bitset& bits, auto expected) {
      std::vector<std::size_t> seen;
      bits.for_each([&](std::size_t i) { seen.push_back(i); });
      std::vector<std::size_t> wanted;
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(bits.test(i), expected(i)) << i;
        if (expected(i)) wanted.push_back(i);
      }
      EXPECT_EQ(seen, wanted);
      EXPECT_EQ(bits.count(), wanted.size());
      EXPECT_EQ(bits.none(), wanted.empty());
    };
    check(Bitset(a) &= b, [&](std::size_t i) { return va[i] && vb[i]; });
    check(Bitset(a) |= b, [&](std::size_t i) { return va[i] || vb[i]; });
    check(Bitset(a).subtract(b), [&](std::size_t i) { return va[i] && !vb[i]; });
    a.set_all();
    check(a, [](std::size_t) { return true; });
  }
}

}  // namespace
}  // namespace quiver
