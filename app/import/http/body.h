// Writes the body of an upsert from a block of rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/import/plan/rows.h"

namespace quiver::app {

/// Names of the block's multi-vector columns, in order. Their tokens precede the JSON as binary
/// matrices. Without such columns the body is only JSON.
[[nodiscard]] std::vector<std::string> token_fields(const RowBlock& block);

/// Writes the body of an upsert of `points`, which belong to `block`: JSON for PUT
/// /collections/{c}/points, or a ragged body (docs/late-interaction.md) if there are
/// `token_fields`. Replaces `body` and reuses its memory.
void write_upsert(const RowBlock& block, std::span<const RowPoint> points, std::string& body);

}  // namespace quiver::app
