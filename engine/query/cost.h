// What a query will cost, estimated before it runs.
#pragma once

#include <span>

#include "engine/model/planned_query.h"
#include "engine/model/query.h"
#include "engine/segment/snapshot.h"
#include "payload/schema.h"

namespace quiver::engine {

/// From the searchers' own estimates (`Searcher::bytes_per_search`): no rows are read. `indexes`:
/// those of the collection; they say whether devices answer a query with a filter.
[[nodiscard]] QueryCost estimate_cost(const Snapshot& snapshot, const Query& query,
                                      std::span<const payload::FieldIndex> indexes = {});

}  // namespace quiver::engine
