// Payload columns of segments: which are missing, and how they are built and opened.
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
/// True if one column serves both: same key, kind and text options.
[[nodiscard]] bool same_column(const payload::FieldIndex& a, const payload::FieldIndex& b);
/// The name of the column file of an index. It depends on key, kind and text options.
[[nodiscard]] std::string column_file(const payload::FieldIndex& index);

[[nodiscard]] bool lacks_columns(const SegmentData& data,
                                 std::span<const payload::FieldIndex> indexes);
/// Builds the columns that `data` lacks. Those of a sealed segment are files in its directory below
/// `segments`, durable on return; others are in memory.
[[nodiscard]] Result<ColumnMap> missing_columns(const SegmentData& data,
                                                std::span<const payload::FieldIndex> indexes,
                                                Directory& segments);

/// The column made from the documents, whatever files there are.
[[nodiscard]] Result<payload::ColumnView> column_in_memory(const SegmentData& data,
                                                           const payload::FieldIndex& index);

/// Opens the columns of a sealed segment; builds those that are missing or damaged, and removes the
/// files of others.
[[nodiscard]] Result<> open_columns(SegmentData& data, Directory& directory,
                                    std::span<const payload::FieldIndex> indexes);
/// Writes and opens the columns of a segment that consists of `rows` of `inputs`.
[[nodiscard]] Result<> merge_columns(SegmentData& output, std::span<const Segment> inputs,
                                     std::span<const RowRef> rows, Directory& directory,
                                     std::span<const payload::FieldIndex> indexes);

}  // namespace quiver::engine
