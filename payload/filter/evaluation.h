// The three ways to evaluate a filter tree: on one document, on the columns of many rows, by
// counts.
#pragma once

#include <vector>

#include "base/threads/cancel.h"
#include "payload/filter/column_match.h"
#include "payload/filter/filter_tree.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

/// The point that a tree is evaluated on. Inside `nested`, id and vectors are unknown (null).
struct OnePoint {
  const Value& document;
  const PointId* id = nullptr;
  const HasVectorFn* has_vector = nullptr;
};
[[nodiscard]] bool tree_matches(const FilterTree& tree, const OnePoint& point);

/// Rows of `within` that surely match, and rows that only their document can decide.
[[nodiscard]] Result<Verdict> match_columns(const FilterTree& tree, const RowsView& rows,
                                            const RowSet& within, const Cancel& cancel);

[[nodiscard]] Estimate estimate_tree(const FilterTree& tree, const RowsView& rows);

/// The attributes of the condition's path.
[[nodiscard]] std::vector<AttributePart> attributes_of(const RowsView& rows,
                                                       const FieldNode& field);

/// The attribute that has one code for each row; nullptr if there is none.
[[nodiscard]] const AttributeView* one_code_a_row(std::span<const AttributePart> parts,
                                                  std::uint32_t n_rows);

/// The column of the condition's index; null if the rows have no column of that kind.
[[nodiscard]] const ColumnView* find_column(const RowsView& rows, const FieldNode& field);

}  // namespace quiver::payload
