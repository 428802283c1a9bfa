// Writes a sealed segment with all its files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "payload/schema.h"

namespace quiver::engine {

/// The content of a new segment. Borrowed.
struct NewSegment {
  std::uint64_t id = 0;
  std::span<const Segment> inputs;
  std::span<const RowRef> rows;  ///< rows of `inputs` in their new order, at least one
  std::span<const payload::FieldIndex> indexes;
};

/// Writes rows and payload columns into the directory `segments`/<id> and opens them. Durable on
/// return. `progress` gets the share done.
[[nodiscard]] Result<SegmentData> write_segment(const NewSegment& segment, Directory& segments,
                                                const std::vector<FieldSchema>& fields,
                                                const Cancel& cancel,
                                                const std::function<void(double)>& progress);

}  // namespace quiver::engine
