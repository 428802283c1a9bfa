// What the vectors of a collection are searched with, for reports.
#pragma once

#include <vector>

#include "engine/model/reports.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// By field and index, ascending.
[[nodiscard]] std::vector<VectorIndexInfo> vector_index_info(const Snapshot& snapshot);

/// Appends what the segments of a shard are searched with.
void add_segment_indexes(const SegmentSet& set, std::uint32_t shard,
                         std::vector<SegmentIndexInfo>& infos);

}  // namespace quiver::engine
