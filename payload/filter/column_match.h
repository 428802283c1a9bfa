// Answering one test from a column alone, as far as the column knows.
#pragma once

#include "base/bitset.h"
#include "payload/column/column.h"
#include "payload/filter/field_test.h"
#include "payload/filter/predicate.h"

namespace quiver::payload {

/// Rows that surely pass and rows for which only the document can tell. Disjoint.
struct Verdict {
  Bitset yes;
  Bitset maybe;
};

/// Of the rows of `within`, which has at most `column.n_rows` bits. `test` was prepared for the
/// index that `column` belongs to.
[[nodiscard]] Verdict match_column(const ColumnView& column, const PreparedTest& test,
                                   const Bitset& within);

/// How many of `n_rows` rows pass, without looking at rows.
[[nodiscard]] Estimate estimate_column(const ColumnView& column, const PreparedTest& test,
                                       std::uint64_t n_rows);

}  // namespace quiver::payload
