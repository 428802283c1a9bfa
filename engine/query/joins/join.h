// Joins of a field with itself: the neighbours of each point, pairs of duplicates, clusters,
// vectors of the graph's nodes.
#pragma once

#include "base/result.h"
#include "engine/model/joins.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// The join of one snapshot. Runs on the environment's executor. Errors as of JoinRows::gather,
/// NeighbourSearch::make and the kinds of joins; kCancelled.
[[nodiscard]] Result<JoinTable> run_join(const SearchEnvironment& environment,
                                         const JoinRequest& request, JoinProgress& progress);

/// kInvalidArgument if `run_join` would refuse the request, or its outcome could not be written
/// into the collection.
[[nodiscard]] Result<> check_join(const SearchEnvironment& environment, const JoinRequest& request);

}  // namespace quiver::engine
