// Parallel loops of builds and searches.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

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

/// Calls `fn(i)` for each i below `n`, on all threads of `executor` or, without one, in order.
/// Returns the first error by number; all calls are made.
template <class F>
Result<> try_each(Executor* executor, std::size_t n, F&& fn) {
  std::vector<Result<>> done(n);
  const auto call = [&](std::size_t i) { done[i] = fn(i); };
  if (executor != nullptr && n > 1) {
    executor->parallel_for(n, call);
  } else {
    for (std::size_t i = 0; i < n; ++i) call(i);
  }
  for (auto& one : done) QV_TRY(std::move(one));
  return {};
}

}  // namespace quiver::index
