// Hits grouped by a payload value.
//
// The answer is that of the query's complete ranking: its first `limit` distinct values, and the
// first `group_size` hits of each. It is found by few searches. The first one takes some more hits
// than the groups can hold. If groups are missing, further ones search among the points that have
// another value; if hits are missing, among the points of the groups that are not full. Each takes
// many times more hits than the one before, so that the last one takes all.
//
// With prefetches, or under MMR, a filter would change scores and order. Then one search takes
// everything: prefetches find `group_size` times as many points, and MMR chooses as many hits as
// the groups can hold.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "engine/model/groups.h"
#include "engine/query/stages/candidates.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// Ranks a query that differs from the request's in its filters and limits.
using RankQuery = std::function<Result<Ranking>(const Query&)>;

/// As Collection::groups. `rank`: who searches; empty: `environment` is searched. What it ranks
/// lives until the end of the call.
[[nodiscard]] Result<std::vector<PointGroup>> find_groups(const SearchEnvironment& environment,
                                                          const GroupsQuery& request,
                                                          const RankQuery& rank = {});

}  // namespace quiver::engine
