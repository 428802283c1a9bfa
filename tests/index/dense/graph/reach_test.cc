#include "index/dense/graph/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const dense::Reach::Scale kDistances{Similarity::kNegL2Squared, 1, 0};
constexpr dense::Reach::Shares kHalf{0.5F, 0.5F};

TEST(GraphReach, FollowsTheKthBestRow) {
  Random random(20261130);
  for (int round = 0; round < 300; ++round) {
    const std::size_t k = 1 + random() % 20;
    dense::Reach reach;
    reach.reset(k, {0.5F, 0.25F}, kDistances);
    std::vector<float> scores;
    for (int i = 0; i < 60; ++i) {
      scores.push_back(-static_cast<float>(random() % 30));
      reach.add(scores.back());
      std::sort(scores.begin(), scores.end(), std::greater<>());
      const float wanted = scores.size() < k ? -kInfinity : 1.5F * scores[k - 1];
      ASSERT_EQ(reach.bound(), wanted) << "round " << round;
      const float expanded = scores.size() < k ? -kInfinity : 1.25F * scores[k - 1];
      ASSERT_EQ(reach.expansion_bound(), expanded) << "round " << round;
    }
  }
}

TEST(GraphReach, ProductsCountAsDistancesOfRowsOfThatLength) {
  dense::Reach reach;
  reach.reset(1, kHalf, {Similarity::kDot, 2, 0});
  reach.add(3);  // squared distance 4 + 4 - 2 * 3
  EXPECT_EQ(reach.bound(), 2.5F);
}

TEST(GraphReach, EqualRowsDoNotEndAWalkAtOnce) {
  dense::Reach reach;
  reach.reset(1, kHalf, {Similarity::kNegL2Squared, 1, 4});
  reach.add(0);
  EXPECT_EQ(reach.bound(), -2);
  reach.reset(1, kHalf, {Similarity::kDot, 1, 4});
  reach.add(9);  // of a row that is longer than the others
  EXPECT_EQ(reach.bound(), 8);
}

TEST(GraphReach, WithoutAShareAWalkIsNotEnded) {
  dense::Reach reach;
  reach.reset(1, {kInfinity, kInfinity}, kDistances);
  reach.add(-1);
  EXPECT_EQ(reach.bound(), -kInfinity);
  EXPECT_EQ(reach.expansion_bound(), -kInfinity);
  reach.reset(1, {kInfinity, 0.5F}, kDistances);
  reach.add(-2);
  EXPECT_EQ(reach.bound(), -kInfinity);
  EXPECT_EQ(reach.expansion_bound(), -3);
}

TEST(GraphReach, ScoresThatOverflowedAreLeftOut) {
  dense::Reach reach;
  reach.reset(2, kHalf, kDistances);
  for (const float score :
       {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity,
        std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}) {
    reach.add(score);
  }
  reach.add(-4);
  EXPECT_EQ(reach.bound(), -kInfinity);
  reach.add(-2);
  EXPECT_EQ(reach.bound(), -6);
  reach.reset(1, kHalf, kDistances);
  EXPECT_EQ(reach.bound(), -kInfinity) << "of the walk before";
  EXPECT_EQ(reach.expansion_bound(), -kInfinity) << "of the walk before";
  reach.reset(1, kHalf, {Similarity::kDot, kInfinity, 0});
  reach.add(4);
  EXPECT_EQ(reach.bound(), -kInfinity) << "of rows of infinite length";
}

}  // namespace
}  // namespace quiver::index::testing
