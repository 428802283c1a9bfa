// Parallel loops of a build.
#pragma once

#include <cstddef>

#include "index/index.h"

namespace quiver::index {

/// Calls `fn(i)` for each i below `n`, on the executor's threads or, without one, on this thread.
template <class F>
void for_each(const BuildContext& context, std::size_t n, F&& fn) {
  if (context.executor != nullptr && n > 1) {
    context.executor->parallel_for(n, fn, Priority::kLow);
  } else {
    for (std::size_t i = 0; i < n; ++i) fn(i);
  }
}

}  // namespace quiver::index
