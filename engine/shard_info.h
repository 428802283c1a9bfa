// What a shard consists of, for reports.
#pragma once

#include "engine/collection.h"
#include "engine/indexes.h"
#include "engine/segment.h"

namespace quiver::engine {

/// By their place in the snapshot.
[[nodiscard]] std::vector<SegmentInfo> segment_infos(const SegmentSet& set,
                                                     const IndexPolicy& policy);

}  // namespace quiver::engine
