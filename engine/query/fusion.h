// Merging ranked lists into one: reciprocal rank fusion and distribution-based score fusion.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// A point of a ranked list. `score`: larger is better.
struct Ranked {
  PointId id;
  float score = 0;
};

/// Cormack, Clarke, Buettcher 2009, with weights: a hit of rank r (from 0) adds
/// 1 / ((r + 1) / w + k - 1); a weight of 0 or less adds nothing. Best first, ties by id.
[[nodiscard]] std::vector<Ranked> fuse_rrf(std::span<const std::vector<Ranked>> lists,
                                           const Rrf& rrf);

/// Each list is mapped so that mean - 3 sd is 0 and mean + 3 sd is 1 (sample standard deviation;
/// not clamped; 0.5 where there is no spread), then scores are added. Best first, ties by id.
[[nodiscard]] std::vector<Ranked> fuse_dbsf(std::span<const std::vector<Ranked>> lists);

}  // namespace quiver::engine
