// The JSON of an upsert, written from a block of rows.
#pragma once

#include <span>
#include <string>

#include "app/import/rows.h"

namespace quiver::app {

/// The body of PUT /collections/{c}/points for some of a block's points.
[[nodiscard]] std::string upsert_body(const RowBlock& block, std::span<const RowPoint> points);

}  // namespace quiver::app
