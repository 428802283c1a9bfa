// The score below which nothing is a hit.
#pragma once

#include "engine/model/query.h"
#include "engine/query/stages/candidates.h"

namespace quiver::engine {

/// Drops the candidates whose shown score is worse than `query.score_threshold`, if there is one.
/// A score that equals the threshold stays in a fused ranking only.
void apply_threshold(const Query& query, Ranking& ranking);

}  // namespace quiver::engine
