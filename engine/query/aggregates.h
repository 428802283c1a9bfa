// Counts, statistics and histograms of the payload values of matching points.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/aggregates.h"
#include "engine/model/config.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// As Collection::aggregate.
[[nodiscard]] Result<std::vector<Aggregate>> aggregate(const Snapshot& snapshot,
                                                       const CollectionConfig& config,
                                                       const AggregateRequest& request,
                                                       const Cancel& cancel);

}  // namespace quiver::engine
