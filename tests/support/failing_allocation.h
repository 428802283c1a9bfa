// For tests of what happens when memory runs out. A program that links the .cc file gets an
// `operator new` that can be told to fail.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver::testing_support {

/// Of this thread's next allocations the first `n_before` succeed and the next `n` fail.
void fail_allocations(int n_before, int n);

/// Which allocations of the process fail; those of other threads and sizes are not counted.
struct FailingAllocations {
  const char* thread = "";  ///< how the names of the threads begin
  std::size_t min_bytes = 0;
  std::uint64_t first = 1;  ///< the first that fails, counted from 1
  std::uint64_t every = 0;  ///< and each so many after it; 0: no other
};
/// `failing.thread` lives until `end_failing`.
void begin_failing(const FailingAllocations& failing);
/// How many failed.
std::uint64_t end_failing();
/// `begin_failing` does not concern this thread.
void spare_this_thread();

}  // namespace quiver::testing_support
