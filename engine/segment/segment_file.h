// The file of a sealed segment: docs/formats/segment.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

inline constexpr std::string_view kSegmentFile = "rows.qvs";

/// Ids of the directories in `segments` that are named like segments. Others are ignored.
[[nodiscard]] Result<std::vector<std::uint64_t>> segment_ids(const Directory& segments);

/// A row of one of several segments.
struct RowRef {
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
};

/// The live rows of `inputs`, ascending by id. `group_by_tenant` may order them otherwise.
[[nodiscard]] std::vector<RowRef> live_rows_by_id(std::span<const Segment> inputs);

/// Writes `rows`, in any order, as a segment file and syncs it, but not its directory. Memory: a
/// few megabytes and the table of rows. `progress` gets the share done.
[[nodiscard]] Result<> write_segment_file(Directory& directory, std::span<const Segment> inputs,
                                          std::span<const RowRef> rows, const Cancel& cancel,
                                          const std::function<void(double)>& progress);

/// Maps and checks a segment file. kDataLoss if any byte of it is not as written. No row has a
/// vector of a field that the file lacks, or that was dropped.
[[nodiscard]] Result<SegmentData> open_segment_file(const Directory& directory, std::uint64_t id,
                                                    const std::vector<FieldSchema>& fields);

}  // namespace quiver::engine
