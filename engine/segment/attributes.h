// The attributes of sealed segments: made when a segment is sealed, opened with it.
#pragma once

#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/reports.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// Makes the attributes of `data` from its documents, over an older file if there is one. The file
/// is durable on return, the directory is not.
[[nodiscard]] Result<> make_attributes(SegmentData& data, Directory& directory,
                                       const Cancel& cancel);
/// Opens the attributes of a sealed segment; makes them if they are missing or damaged.
[[nodiscard]] Result<> open_attributes(SegmentData& data, Directory& directory,
                                       const Cancel& cancel);

[[nodiscard]] std::vector<AttributeInfo> attribute_infos(const SegmentData& data);

}  // namespace quiver::engine
