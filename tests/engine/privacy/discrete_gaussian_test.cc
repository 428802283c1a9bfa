// Noise against the probabilities of its definition.
#include "engine/privacy/discrete_gaussian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/engine/privacy/seeded_words.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kSeed = 20261128;

TEST(DiscreteGaussian, HasTheProbabilitiesOfItsDefinition) {
  constexpr int kDraws = 100'000;
  for (const std::uint64_t deviation : {1, 2, 7}) {
    SeededWords random(kSeed + deviation);
    std::map<std::int64_t, int> found;
    for (int i = 0; i < kDraws; ++i) ++found[discrete_gaussian(deviation, random)];
    const auto weight = [&](std::int64_t n) {
      const auto z = static_cast<double>(n) / static_cast<double>(deviation);
      return std::exp(-z * z / 2);
    };
    double total = 0;
    const auto reach = static_cast<std::int64_t>(20 * deviation);
    for (std::int64_t n = -reach; n <= reach; ++n) total += weight(n);
    for (std::int64_t n = -reach; n <= reach; ++n) {
      const double wanted = kDraws * weight(n) / total;
      const double slack = 5 * std::sqrt(wanted) + 3;
      EXPECT_NEAR(found[n], wanted, slack) << deviation << " " << n;
    }
  }
}

TEST(DiscreteGaussian, IsNormalOnAFineGrid) {
  constexpr std::size_t kDraws = 40'000;
  for (const double deviation : {0x1p26, 0x1p40}) {
    SeededWords random(kSeed);
    std::vector<double> scaled;
    int n_odd = 0;
    for (std::size_t i = 0; i < kDraws; ++i) {
      const auto drawn = discrete_gaussian(static_cast<std::uint64_t>(deviation), random);
      n_odd += std::abs(drawn % 2) == 1 ? 1 : 0;
      scaled.push_back(static_cast<double>(drawn) / deviation);
    }
    std::ranges::sort(scaled);
    double largest = 0;  // Kolmogorov and Smirnov
    for (std::size_t i = 0; i < kDraws; ++i) {
      const double wanted = std::erfc(-scaled[i] / std::sqrt(2.0)) / 2;
      const double seen = (static_cast<double>(i) + 0.5) / kDraws;
      largest = std::max(largest, std::abs(seen - wanted));
    }
    EXPECT_LT(largest, 1.95 / std::sqrt(kDraws)) << deviation;
    EXPECT_NEAR(n_odd, kDraws / 2.0, 5 * std::sqrt(kDraws / 4.0)) << "the last bit tells something";
  }
}

TEST(DiscreteGaussian, SecureWordsDiffer) {
  SecureWords first;
  SecureWords second;
  std::vector<std::uint64_t> words;
  for (int i = 0; i < 2000; ++i) {
    words.push_back(first.next());
    words.push_back(second.next());
  }
  std::ranges::sort(words);
  EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
  int n_bits = 0;
  for (const std::uint64_t word : words) n_bits += std::popcount(word);
  EXPECT_NEAR(n_bits, 32 * 4000, 8 * std::sqrt(16 * 4000));
}

}  // namespace
}  // namespace quiver::engine::testing
