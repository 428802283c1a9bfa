// Decides from attributes whether one object of an array satisfies a nested filter.
//
// Attributes know from which object of its row each code comes, so a condition gives a set of
// objects for each row: a bit for each. Sets of conditions combine by bit operations, and a row
// matches if an object is left.
#pragma once

#include "payload/filter/filter_tree.h"
#include "payload/filter/row_set.h"
#include "payload/filter/rows_view.h"

namespace quiver::payload {

/// The rows of `within` that match `node`. Those that may match have more than `kMaxObjects`
/// objects, no attributes, or a condition that attributes do not decide: one on a value that is a
/// range in part, on a path through a further array of objects, or on ids and vectors.
[[nodiscard]] Verdict match_objects(const RowsView& rows, const NestedNode& node,
                                    const RowSet& within);

}  // namespace quiver::payload
