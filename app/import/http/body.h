// The body of an upsert, written from a block of rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/import/plan/rows.h"

namespace quiver::app {

/// The names of the block's columns of multi-vectors, whose tokens go before the JSON as binary
/// matrices, in this order. None: the body is JSON alone.
[[nodiscard]] std::vector<std::string> token_fields(const RowBlock& block);

/// The body of an upsert of some of a block's points: JSON for PUT /collections/{c}/points, or a
/// ragged body (docs/late-interaction.md) where there are `token_fields`. Replaces `body`, whose
/// memory is used again.
void write_upsert(const RowBlock& block, std::span<const RowPoint> points, std::string& body);

}  // namespace quiver::app
