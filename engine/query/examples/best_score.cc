// A row is judged by the example that it is most similar to: a positive one gives a score above 0,
// a negative one a score below, and the more similar, the farther from 0.
#include <algorithm>
#include <memory>
#include <numeric>

#include "engine/query/examples/example_score.h"

namespace quiver::engine {
namespace {

class BestScore final : public ExampleScore {
 public:
  BestScore(std::size_t n_positive, std::size_t n_negative)
      : n_positive_(n_positive), n_negative_(n_negative) {}

  void combine(const Similarities& similarities, std::span<float> scores) const override {
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const float positive = greatest(similarities, row, 0, n_positive_);
      const float negative = greatest(similarities, row, n_positive_, n_negative_);
      scores[row] =
          positive > negative ? positive_sigmoid(positive) : 0.0F - positive_sigmoid(negative);
    }
  }
  [[nodiscard]] float best_possible() const override { return n_positive_ == 0 ? 0.0F : 1.0F; }
  [[nodiscard]] std::vector<std::size_t> leading() const override {
    std::vector<std::size_t> examples(n_positive_);
    std::iota(examples.begin(), examples.end(), 0);
    return examples;
  }
  [[nodiscard]] float bound(float similarity) const override {
    return positive_sigmoid(similarity);
  }

 private:
  static float greatest(const Similarities& similarities, std::size_t row, std::size_t first,
                        std::size_t n) {
    float greatest = -std::numeric_limits<float>::infinity();
    for (std::size_t e = first; e < first + n; ++e) {
      greatest = std::max(greatest, similarities(e, row));
    }
    return greatest;
  }

  std::size_t n_positive_;
  std::size_t n_negative_;
};

}  // namespace

ExampleScorePtr best_score(const Recommend& recommend) {
  return std::make_unique<BestScore>(recommend.positive.size(), recommend.negative.size());
}

}  // namespace quiver::engine
