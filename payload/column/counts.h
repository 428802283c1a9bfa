// How many rows have each value of a column: the data of facets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitset.h"
#include "payload/column/column.h"

namespace quiver::payload {

/// A value of a column and the number of rows that have it, once or more.
struct ValueCount {
  std::uint64_t value = 0;  ///< a term, or the bits of an i64
  std::uint32_t n_rows = 0;

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  bool operator==(const ValueCount&) const = default;
};

/// True for indexes whose values can be counted: keyword, integer, uuid, bool.
[[nodiscard]] bool is_countable(const FieldIndex& index);

/// The values among `rows` (n_rows bits; nullptr: all rows), ascending: terms as texts, integers as
/// numbers. `column.index` is countable. Time: proportional to the smaller of the rows that are in
/// and out of `rows`, plus the terms; for integers at most to all values.
[[nodiscard]] std::vector<ValueCount> count_values(const ColumnView& column, const Bitset* rows);

}  // namespace quiver::payload
