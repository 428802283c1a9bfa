// The choice among measured points: by limits, against an obvious reference, with seeds.
#include "bench/advise/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace quiver::bench::advise {
namespace {

using testing::ElementsAre;
using testing::Optional;

const std::vector<Point> kPoints = {{0, 0, 1600, .999, 5000}, {1, 0, 500, .98, 9000},
                                    {1, 1, 500, .95, 14000},  {2, 0, 300, .96, 3000},
                                    {3, 0, 100, .80, 20000},  {3, 1, 100, .90, 800}};

TEST(Choose, FewestBytesThatReachTheRecall) {
  EXPECT_THAT(choose(kPoints, {.recall = .95}), Optional(3));
  EXPECT_THAT(choose(kPoints, {.recall = .97}), Optional(1));
  EXPECT_THAT(choose(kPoints, {.recall = .99}), Optional(0));
}

TEST(Choose, BestRecallWithinTheBytes) {
  EXPECT_THAT(choose(kPoints, {.bytes = 2000}), Optional(0));
  EXPECT_THAT(choose(kPoints, {.bytes = 500}), Optional(1));
  EXPECT_THAT(choose(kPoints, {.bytes = 299}), Optional(5));
  EXPECT_THAT(choose(kPoints, {.bytes = 299, .qps = 1000}), Optional(4));
}

TEST(Choose, FastestOfEqualBytes) {
  EXPECT_THAT(choose(kPoints, {.recall = .95, .qps = 4000}), Optional(2));
}

TEST(Choose, EqualRecallIsDecidedByBytes) {
  const std::vector<Point> points = {{0, 0, 400, .9805, 900}, {1, 0, 200, .98, 900}};
  EXPECT_THAT(choose(points, {.bytes = 500}), Optional(1));
}

TEST(Choose, NearestIfNoneMeetsTheLimits) {
  EXPECT_THAT(choose(kPoints, {.recall = .9999}), Optional(0));
  EXPECT_THAT(choose(kPoints, {.recall = .9, .bytes = 90}), Optional(5));
  EXPECT_GT(shortfall(kPoints[5], {.recall = .9, .bytes = 90}), 0);
  EXPECT_EQ(choose({}, {.recall = .9}), std::nullopt);
}

TEST(ParetoFront, LeavesOutWhatASmallerPointReplaces) {
  EXPECT_THAT(pareto_front(kPoints, .001), ElementsAre(5, 4, 3, 1, 2, 0));
  const std::vector<Point> points = {{0, 0, 100, .95, 1000},
                                     {1, 0, 200, .9505, 1000},
                                     {2, 0, 300, .94, 2000},
                                     {3, 0, 400, .9, 900}};
  EXPECT_THAT(pareto_front(points, .001), ElementsAre(0, 2));
}

TEST(RankWays, NamesEachOnceAndTheChosenFirst) {
  EXPECT_THAT(rank_ways(kPoints, {.recall = .95}), ElementsAre(2, 1, 0, 3));
}

std::vector<Point> random_points(std::mt19937_64& random) {
  const auto number = [&random](std::size_t n) { return static_cast<double>(random() % n); };
  std::vector<Point> points(1 + random() % 20);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = {i / 3, i % 3, 100 * (1 + number(9)), .01 * number(101), 100 * number(20)};
  }
  return points;
}

TEST(Choose, MeetsTheLimitsIfAnyPointDoes) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto points = random_points(random);
    Limits limits{.qps = 100.0 * static_cast<double>(random() % 20)};
    if (seed % 2 == 0) limits.recall = .01 * static_cast<double>(1 + random() % 100);
    if (seed % 3 != 0) limits.bytes = 100.0 * static_cast<double>(1 + random() % 9);
    const Point& chosen = points[choose(points, limits).value()];
    for (const Point& point : points) {
      EXPECT_LE(shortfall(chosen, limits), shortfall(point, limits)) << seed;
      if (!meets(point, limits)) continue;
      ASSERT_TRUE(meets(chosen, limits)) << seed;
      if (limits.recall) {
        EXPECT_LE(chosen.bytes, point.bytes * 1.01) << seed;
      } else {
        EXPECT_GE(chosen.recall, point.recall - .0011) << seed;
      }
    }
  }
}

TEST(ParetoFront, EveryPointIsThereOrReplacedByOneThatIs) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto points = random_points(random);
    const auto front = pareto_front(points, .001);
    const std::set<std::size_t> on_front(front.begin(), front.end());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_replaced = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
        const Point& smaller = points[other];
        return other != i && smaller.bytes <= points[i].bytes &&
               smaller.recall >= points[i].recall - .001 && smaller.qps >= points[i].qps * .9;
      });
      EXPECT_TRUE(on_front.contains(i) || is_replaced) << seed << ", point " << i;
    }
  }
}

}  // namespace
}  // namespace quiver::bench::advise
