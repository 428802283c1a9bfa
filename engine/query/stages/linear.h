// Linear fusion: scores scaled list by list, then their weighted sum.
#pragma once

#include <span>
#include <vector>

#include "engine/model/query.h"
#include "engine/query/stages/fusion.h"

namespace quiver::engine {

/// The scaled score of each hit, in the order of `list`. All are finite: a score that is none
/// counts as the nearest number, NaN as the lowest.
[[nodiscard]] std::vector<double> scaled_scores(std::span<const Ranked> list,
                                                Normalization normalization);

/// What a list adds to points that it lacks. `scaled`: the scaled scores of its hits.
[[nodiscard]] double missing_score(std::span<const double> scaled, MissingScore missing);

/// The weighted sums, best first, ties by id. `linear.weights` is empty or has one finite weight
/// for each list. Sums are made in double precision and rounded to finite floats.
[[nodiscard]] std::vector<Ranked> fuse_linear(std::span<const std::vector<Ranked>> lists,
                                              const Linear& linear);

}  // namespace quiver::engine
