// Learned weights against a search over a fine grid, and what is held out.
#include "engine/query/fusion_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "engine/query/stages/linear.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

using Judged = std::vector<JudgedLists>;

constexpr std::uint64_t kPointsOfJudged = 40;

/// The relevant point of a query scores `lead[i]` more than others in list i, whose scores are
/// normal deviates times `scale[i]`.
Judged judged_queries(std::size_t n, const std::vector<float>& lead,
                      const std::vector<float>& scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Judged judged;
  for (std::size_t q = 0; q < n; ++q) {
    const std::uint64_t relevant = random() % kPointsOfJudged;
    JudgedLists one;
    one.relevant = {PointId::number(relevant)};
    for (std::size_t i = 0; i < lead.size(); ++i) {
      auto& list = one.lists.emplace_back();
      for (std::uint64_t p = 0; p < kPointsOfJudged; ++p) {
        const float score = normal(random) + (p == relevant ? lead[i] : 0);
        list.push_back({PointId::number(p), score * scale[i]});
      }
      sort_best_first(list);
      list.resize(kPointsOfJudged / 2);
    }
    judged.push_back(std::move(one));
  }
  return judged;
}

double mean_ndcg(const Judged& judged, const Linear& linear) {
  double sum = 0;
  for (const auto& [lists, relevant] : judged) sum += ndcg_of(fuse_linear(lists, linear), relevant);
  return sum / static_cast<double>(judged.size());
}

LearnedFusion learned_from(const Judged& judged, std::optional<Normalization> normalization) {
  return learn_weights(judged, normalization, MissingScore::kLowest, Cancel()).value();
}

TEST(Ndcg, CountsTenPlaces) {
  std::vector<Ranked> list;
  for (std::uint64_t i = 1; i <= 11; ++i) list.push_back({PointId::number(i), 0});
  const auto ndcg = [&](std::vector<std::uint64_t> numbers) {
    std::vector<PointId> relevant;
    for (const auto number : numbers) relevant.push_back(PointId::number(number));
    return ndcg_of(list, relevant);
  };
  EXPECT_DOUBLE_EQ(ndcg({1}), 1);
  EXPECT_DOUBLE_EQ(ndcg({3}), 0.5);
  EXPECT_DOUBLE_EQ(ndcg({11}), 0);
  EXPECT_DOUBLE_EQ(ndcg({1, 2}), 1);
  EXPECT_DOUBLE_EQ(ndcg({1, 99}), 1 / (1 + 1 / std::log2(3.0)));
  EXPECT_DOUBLE_EQ(ndcg({}), 0);
  EXPECT_DOUBLE_EQ(ndcg({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 1);
}

TEST(LearnWeights, AreAsGoodAsTheBestOfAGrid) {
  const auto judged = judged_queries(100, {2, 1.2F}, {1, 50}, 3);
  for (const auto normalization : {Normalization::kMinMax, Normalization::kNone}) {
    const auto learned = learned_from(judged, normalization);
    EXPECT_EQ(learned.linear.normalization, normalization);
    double best = 0;
    for (int i = 0; i <= 200; ++i) {
      Linear linear = learned.linear;
      // A grid of angles, as the scales of the lists differ.
      const double part = std::pow(10.0, (i - 100) / 25.0);
      linear.weights = {1, static_cast<float>(part)};
      best = std::max(best, mean_ndcg(judged, linear));
    }
    EXPECT_GE(mean_ndcg(judged, learned.linear), best - 0.01);
  }
}

TEST(LearnWeights, AreOfSumOneAndNotNegative) {
  const auto learned = learned_from(judged_queries(20, {2, 1, 0}, {1, 1, 100}, 4), std::nullopt);
  ASSERT_EQ(learned.linear.weights.size(), 3U);
  for (const float weight : learned.linear.weights) EXPECT_GE(weight, 0);
  const auto& weights = learned.linear.weights;
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6);
  EXPECT_EQ(learned.n_judged, 20U);
}

TEST(LearnWeights, TheFigureHeldOutBeatsRrfAndEachListAlone) {
  const auto learned =
      learned_from(judged_queries(300, {2.5F, 1.5F, 0}, {1, 9, 5}, 5), std::nullopt);
  ASSERT_EQ(learned.alone.size(), 3U);
  EXPECT_GT(learned.held_out, learned.rrf + 0.02);
  EXPECT_GT(learned.held_out, learned.alone[0]);
  EXPECT_GT(learned.alone[0], learned.alone[1]);
  EXPECT_GT(learned.alone[1], learned.alone[2]);
}

TEST(LearnWeights, AListAloneIsLearnedIfTheOtherIsNoise) {
  auto judged = judged_queries(50, {9, 0}, {1, 1}, 6);
  const auto learned = learned_from(judged, std::nullopt);
  EXPECT_GE(mean_ndcg(judged, learned.linear), 0.99);
  EXPECT_GE(learned.held_out, 0.98);
}

TEST(LearnWeights, OfQueriesThatFindNothing) {
  Judged judged(kMinJudgedQueries, JudgedLists{{{}, {}}, {PointId::number(1)}});
  const auto learned = learned_from(judged, std::nullopt);
  EXPECT_EQ(learned.linear.weights, (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(learned.held_out, 0);
  EXPECT_EQ(learned.rrf, 0);
}

TEST(LearnWeights, StopsWhenCancelled) {
  const auto judged = judged_queries(20, {2, 1}, {1, 1}, 7);
  Cancel cancel;
  cancel.cancel();
  EXPECT_FALSE(learn_weights(judged, std::nullopt, MissingScore::kZero, cancel));
}

TEST(LearnFusion, RunsThePrefetchesOfEachQuery) {
  const NumbersWorld world;
  FusionLearning learning;
  for (std::uint64_t i = 0; i < kMinJudgedQueries; ++i) {
    JudgedQuery one;
    one.query.kind = Linear{};
    // `dot` finds the greatest numbers; `far` finds the number itself, the relevant one.
    const std::uint64_t number = 1 + i % 8;
    one.query.prefetch = {nearest_number("dot", 1, 8),
                          nearest_number("far", static_cast<float>(number), 8)};
    one.relevant = {PointId::number(number)};
    learning.judged.push_back(std::move(one));
  }
  const auto learned = learn_fusion(world.environment(), learning).value();
  EXPECT_EQ(learned.alone[1], 1) << "distances are turned";
  EXPECT_EQ(learned.held_out, 1);
  EXPECT_LT(learned.alone[0], 1);
  learning.judged[3].query.prefetch[0].using_field = "nosuch";
  EXPECT_FALSE(learn_fusion(world.environment(), learning));
}

}  // namespace
}  // namespace quiver::engine::testing
