// How similarities of a row to the examples of a query become the row's score.
//
// Similarities are as in a nearest query, larger is better: distances are negative, and those of
// Euclid are squared.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// Similarities of some rows to all examples. All are finite.
struct Similarities {
  std::span<const float> values;  ///< `[n_examples, n_rows]`
  std::size_t n_rows = 0;

  [[nodiscard]] float operator()(std::size_t example, std::size_t row) const {
    return values[example * n_rows + row];
  }
};

/// Immutable; any number of threads. Examples are numbered as in `vectors_of`.
class ExampleScore {
 public:
  virtual ~ExampleScore() = default;

  /// Writes the score of each row. Larger is better; finite.
  virtual void combine(const Similarities& similarities, std::span<float> scores) const = 0;

  /// No score is greater.
  [[nodiscard]] virtual float best_possible() const {
    return std::numeric_limits<float>::infinity();
  }
  /// Examples that good hits are similar to: no row scores more than `bound(s)` whose similarity to
  /// each of them is at most `s`. Empty: there are none.
  [[nodiscard]] virtual std::vector<std::size_t> leading() const { return {}; }
  [[nodiscard]] virtual float bound(float /*similarity*/) const { return best_possible(); }
  /// `[n_examples]` if the score is the sum of similarities times weights; else empty.
  [[nodiscard]] virtual std::span<const double> weights() const { return {}; }
};
using ExampleScorePtr = std::unique_ptr<const ExampleScore>;

[[nodiscard]] ExampleScorePtr best_score(const Recommend& recommend);     // best_score.cc
[[nodiscard]] ExampleScorePtr sum_of_scores(const Recommend& recommend);  // weighted_sum.cc
[[nodiscard]] ExampleScorePtr make_score(const Discover& discover);       // discover.cc
[[nodiscard]] ExampleScorePtr make_score(const Context& context);         // context.cc
/// O(square of the number of examples). Polls `cancel`. weighted_sum.cc
[[nodiscard]] Result<ExampleScorePtr> make_score(const RelevanceFeedback& query,
                                                 const Cancel& cancel);

/// x / (1 + |x|), in (-1, 1).
[[nodiscard]] float fast_sigmoid(float x);
/// The same, moved to (0, 1).
[[nodiscard]] float positive_sigmoid(float x);

}  // namespace quiver::engine
