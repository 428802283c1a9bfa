// The vector fields of a segment when those of its collection change.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/schema.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// A field that none of `n_rows` points has. Besides `present` it takes no memory: nobody reads the
/// values of an absent row.
[[nodiscard]] index::FieldColumn absent_column(const FieldSchema& schema, std::size_t n_rows);

/// True if `data` has a column for each of `fields`, and those of dropped fields are empty.
[[nodiscard]] bool follows(const SegmentData& data, const std::vector<FieldSchema>& fields);
/// `data` with absent columns for the fields it lacks and without the vectors of dropped ones. Its
/// other columns must be the first of `fields`, in order.
[[nodiscard]] std::shared_ptr<const SegmentData> with_fields(
    std::shared_ptr<const SegmentData> data, const std::vector<FieldSchema>& fields);

}  // namespace quiver::engine
