// Loops over a few or many small pieces of work.
#pragma once

#include <cstddef>

#include "base/threads/executor.h"

namespace quiver {

/// Up to so many pieces of some microseconds each are done before another thread wakes.
inline constexpr std::size_t kFewPieces = 8;

/// Calls `fn(i)` for each i below `n`: on the executor's threads, too, if there is one and `n` is
/// above kFewPieces. Otherwise in order.
template <class F>
void parallel_if_many(Executor* executor, std::size_t n, F&& fn) {
  if (executor != nullptr && n > kFewPieces) return executor->parallel_for(n, fn);
  for (std::size_t i = 0; i < n; ++i) fn(i);
}

}  // namespace quiver
