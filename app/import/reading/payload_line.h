// Reads a payload, and the id in it, from a line of JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "payload/json/document.h"

namespace quiver::app {

struct PayloadRules {
  std::vector<std::string> keys;  ///< top-level members to keep; empty: all
  std::optional<std::string>
      id_column;  ///< member that holds the id; `keys` decides whether it stays
};

struct PayloadLine {
  std::string payload;  ///< canonical JSON object; empty: none
  std::optional<PointId> id;
};

/// Accepts an unsigned integer or a UUID as text.
[[nodiscard]] Result<PointId> to_point_id(const payload::Value& value);

/// kInvalidArgument unless `line` is a JSON object with a valid id column, or null where no id
/// column is wanted.
[[nodiscard]] Result<PayloadLine> read_payload(std::string_view line, const PayloadRules& rules);

}  // namespace quiver::app
