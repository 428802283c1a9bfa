// Reports on the indexes of a collection.
#pragma once

#include <vector>

#include "engine/model/reports.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// One entry per field and index, ascending.
[[nodiscard]] std::vector<VectorIndexInfo> vector_index_info(const Snapshot& snapshot);

/// Appends an entry per segment and field of a shard.
void add_segment_indexes(const SegmentSet& set, std::uint32_t shard,
                         std::vector<SegmentIndexInfo>& infos);

}  // namespace quiver::engine
