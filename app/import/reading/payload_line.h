// A line of JSON as a payload, and the id in it.
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
  std::vector<std::string> keys;         ///< members to keep, at the top level; empty: all
  std::optional<std::string> id_column;  ///< the member that holds the id; it stays if it is kept
};

struct PayloadLine {
  std::string payload;  ///< canonical JSON object; empty: none
  std::optional<PointId> id;
};

/// An unsigned integer, or a UUID as text.
[[nodiscard]] Result<PointId> to_point_id(const payload::Value& value);

/// kInvalidArgument unless `line` is a JSON object (or null, without an id column) that holds what
/// the rules want.
[[nodiscard]] Result<PayloadLine> read_payload(std::string_view line, const PayloadRules& rules);

}  // namespace quiver::app
