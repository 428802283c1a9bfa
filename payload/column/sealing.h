// Merges rows of several columns into one sealed column, in memory.
#pragma once

#include <span>

#include "payload/column/column.h"

namespace quiver::payload {

/// Row i of the result is `rows[i]` of `sources`; see `write_column`.
[[nodiscard]] ColumnView seal(std::span<const ColumnView> sources, std::span<const RowOrigin> rows);

}  // namespace quiver::payload
