// Evaluates one condition on a column alone, as far as the column allows.
#pragma once

#include "base/bitset.h"
#include "payload/column/column.h"
#include "payload/filter/condition.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

/// Rows that surely match, and rows that only their document can decide. Disjoint.
struct Verdict {
  Bitset yes;
  Bitset maybe;
};

/// Evaluates `condition` on the rows of `within`, which has at most `column.n_rows` bits.
/// `condition` must be prepared for the index of `column`.
[[nodiscard]] Verdict match_column(const ColumnView& column, const PreparedCondition& condition,
                                   const Bitset& within);

/// Estimates how many of `n_rows` rows match, without reading rows.
[[nodiscard]] Estimate estimate_column(const ColumnView& column, const PreparedCondition& condition,
                                       std::uint64_t n_rows);

}  // namespace quiver::payload
