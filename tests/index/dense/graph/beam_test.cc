#include "index/dense/graph/beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace quiver::index::testing {
namespace {

TEST(GraphBeam, GivesTheGreatestFirst) {
  std::mt19937_64 random(20261130);
  for (int round = 0; round < 300; ++round) {
    dense::Beam beam;
    std::set<std::pair<float, std::uint32_t>> wanted;
    for (std::uint32_t node = 0; node < 100; ++node) {
      const float score = static_cast<float>(random() % 50) / 4 - 6;
      beam.add(score, node);
      wanted.emplace(score, node);
      if (random() % 3 != 0) continue;
      ASSERT_EQ(beam.size(), wanted.size()) << "round " << round;
      ASSERT_EQ(beam.next_score(), wanted.rbegin()->first);
      ASSERT_EQ(beam.take(), wanted.rbegin()->second);
      wanted.erase(std::prev(wanted.end()));
    }
    ASSERT_EQ(beam.empty(), wanted.empty());
    beam.clear();
    ASSERT_TRUE(beam.empty());
  }
}

TEST(GraphBeam, ScoresMayBeOfAnySize) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  const std::vector<float> falling = {kInfinity,  kLargest, 1,         kSmallest, 0.0F,
                                      -kSmallest, -1,       -kLargest, -kInfinity};
  dense::Beam beam;
  for (std::uint32_t i = 0; i < falling.size(); ++i) beam.add(falling[(i * 4) % 9], (i * 4) % 9);
  for (std::uint32_t i = 0; i < falling.size(); ++i) {
    EXPECT_EQ(beam.next_score(), falling[i]);
    EXPECT_EQ(beam.take(), i);
  }
}

}  // namespace
}  // namespace quiver::index::testing
