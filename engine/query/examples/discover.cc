// The whole part of a score says on how many sides of pairs a row is right (+1) or wrong (-1), the
// fraction how similar it is to the target.
#include <memory>

#include "engine/query/examples/example_score.h"

namespace quiver::engine {
namespace {

class DiscoverScore final : public ExampleScore {
 public:
  explicit DiscoverScore(std::size_t n_pairs) : n_pairs_(n_pairs) {}

  void combine(const Similarities& similarities, std::span<float> scores) const override {
    for (std::size_t row = 0; row < scores.size(); ++row) {
      int rank = 0;
      for (std::size_t p = 0; p < n_pairs_; ++p) {
        const float positive = similarities(1 + 2 * p, row);
        const float negative = similarities(2 + 2 * p, row);
        rank += static_cast<int>(positive > negative) - static_cast<int>(positive < negative);
      }
      scores[row] = static_cast<float>(rank) + positive_sigmoid(similarities(0, row));
    }
  }
  [[nodiscard]] float best_possible() const override { return bound_of(1.0F); }
  [[nodiscard]] std::vector<std::size_t> leading() const override { return {0}; }
  [[nodiscard]] float bound(float similarity) const override {
    return bound_of(positive_sigmoid(similarity));
  }

 private:
  [[nodiscard]] float bound_of(float fraction) const {
    return static_cast<float>(n_pairs_) + fraction;
  }

  std::size_t n_pairs_;
};

}  // namespace

ExampleScorePtr make_score(const Discover& discover) {
  return std::make_unique<DiscoverScore>(discover.pairs.size());
}

}  // namespace quiver::engine
