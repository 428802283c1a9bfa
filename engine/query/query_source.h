// Answers queries together: the part of a collection that the batcher needs.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// Thread-safe.
class QuerySource {
 public:
  virtual ~QuerySource() = default;

  /// One answer for each query, all from one snapshot. If one query fails, all fail with its error.
  [[nodiscard]] virtual Result<std::vector<std::vector<Record>>> query_batch(
      std::span<const Query> queries, const Cancel& cancel) const = 0;
};

}  // namespace quiver::engine
