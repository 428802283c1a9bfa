// For tests of running out of memory. A program that links the .cc file gets an `operator new` that
// can be made to fail.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver::testing_support {

/// The first `n_before` of this thread's next allocations succeed and the next `n` fail.
void fail_allocations(int n_before, int n);

/// Selects the allocations that fail. Allocations of other threads and sizes are not counted.
struct FailingAllocations {
  const char* thread = "";  ///< prefix of the threads' names
  std::size_t min_bytes = 0;
  std::uint64_t first = 1;  ///< number of the first that fails, counted from 1
  std::uint64_t every = 0;  ///< interval of later failures; 0: none
};
/// `failing.thread` must live until `end_failing`.
void begin_failing(const FailingAllocations& failing);
/// Returns how many allocations failed.
std::uint64_t end_failing();
/// Excludes this thread from `begin_failing`.
void spare_this_thread();

}  // namespace quiver::testing_support
