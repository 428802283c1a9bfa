// Vector indexes that the configuration does not want any more.
#pragma once

#include <memory>

#include "base/io/file.h"
#include "engine/indexing/indexes.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// `data` without the indexes that `policy` wants in no segment, and their files removed. An index
/// that is wanted with other parameters stays until its successor is built. `segments`: the shard's
/// directory of segments.
[[nodiscard]] std::shared_ptr<const SegmentData> without_unwanted_indexes(
    std::shared_ptr<const SegmentData> data, Directory& segments, const IndexPolicy& policy);

}  // namespace quiver::engine
