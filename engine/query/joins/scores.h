// Scores of a join as users see them, and what they mean as distances.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/schema.h"
#include "engine/query/stages/candidates.h"

namespace quiver::engine {

/// True if a score is `wanted` or better, as users see scores: a distance at most that.
[[nodiscard]] inline bool is_at_least(Metric metric, float score, float wanted) {
  const float shown = shown_score(metric, score);
  return is_distance(metric) ? shown <= wanted : shown >= wanted;
}

/// A distance that grows as scores fall, >= 0 under distances and Cosine.
[[nodiscard]] inline float distance_of(Metric metric, float score) {
  if (is_distance(metric)) return shown_score(metric, score);
  return metric == Metric::kCosine ? std::max(0.0F, 1 - score) : -score;
}

}  // namespace quiver::engine
