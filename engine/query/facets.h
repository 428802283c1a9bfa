// Counts of points by the values of a payload index.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/config.h"
#include "engine/model/facets.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// As Collection::facet.
[[nodiscard]] Result<std::vector<FacetHit>> count_facets(const Snapshot& snapshot,
                                                         const CollectionConfig& config,
                                                         const FacetRequest& request,
                                                         const Cancel& cancel);

}  // namespace quiver::engine
