// A row loses something for each pair on whose negative side it is, less the nearer it is to the
// border. Rows on the positive side of all pairs score 0.
#include <algorithm>
#include <limits>
#include <memory>

#include "engine/query/examples/example_score.h"

namespace quiver::engine {
namespace {

class ContextScore final : public ExampleScore {
 public:
  explicit ContextScore(std::size_t n_pairs) : n_pairs_(n_pairs) {}

  void combine(const Similarities& similarities, std::span<float> scores) const override {
    constexpr float kMargin = std::numeric_limits<float>::epsilon();
    for (std::size_t row = 0; row < scores.size(); ++row) {
      float sum = 0;
      for (std::size_t p = 0; p < n_pairs_; ++p) {
        const float lead = similarities(2 * p, row) - similarities(2 * p + 1, row) - kMargin;
        const float least = std::numeric_limits<float>::lowest();
        sum += fast_sigmoid(std::clamp(lead, least, 0.0F));
      }
      scores[row] = sum;
    }
  }
  [[nodiscard]] float best_possible() const override { return 0; }

 private:
  std::size_t n_pairs_;
};

}  // namespace

ExampleScorePtr make_score(const Context& context) {
  return std::make_unique<ContextScore>(context.pairs.size());
}

}  // namespace quiver::engine
