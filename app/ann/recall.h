// The arithmetic of recall: pure functions of exact scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/topk.h"

namespace quiver::app {

/// What a perfect answer to one query is: `n` rows, min(k, matches), whose exact scores (larger is
/// better) reach `kth_score`.
struct Perfect {
  std::size_t n = 0;
  float kth_score = 0;
  /// How large the terms are that scores are sums of (`size_of_terms`): what rounding goes by.
  double term_size = 0;
};

/// `exact`: the exact scores of the best rows in any order, at least min(k, matches) of them.
[[nodiscard]] Perfect perfect_answer(std::span<const float> exact, std::size_t k);

/// Scores from here on count as hits: the k-th best less 1e-6 of it, or of `term_size` if that is
/// larger (scores near zero are differences of large terms; docs/decisions/0008), so that ties
/// count whichever of them was returned. Vectors times a constant: the same hits.
[[nodiscard]] double hit_floor(const Perfect& perfect);

/// Hits among the first k of `returned`, whose scores are exact and whose rows may repeat (counted
/// once), divided by `perfect.n`, at most 1. With nothing to find it is 1.
[[nodiscard]] double recall_of(const Perfect& perfect, std::size_t k,
                               std::span<const index::Hit> returned);

struct RecallSummary {
  double mean = 1;
  double p5 = 1;            ///< the 5th percentile over queries, by nearest rank
  std::size_t n_short = 0;  ///< queries that returned fewer than min(k, matches) rows
};
/// `perfect[i]` and `returned[i]` belong to query i.
[[nodiscard]] RecallSummary summarise_recall(std::span<const Perfect> perfect, std::size_t k,
                                             std::span<const std::vector<index::Hit>> returned);

/// Queries whose k-th returned score is better than the k-th of the truth by more than the
/// tolerance: then it is not the truth.
[[nodiscard]] std::size_t count_better_than_truth(
    std::span<const Perfect> perfect, std::span<const std::vector<index::Hit>> returned);

}  // namespace quiver::app
