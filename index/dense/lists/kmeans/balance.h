// Lists brought within bounds after the last assignment: small ones dissolved,
// large ones split.
#pragma once

#include "index/dense/lists/kmeans/clustering.h"
#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// Dissolves lists below `bounds.min`, whose rows go to the nearest list that
/// stays, and splits those above `bounds.max` in two, again and again.
/// Afterwards every list is within the bounds, as long as `bounds.max >= 3 *
/// bounds.min` and there are rows for one list.
Result<> balance(const RowReader& rows, const ListBounds& bounds, const BuildContext& context,
                 Clusters& clusters);

}  // namespace quiver::index::dense
