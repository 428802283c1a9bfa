// What a query will cost, estimated before it runs.
#pragma once

#include "engine/model/config.h"
#include "engine/model/planned_query.h"
#include "engine/model/query.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// From the searchers' own estimates (`Searcher::bytes_per_search`): no rows are read.
[[nodiscard]] QueryCost estimate_cost(const Snapshot& snapshot, const Query& query,
                                      const CollectionConfig& config);

}  // namespace quiver::engine
