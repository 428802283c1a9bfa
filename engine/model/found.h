// What a part of a collection finds for a query, to be ranked with what other parts find: plain
// structs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/schema.h"
#include "engine/model/query.h"
#include "engine/model/row.h"

namespace quiver::engine {

/// What is wanted of rows, besides their ids.
struct RowParts {
  bool payload = false;
  bool vectors = false;
};

struct FoundPoint {
  Row row;          ///< without a payload and vectors that are not wanted
  float score = 0;  ///< larger is better
  std::optional<OrderValue> order_value;
};

/// A ranking of one part, or of several. The flags are those of a ranking
/// (engine/query/stages/candidates.h).
struct FoundPoints {
  std::vector<FoundPoint> points;  ///< best first
  Metric metric = Metric::kDot;
  bool is_fused = false;
  bool is_listing = false;
  bool is_redrawn = false;
  std::uint64_t n_matching = 0;  ///< points from which a sample was drawn; of samples only
};

}  // namespace quiver::engine
