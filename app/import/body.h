// The JSON of an upsert, written from a block of rows.
#pragma once

#include <span>
#include <string>

#include "app/import/rows.h"

namespace quiver::app {

/// The body of PUT /collections/{c}/points for some of a block's points. Replaces `body`, whose
/// memory is used again.
void write_upsert(const RowBlock& block, std::span<const RowPoint> points, std::string& body);

}  // namespace quiver::app
