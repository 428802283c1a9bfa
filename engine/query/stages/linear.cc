#include "engine/query/stages/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace quiver::engine {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

double finite(double score) {
  return std::isnan(score) ? -kLargest : std::clamp(score, -kLargest, kLargest);
}

void scale_min_max(std::vector<double>& scores) {
  const auto [low, high] = std::ranges::minmax(scores);
  for (double& score : scores) score = high > low ? (score - low) / (high - low) : 1;
}

void scale_z_score(std::vector<double>& scores) {
  const auto n = static_cast<double>(scores.size());
  double mean = 0;
  for (const double score : scores) mean += score / n;
  double squares = 0;
  for (const double score : scores) squares += (score - mean) * (score - mean);
  const auto [low, high] = std::ranges::minmax(scores);
  const double deviation = high > low ? std::sqrt(squares / (n - 1)) : 0;
  for (double& score : scores) score = deviation > 0 ? (score - mean) / deviation : 0;
}

void scale_quantile(std::vector<double>& scores) {
  auto sorted = scores;
  std::ranges::sort(sorted);
  const auto n = static_cast<double>(scores.size());
  for (double& score : scores) {
    const auto n_worse =
        static_cast<double>(std::ranges::lower_bound(sorted, score) - sorted.begin());
    const auto n_no_better =
        static_cast<double>(std::ranges::upper_bound(sorted, score) - sorted.begin());
    score = (n_worse + 1 + n_no_better) / 2 / n;
  }
}

}  // namespace

std::vector<double> scaled_scores(std::span<const Ranked> list, Normalization normalization) {
  std::vector<double> scores;
  scores.reserve(list.size());
  for (const auto& hit : list) scores.push_back(finite(hit.score));
  if (scores.empty()) return scores;
  switch (normalization) {
    case Normalization::kMinMax:
      scale_min_max(scores);
      break;
    case Normalization::kZScore:
      scale_z_score(scores);
      break;
    case Normalization::kQuantile:
      scale_quantile(scores);
      break;
    case Normalization::kNone:
      break;
  }
  return scores;
}

double missing_score(std::span<const double> scaled, MissingScore missing) {
  const bool has_lowest = missing == MissingScore::kLowest && !scaled.empty();
  return has_lowest ? std::ranges::min(scaled) : 0;
}

std::vector<Ranked> fuse_linear(std::span<const std::vector<Ranked>> lists, const Linear& linear) {
  std::unordered_map<PointId, std::size_t> row_of;
  for (const auto& list : lists) {
    for (const auto& hit : list) row_of.emplace(hit.id, row_of.size());
  }
  std::vector<double> sums(row_of.size());
  std::vector<double> scores(row_of.size());  // of one list, weighted
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const double weight = linear.weights.empty() ? 1 : linear.weights[i];
    const auto scaled = scaled_scores(lists[i], linear.normalization);
    std::ranges::fill(scores, weight * missing_score(scaled, linear.missing));
    for (std::size_t rank = 0; rank < scaled.size(); ++rank) {
      scores[row_of.at(lists[i][rank].id)] = weight * scaled[rank];
    }
    for (std::size_t row = 0; row < sums.size(); ++row) sums[row] += scores[row];
  }
  std::vector<Ranked> fused;
  fused.reserve(sums.size());
  for (const auto& [id, row] : row_of) {
    fused.push_back({id, static_cast<float>(finite(sums[row]))});
  }
  sort_best_first(fused);
  return fused;
}

}  // namespace quiver::engine
