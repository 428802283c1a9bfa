// Bounds on list sizes, enforced after the last assignment.
#pragma once

#include "index/dense/lists/kmeans/clustering.h"
#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// Dissolves lists smaller than `bounds.min`, whose rows go to the nearest remaining list, and
/// halves those larger than `bounds.max` until they fit. Afterwards every list is within the
/// bounds, if `bounds.max >= 3 * bounds.min` and there are rows for one list.
Result<> balance(const RowReader& rows, const ListBounds& bounds, const BuildContext& context,
                 Clusters& clusters);

}  // namespace quiver::index::dense
