// Ordering points by the values of a payload index.
//
// A point stands once for each distinct value that it has under the key; a point without one is not
// listed. Equal values are ordered by PointId, ascending in both directions.
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

/// i64 for integer and datetime (microseconds), double for float. Keys of one index have one type.
using OrderKey = std::variant<std::int64_t, double>;

/// Exact also between the two types.
[[nodiscard]] std::strong_ordering compare_keys(const OrderKey& a, const OrderKey& b);
/// True if `a` comes before `b`.
[[nodiscard]] bool comes_before(const OrderKey& a, const OrderKey& b, Direction direction);

/// Whether the index has an order: integer with ranges, float, datetime.
[[nodiscard]] bool is_orderable(const FieldIndex& index);

/// The distinct keys of a row, ascending, appended to `out`.
void append_order_keys(const ColumnView& column, std::uint32_t row, std::vector<OrderKey>& out);

struct OrderedRow {
  OrderKey key;
  std::uint32_t row = 0;
};

/// The first `limit` of (key, id) among `candidates`, in order, not before `start_from` (a number,
/// or microseconds for a datetime). On a sealed column it stops after what it needs.
[[nodiscard]] std::vector<OrderedRow> first_in_order(const ColumnView& column,
                                                     std::span<const PointId> ids,
                                                     const Bitset& candidates, Direction direction,
                                                     const std::optional<Number>& start_from,
                                                     std::size_t limit);

}  // namespace quiver::payload
