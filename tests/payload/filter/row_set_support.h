// Row sets as bitmaps, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitset.h"
#include "payload/filter/row_set.h"

namespace quiver::payload {

inline std::vector<std::uint32_t> rows_of(const Bitset& bits) {
  std::vector<std::uint32_t> rows;
  bits.for_each([&](std::size_t row) { rows.push_back(static_cast<std::uint32_t>(row)); });
  return rows;
}

/// A set that keeps the words of its rows only.
inline RowSet listed_set(const Bitset& rows) { return RowSet::listed(rows.size(), rows_of(rows)); }

inline Bitset bits_of(const RowSet& rows) {
  Bitset bits(rows.size());
  rows.for_each([&](std::size_t row) { bits.set(row); });
  return bits;
}

}  // namespace quiver::payload
