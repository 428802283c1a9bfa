// Linear fusion against values worked out by hand and against a slow reference.
#include "engine/query/stages/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "engine/query/stages/stages.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

using LinearLists = std::vector<std::vector<Ranked>>;
using Doubles = std::vector<double>;

constexpr Normalization kAllNormalizations[] = {Normalization::kMinMax, Normalization::kZScore,
                                                Normalization::kQuantile, Normalization::kNone};

Ranked scored(std::uint64_t number, float score) { return {PointId::number(number), score}; }

Linear linear_of(std::vector<float> weights, Normalization normalization,
                 MissingScore missing = MissingScore::kLowest) {
  return {std::move(weights), normalization, missing};
}

void expect_fused(const std::vector<Ranked>& found, const std::vector<Ranked>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << "hit " << i;
    EXPECT_FLOAT_EQ(found[i].score, expected[i].score) << "hit " << i;
  }
}

TEST(ScaledScores, OfEachNormalization) {
  const std::vector<Ranked> list = {scored(1, 8), scored(2, 4), scored(3, 4), scored(4, 0)};
  EXPECT_EQ(scaled_scores(list, Normalization::kMinMax), (Doubles{1, 0.5, 0.5, 0}));
  EXPECT_EQ(scaled_scores(list, Normalization::kNone), (Doubles{8, 4, 4, 0}));
  EXPECT_EQ(scaled_scores(list, Normalization::kQuantile), (Doubles{1, 0.625, 0.625, 0.25}));
  const double deviation = std::sqrt(32.0 / 3);
  const auto scaled = scaled_scores(list, Normalization::kZScore);
  EXPECT_DOUBLE_EQ(scaled[0], 4 / deviation);
  EXPECT_DOUBLE_EQ(scaled[1], 0);
  EXPECT_DOUBLE_EQ(scaled[3], -4 / deviation);
}

TEST(ScaledScores, OrderOfTheListHasNoEffect) {
  const std::vector<Ranked> list = {scored(1, 0), scored(2, 8), scored(3, 4)};
  EXPECT_EQ(scaled_scores(list, Normalization::kQuantile), (Doubles{1.0 / 3, 1, 2.0 / 3}));
}

TEST(ScaledScores, OneHitAndEqualScores) {
  const std::vector<Ranked> one = {scored(1, -7)};
  const std::vector<Ranked> equal = {scored(1, 3), scored(2, 3), scored(3, 3)};
  EXPECT_EQ(scaled_scores(one, Normalization::kMinMax), (Doubles{1}));
  EXPECT_EQ(scaled_scores(one, Normalization::kZScore), (Doubles{0}));
  EXPECT_EQ(scaled_scores(one, Normalization::kQuantile), (Doubles{1}));
  EXPECT_EQ(scaled_scores(one, Normalization::kNone), (Doubles{-7}));
  EXPECT_EQ(scaled_scores(equal, Normalization::kMinMax), (Doubles{1, 1, 1}));
  EXPECT_EQ(scaled_scores(equal, Normalization::kZScore), (Doubles{0, 0, 0}));
  EXPECT_EQ(scaled_scores(equal, Normalization::kQuantile), (Doubles{2.0 / 3, 2.0 / 3, 2.0 / 3}));
  for (const auto normalization : kAllNormalizations) {
    EXPECT_TRUE(scaled_scores({}, normalization).empty());
  }
}

TEST(ScaledScores, AreFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<Ranked> list = {
      scored(1, kInfinity),  scored(2, kMax),
      scored(3, 0),          scored(4, -kMax),
      scored(5, -kInfinity), scored(6, std::numeric_limits<float>::quiet_NaN())};
  for (const auto normalization : kAllNormalizations) {
    for (const double score : scaled_scores(list, normalization)) {
      EXPECT_TRUE(std::isfinite(score));
    }
    const LinearLists lists = {list, list};
    for (const auto& hit : fuse_linear(lists, linear_of({kMax, kMax}, normalization))) {
      EXPECT_TRUE(std::isfinite(hit.score));
    }
  }
  EXPECT_EQ(scaled_scores(list, Normalization::kMinMax), (Doubles{1, 1, 0.5, 0, 0, 0}));
}

TEST(FuseLinear, WeighsScaledScores) {
  const LinearLists lists = {{scored(1, 10), scored(2, 8), scored(3, 0)},
                             {scored(3, 0.9F), scored(1, 0.5F)}};
  expect_fused(fuse_linear(lists, {}), {scored(1, 1), scored(3, 1), scored(2, 0.8F)});
  expect_fused(fuse_linear(lists, linear_of({0.25F, 2}, Normalization::kMinMax)),
               {scored(3, 2), scored(1, 0.25F), scored(2, 0.2F)});
  expect_fused(fuse_linear(lists, linear_of({1, -1}, Normalization::kNone)),
               {scored(1, 9.5F), scored(2, 7.5F), scored(3, -0.9F)});
}

TEST(FuseLinear, AMissingPointHasTheLowestScoreOrZero) {
  const LinearLists lists = {{scored(1, -1), scored(2, -2)}, {scored(3, 5)}};
  expect_fused(fuse_linear(lists, linear_of({}, Normalization::kNone)),
               {scored(1, 4), scored(2, 3), scored(3, 3)});
  expect_fused(fuse_linear(lists, linear_of({}, Normalization::kNone, MissingScore::kZero)),
               {scored(3, 5), scored(1, -1), scored(2, -2)});
}

TEST(FuseLinear, EmptyListsAddNothing) {
  const LinearLists lists = {{}, {scored(2, 1), scored(1, 0)}};
  for (const auto missing : {MissingScore::kLowest, MissingScore::kZero}) {
    expect_fused(fuse_linear(lists, linear_of({9, 1}, Normalization::kMinMax, missing)),
                 {scored(2, 1), scored(1, 0)});
  }
  EXPECT_TRUE(fuse_linear(LinearLists{{}, {}}, {}).empty());
}

/// Point by point and list by list.
double reference_score(const LinearLists& lists, const Linear& linear, const PointId& id) {
  double sum = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto scaled = scaled_scores(lists[i], linear.normalization);
    double score = 0;
    if (linear.missing == MissingScore::kLowest && !scaled.empty()) {
      score = *std::min_element(scaled.begin(), scaled.end());
    }
    for (std::size_t j = 0; j < lists[i].size(); ++j) {
      if (lists[i][j].id == id) score = scaled[j];
    }
    sum += linear.weights[i] * score;
  }
  return sum;
}

TEST(FuseLinear, EqualsASlowReference) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    LinearLists lists(1 + random() % 4);
    Linear linear;
    for (auto& list : lists) {
      std::set<std::uint64_t> numbers;
      for (std::size_t n = random() % 12; n > 0; --n) numbers.insert(random() % 30);
      for (const auto number : numbers) {
        list.push_back(scored(number, static_cast<float>(random() % 7) - 3));
      }
      linear.weights.push_back(static_cast<float>(random() % 5) - 1);
    }
    linear.normalization = kAllNormalizations[random() % 4];
    linear.missing = random() % 2 == 0 ? MissingScore::kLowest : MissingScore::kZero;
    std::set<PointId> ids;
    for (const auto& list : lists) {
      for (const auto& hit : list) ids.insert(hit.id);
    }
    const auto fused = fuse_linear(lists, linear);
    ASSERT_EQ(fused.size(), ids.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      EXPECT_NEAR(fused[i].score, reference_score(lists, linear, fused[i].id), 1e-5);
      if (i == 0) continue;
      const bool is_tie = fused[i - 1].score == fused[i].score;
      EXPECT_TRUE(is_tie ? fused[i - 1].id < fused[i].id : fused[i - 1].score > fused[i].score);
    }
  }
}

TEST(LinearStage, NegatesDistancesAndWantsAWeightForEach) {
  const NumbersWorld world;
  const Ranking near{{world.candidate(1, -1), world.candidate(2, -4), world.candidate(3, -9)},
                     Metric::kEuclid};
  Query query;
  query.kind = linear_of({2}, Normalization::kNone);
  const auto& linear = std::get<Linear>(query.kind);
  const auto ranking = make_stage(linear, {query, nullptr, 2, fixed_inputs({near})})
                           ->run(world.environment())
                           .value();
  EXPECT_TRUE(ranking.is_fused);
  EXPECT_EQ(numbers_of(ranking.candidates), (Numbers{1, 2}));
  EXPECT_EQ(scores_of(ranking), (std::vector<float>{-2, -4}));
  const auto failed =
      make_stage(linear, {query, nullptr, 2, fixed_inputs({near, near})})->run(world.environment());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(),
            "linear has 1 weights for 2 prefetches, must be one for each");
}

TEST(LinearStage, MmrChoosesAmongWhatWasFused) {
  const NumbersWorld world;
  // Point 9 has no vectors: its similarity to others is 0. Of `dot`, others have their product.
  const Ranking found{{world.candidate(8, 4), world.candidate(7, 3.9F), world.candidate(2, 3),
                       world.candidate(9, 1)}};
  Query query;
  Linear linear = linear_of({}, Normalization::kNone);
  linear.mmr = Mmr{0.5F, 4, "dot"};
  query.kind = linear;
  const auto run = [&] {
    return make_stage(std::get<Linear>(query.kind), {query, nullptr, 3, fixed_inputs({found})})
        ->run(world.environment());
  };
  const auto ranking = run().value();
  EXPECT_EQ(numbers_of(ranking.candidates), (Numbers{8, 9, 2}));
  EXPECT_TRUE(ranking.is_fused);
  std::get<Linear>(query.kind).mmr->candidates_limit = 2;
  EXPECT_EQ(numbers_of(run().value().candidates), (Numbers{8, 7}));
  std::get<Linear>(query.kind).mmr->using_field = "nosuch";
  EXPECT_FALSE(run());
}

}  // namespace
}  // namespace quiver::engine::testing
