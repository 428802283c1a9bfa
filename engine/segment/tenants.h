// The order of rows in a new segment: those of a tenant lie together, so that a search of one
// tenant reads neighbouring rows. docs/decisions/0042.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "payload/filter.h"
#include "payload/schema.h"

namespace quiver::engine {

/// The keyword, uuid or integer index that was created with `is_tenant`, the first by key; nullptr
/// if there is none.
[[nodiscard]] const payload::FieldIndex* tenant_index(std::span<const payload::FieldIndex> indexes);

/// The conditions of `filter` that name the tenants of all its points, alone: `match` by a value or
/// by any of several on the key of the tenant index, in `must`. nullptr if it names none.
[[nodiscard]] std::shared_ptr<const payload::Filter> tenant_filter(
    const payload::Filter& filter, std::span<const payload::FieldIndex> indexes);

/// Orders `rows`, which ascend by id, by their least tenant, those without one last, and within a
/// tenant by id. Nothing changes without a tenant index. The order depends on the rows alone.
[[nodiscard]] Result<> group_by_tenant(std::vector<RowRef>& rows, std::span<const Segment> inputs,
                                       std::span<const payload::FieldIndex> indexes);

}  // namespace quiver::engine
