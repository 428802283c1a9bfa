// Ordering points by the values of a payload index.
//
// A point is listed once for each distinct value under the key, and not at all without one. Equal
// values are ordered by PointId, ascending in both directions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"
#include "payload/column/column.h"
#include "payload/filter.h"

namespace quiver::payload {

enum class Direction : std::uint8_t { kAscending, kDescending };

/// The stored value, as i64 or double (a datetime: i64, microseconds). All keys of one index have
/// one type.
using OrderKey = std::variant<std::int64_t, double>;

/// Compares without rounding, also between the two types.
[[nodiscard]] std::strong_ordering compare_keys(const OrderKey& a, const OrderKey& b);
/// True if `a` comes before `b` in this direction.
[[nodiscard]] bool comes_before(const OrderKey& a, const OrderKey& b, Direction direction);

/// True for indexes whose values have an order (IndexTraits::ordering).
[[nodiscard]] bool is_orderable(const FieldIndex& index);

/// Appends the distinct keys of a row to `out`, ascending.
void append_order_keys(const ColumnView& column, std::uint32_t row, std::vector<OrderKey>& out);

struct OrderedRow {
  OrderKey key;
  std::uint32_t row = 0;
};

/// The first `limit` pairs (key, id) among `candidates`, in order, not before `start_from` (a
/// number, or microseconds for a datetime). A sealed column is read only as far as needed.
[[nodiscard]] std::vector<OrderedRow> first_in_order(const ColumnView& column,
                                                     std::span<const PointId> ids,
                                                     const Bitset& candidates, Direction direction,
                                                     const std::optional<Number>& start_from,
                                                     std::size_t limit);

}  // namespace quiver::payload
