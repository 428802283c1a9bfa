// Payload columns of segments: which are wanted, which are there, how they are made.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "payload/column/column.h"
#include "payload/schema.h"

namespace quiver::engine {

using ColumnMap = std::map<std::string, payload::ColumnView, std::less<>>;

/// nullptr if no index has this key.
[[nodiscard]] const payload::FieldIndex* find_index(std::span<const payload::FieldIndex> indexes,
                                                    std::string_view key);
/// Whether one column serves both: same key, kind and text options.
[[nodiscard]] bool same_column(const payload::FieldIndex& a, const payload::FieldIndex& b);
/// The name of an index's column file; another kind or other text options give another name.
[[nodiscard]] std::string column_file(const payload::FieldIndex& index);

[[nodiscard]] bool lacks_columns(const SegmentData& data,
                                 std::span<const payload::FieldIndex> indexes);
/// Builds what `data` lacks: for a sealed segment as files in its directory below `segments`, which
/// are durable on return, else in memory.
[[nodiscard]] Result<ColumnMap> missing_columns(const SegmentData& data,
                                                std::span<const payload::FieldIndex> indexes,
                                                Directory& segments);

/// Opens the columns of a sealed segment; what is missing or damaged is built again.
[[nodiscard]] Result<> open_columns(SegmentData& data, Directory& directory,
                                    std::span<const payload::FieldIndex> indexes);
/// Writes the columns of a segment made of `rows` of `inputs`, and opens them.
[[nodiscard]] Result<> merge_columns(SegmentData& output, std::span<const Segment> inputs,
                                     std::span<const RowRef> rows, Directory& directory,
                                     std::span<const payload::FieldIndex> indexes);

}  // namespace quiver::engine
