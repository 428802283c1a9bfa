#include "bench/ann/recall.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "bench/common/statistics.h"

namespace quiver::bench {
namespace {

double tolerance(const Perfect& perfect) {
  return 1e-6 * std::max(perfect.term_size, std::abs(double{perfect.kth_score}));
}

std::vector<index::Hit> distinct_rows(std::span<const index::Hit> hits) {
  std::vector<index::Hit> distinct(hits.begin(), hits.end());
  const auto by_row = [](const auto& a, const auto& b) { return a.row < b.row; };
  const auto same_row = [](const auto& a, const auto& b) { return a.row == b.row; };
  std::sort(distinct.begin(), distinct.end(), by_row);
  distinct.erase(std::unique(distinct.begin(), distinct.end(), same_row), distinct.end());
  return distinct;
}

}  // namespace

Perfect perfect_answer(std::span<const float> exact, std::size_t k) {
  const std::size_t n = std::min(k, exact.size());
  if (n == 0) return {};
  std::vector<float> scores(exact.begin(), exact.end());
  const auto kth = scores.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return {n, *kth};
}

double hit_floor(const Perfect& perfect) { return double{perfect.kth_score} - tolerance(perfect); }

double recall_of(const Perfect& perfect, std::size_t k, std::span<const index::Hit> returned) {
  if (perfect.n == 0) return 1;
  const double floor = hit_floor(perfect);
  const auto rows = distinct_rows(returned.first(std::min(k, returned.size())));
  const auto n_hits = std::count_if(rows.begin(), rows.end(),
                                    [&](const index::Hit& hit) { return hit.score >= floor; });
  return std::min(1.0, static_cast<double>(n_hits) / static_cast<double>(perfect.n));
}

RecallSummary summarise_recall(std::span<const Perfect> perfect, std::size_t k,
                               std::span<const std::vector<index::Hit>> returned) {
  RecallSummary summary;
  if (perfect.empty()) return summary;
  std::vector<double> recalls;
  for (std::size_t i = 0; i < perfect.size(); ++i) {
    recalls.push_back(recall_of(perfect[i], k, returned[i]));
    if (distinct_rows(returned[i]).size() < perfect[i].n) ++summary.n_short;
  }
  const double sum = std::accumulate(recalls.begin(), recalls.end(), 0.0);
  summary.mean = sum / static_cast<double>(recalls.size());
  summary.p5 = percentile(recalls, 0.05);
  return summary;
}

std::size_t count_better_than_truth(std::span<const Perfect> perfect,
                                    std::span<const std::vector<index::Hit>> returned) {
  std::size_t n_better = 0;
  for (std::size_t i = 0; i < perfect.size(); ++i) {
    const auto rows = distinct_rows(returned[i]);
    std::vector<float> scores;
    for (const auto& hit : rows) scores.push_back(hit.score);
    const Perfect found = perfect_answer(scores, perfect[i].n);
    const double limit = perfect[i].kth_score + tolerance(perfect[i]);
    if (perfect[i].n != 0 && found.n == perfect[i].n && found.kth_score > limit) ++n_better;
  }
  return n_better;
}

}  // namespace quiver::bench
