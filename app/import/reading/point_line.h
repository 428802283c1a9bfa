// Reads a point from a line of JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/import/reading/payload_line.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/model/vector.h"

namespace quiver::app {

struct LinePoint {
  std::optional<PointId> id;
  std::string payload;  ///< canonical JSON object; empty: none
  std::vector<engine::NamedVector> vectors;
};

/// Reads a line that is a payload. kInvalidArgument says what is wrong.
[[nodiscard]] Result<LinePoint> read_payload_line(const std::string& line,
                                                  const PayloadRules& rules);
/// Reads {"id", "vector", "payload"}, all optional. May append padding to `line`.
[[nodiscard]] Result<LinePoint> read_point_line(std::string& line, const PayloadRules& rules);

}  // namespace quiver::app
