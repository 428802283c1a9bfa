// Lists brought within bounds after the last assignment: small ones dissolved, large ones split.
#pragma once

#include "index/ivf/clustering.h"

namespace quiver::index::ivf {

/// Dissolves lists below `bounds.min`, whose rows go to the nearest list that stays, and splits
/// those above `bounds.max` in two, again and again. Afterwards every list is within the bounds, as
/// long as `bounds.max >= 3 * bounds.min` and there are rows for one list.
Result<> balance(const RowReader& rows, const ListBounds& bounds, const BuildContext& context,
                 Clusters& clusters);

/// `fn(i)` for each i in [0, n), by the executor if there is one.
template <class F>
void for_each(const BuildContext& context, std::size_t n, F&& fn) {
  if (context.executor != nullptr && n > 1) {
    context.executor->parallel_for(n, fn, Priority::kLow);
  } else {
    for (std::size_t i = 0; i < n; ++i) fn(i);
  }
}

}  // namespace quiver::index::ivf
