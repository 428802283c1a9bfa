// How many points of each tenant a collection has, and whether an update fits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "engine/write/update_parts.h"

namespace quiver::engine {

/// kFailedPrecondition, naming tenant and numbers, if after the update some tenant would have more
/// points than before and more than it may. A point with several tenants counts for each. `sets`:
/// the state of each shard, to which nothing may happen until the update is applied. A part that
/// cannot be applied changes nothing.
[[nodiscard]] Result<> check_tenants(const std::vector<std::shared_ptr<const SegmentSet>>& sets,
                                     const CollectionConfig& config,
                                     std::span<const UpdatePart> parts);

}  // namespace quiver::engine
