// Scores that are a sum of similarities, each times a weight of its example. Sums are in double
// precision: weights of both signs cancel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "engine/query/examples/example_score.h"

namespace quiver::engine {
namespace {

class WeightedSum final : public ExampleScore {
 public:
  explicit WeightedSum(std::vector<double> weights) : weights_(std::move(weights)) {}

  void combine(const Similarities& similarities, std::span<float> scores) const override {
    constexpr double kGreatest = std::numeric_limits<float>::max();
    for (std::size_t row = 0; row < scores.size(); ++row) {
      double sum = 0;
      for (std::size_t e = 0; e < weights_.size(); ++e) sum += weights_[e] * similarities(e, row);
      scores[row] = static_cast<float>(std::clamp(sum, -kGreatest, kGreatest));
    }
  }
  [[nodiscard]] std::span<const double> weights() const override { return weights_; }

 private:
  std::vector<double> weights_;
};

double weight_of_pair(const RelevanceFeedback& query, double confidence) {
  constexpr double kGreatest = std::numeric_limits<float>::max();
  return std::min(std::pow(confidence, static_cast<double>(query.b)), kGreatest) * query.c;
}

/// Each pair of examples with different feedback adds to the one and takes from the other.
Result<std::vector<double>> feedback_weights(const RelevanceFeedback& query, const Cancel& cancel) {
  std::vector<double> weights(1 + query.feedback.size(), 0.0);
  weights[0] = query.a;
  for (std::size_t i = 0; i < query.feedback.size(); ++i) {
    QV_TRY(cancel.check());
    for (std::size_t j = 0; j < query.feedback.size(); ++j) {
      const double confidence =
          static_cast<double>(query.feedback[i].score) - query.feedback[j].score;
      if (!(confidence > 0)) continue;
      const double weight = weight_of_pair(query, confidence);
      weights[1 + i] += weight;
      weights[1 + j] -= weight;
    }
  }
  return weights;
}

}  // namespace

ExampleScorePtr sum_of_scores(const Recommend& recommend) {
  std::vector<double> weights(recommend.positive.size(), 1.0);
  weights.insert(weights.end(), recommend.negative.size(), -1.0);
  return std::make_unique<WeightedSum>(std::move(weights));
}

Result<ExampleScorePtr> make_score(const RelevanceFeedback& query, const Cancel& cancel) {
  QV_TRY(auto weights, feedback_weights(query, cancel));
  return std::make_unique<WeightedSum>(std::move(weights));
}

}  // namespace quiver::engine
