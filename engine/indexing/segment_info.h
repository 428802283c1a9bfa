// What a shard consists of, for reports.
#pragma once

#include "engine/indexing/indexes.h"
#include "engine/model/reports.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// By their place in the snapshot; the mutable segment comes last, even if it is empty.
[[nodiscard]] std::vector<SegmentInfo> segment_infos(const SegmentSet& set,
                                                     const IndexPolicy& policy);

}  // namespace quiver::engine
