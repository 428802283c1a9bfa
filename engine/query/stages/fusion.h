// Merging ranked lists into one: reciprocal rank fusion and distribution-based score fusion.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"

namespace quiver::engine {

/// A point of a ranked list. `score`: larger is better.
struct Ranked {
  PointId id;
  float score = 0;
};

/// By score, ties by id.
void sort_best_first(std::vector<Ranked>& list);

/// Cormack, Clarke, Buettcher 2009 (Reciprocal Rank Fusion), with weights: a hit of rank r (from 0)
/// in a list of weight w adds 1 / ((r + 1) / w + k - 1); w <= 0 adds nothing. Best first, ties by
/// id. `rrf.weights` is empty (all 1) or has one weight for each list.
[[nodiscard]] std::vector<Ranked> fuse_rrf(std::span<const std::vector<Ranked>> lists,
                                           const Rrf& rrf);

/// Maps each list so that mean - 3 sd is 0 and mean + 3 sd is 1, then adds up the scores.
/// sd: sample standard deviation; no clamping; 0.5 for every hit of a list without spread. Best
/// first, ties by id.
[[nodiscard]] std::vector<Ranked> fuse_dbsf(std::span<const std::vector<Ranked>> lists);

/// Each ranking as fusion takes it: scores as users see them, distances negated, so that larger is
/// better in each.
[[nodiscard]] std::vector<std::vector<Ranked>> lists_of(const std::vector<Ranking>& rankings);

}  // namespace quiver::engine
