// Recall from exact scores: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/topk.h"

namespace quiver::bench {

/// The perfect answer to one query: `n` = min(k, matches) rows with exact scores >= `kth_score`
/// (larger is better).
struct Perfect {
  std::size_t n = 0;
  float kth_score = 0;
  /// Size of the terms that a score sums up (`size_of_terms`); bounds the rounding error.
  double term_size = 0;
};

/// `exact`: exact scores of the best rows, in any order, at least min(k, matches) of them.
[[nodiscard]] Perfect perfect_answer(std::span<const float> exact, std::size_t k);

/// Lowest score that counts as a hit: kth_score - 1e-6 * max(term_size, |kth_score|). Ties with the
/// k-th row count, whichever was returned. Scores near zero are differences of large terms, hence
/// `term_size` (docs/decisions/0008). Scaling all vectors does not change the hits.
[[nodiscard]] double hit_floor(const Perfect& perfect);

/// Number of hits among the first k of `returned`, divided by `perfect.n`, at most 1; 1 if
/// `perfect.n` is 0. Scores of `returned` are exact; a row that repeats counts once.
[[nodiscard]] double recall_of(const Perfect& perfect, std::size_t k,
                               std::span<const index::Hit> returned);

struct RecallSummary {
  double mean = 1;
  double p5 = 1;            ///< 5th percentile over queries, nearest rank
  std::size_t n_short = 0;  ///< queries that returned fewer than min(k, matches) rows
};
/// `perfect[i]` and `returned[i]` belong to query `i`.
[[nodiscard]] RecallSummary summarise_recall(std::span<const Perfect> perfect, std::size_t k,
                                             std::span<const std::vector<index::Hit>> returned);

/// Number of queries whose k-th returned score exceeds the truth's by more than the tolerance.
/// Above 0, the given truth is wrong.
[[nodiscard]] std::size_t count_better_than_truth(
    std::span<const Perfect> perfect, std::span<const std::vector<index::Hit>> returned);

}  // namespace quiver::bench
