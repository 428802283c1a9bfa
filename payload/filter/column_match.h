// Evaluates one condition on a column alone, as far as the column allows.
#pragma once

#include "payload/column/column.h"
#include "payload/filter/condition.h"
#include "payload/filter/row_set.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

/// Evaluates `condition` on the rows of `within`, a set of at most `column.n_rows` rows.
/// `condition` must be prepared for the index of `column`.
[[nodiscard]] Verdict match_column(const ColumnView& column, const PreparedCondition& condition,
                                   const RowSet& within);

/// Estimates how many of `n_rows` rows match, without reading rows. `is_single`: it is known that
/// no row has two values, so that values found are rows found.
[[nodiscard]] Estimate estimate_column(const ColumnView& column, const PreparedCondition& condition,
                                       std::uint64_t n_rows, bool is_single = false);

}  // namespace quiver::payload
