#include "engine/query/stages/candidates.h"

#include <cmath>
#include <limits>

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

Candidate scored_candidate(std::uint64_t number, float score) {
  return {PointId::number(number), score, nullptr, 0, {}};
}

TEST(KeepBest, OrdersByScoreThenId) {
  Candidates candidates = {scored_candidate(4, 1), scored_candidate(2, 3), scored_candidate(3, 1),
                           scored_candidate(1, 2)};
  keep_best(candidates, 10);
  EXPECT_EQ(numbers_of(candidates), (Numbers{2, 1, 3, 4}));
  keep_best(candidates, 3);
  EXPECT_EQ(numbers_of(candidates), (Numbers{2, 1, 3}));
  keep_best(candidates, 0);
  EXPECT_TRUE(candidates.empty());
}

TEST(ShownScore, IsADistanceForDistances) {
  EXPECT_EQ(shown_score(Metric::kDot, -2), -2);
  EXPECT_EQ(shown_score(Metric::kCosine, 0.5F), 0.5F);
  EXPECT_EQ(shown_score(Metric::kEuclid, -9), 3);
  EXPECT_EQ(shown_score(Metric::kManhattan, -4), 4);
  EXPECT_FALSE(std::signbit(shown_score(Metric::kManhattan, 0))) << "no -0 in answers";
}

TEST(ShownScore, IsFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  EXPECT_EQ(shown_score(Metric::kDot, kInfinity), kLargest);
  EXPECT_EQ(shown_score(Metric::kDot, -kInfinity), -kLargest);
  EXPECT_EQ(shown_score(Metric::kEuclid, -kInfinity), kLargest);
}

TEST(UnionOf, HasEachPointOnceByItsId) {
  std::vector<Ranking> rankings(3);
  rankings[0].candidates = {scored_candidate(5, 1), scored_candidate(2, 1)};
  rankings[2].candidates = {scored_candidate(3, 9), scored_candidate(5, 9)};
  EXPECT_EQ(numbers_of(union_of(rankings)), (Numbers{2, 3, 5}));
  EXPECT_TRUE(union_of({}).empty());
}

}  // namespace
}  // namespace quiver::engine::testing
