#include "base/bits.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quiver {
namespace {

TEST(Bits, AreCountedOneByOne) {
  std::mt19937_64 random(5);
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<std::uint64_t> words(n);
    for (auto& word : words) word = random() % 4 == 0 ? ~std::uint64_t{0} : random() & random();
    std::size_t want = 0;
    for (const auto word : words) {
      for (int bit = 0; bit < 64; ++bit) want += word >> bit & 1;
    }
    EXPECT_EQ(count_bits(std::span<const std::uint64_t>(words)), want) << n;
    const auto* halves = reinterpret_cast<const std::uint16_t*>(words.data());
    EXPECT_EQ(count_bits(std::span(halves, 4 * n)), want) << n;
  }
}

}  // namespace
}  // namespace quiver
