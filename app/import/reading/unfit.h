// Which rows the fields of the collection cannot hold as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/import/plan/rows.h"
#include "app/import/reading/bad_rows.h"
#include "base/result.h"
#include "base/schema.h"

namespace quiver::app {

/// Moves the points that do not fit `fields` from `block` to `bad_rows`; `describe` names a row.
/// Slow, because it checks every vector: used for refused blocks and JSON points. If a bad point
/// stops the import, the block ends before it and the error is returned.
Result<> remove_unfit(RowBlock& block, const std::vector<FieldSchema>& fields, BadRows& bad_rows,
                      const std::function<std::string(std::uint64_t)>& describe);

/// True if a number is outside 0..255 and its field is uint8: the server would clamp it, but an
/// import takes it for a mistake.
[[nodiscard]] bool would_be_clamped(const RowBlock& block, const std::vector<FieldSchema>& fields);

}  // namespace quiver::app
