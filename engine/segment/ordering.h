// Points of a snapshot in the order of their ids, or of a payload value: scrolling and `order_by`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/threads/cancel.h"
#include "engine/model/config.h"
#include "engine/model/query.h"
#include "engine/segment/snapshot.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// The first `n` matching points by id, from `from` (inclusive) on. `predicate`: nullptr matches
/// every point.
[[nodiscard]] Result<std::vector<Snapshot::Place>> first_points_by_id(
    const Snapshot& snapshot, const std::optional<PointId>& from, std::uint64_t n,
    const payload::Predicate* predicate, const Cancel& cancel);

struct OrderedPoint {
  const Segment* segment = nullptr;
  std::uint32_t row = 0;
  OrderValue value;
};

/// The first `n` points by the values of a payload index, of equal ones the lesser id. `rows_of`
/// says which rows of a segment are to be considered. kInvalidArgument if the key has no index that
/// can be ordered; kUnavailable while the index is being built.
[[nodiscard]] Result<std::vector<OrderedPoint>> first_points_in_order(
    const Snapshot& snapshot, const CollectionConfig& config, const OrderBy& order, std::uint64_t n,
    const std::function<Result<Bitset>(const Segment&)>& rows_of);

}  // namespace quiver::engine
