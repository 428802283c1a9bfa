// Memory of this process: how much it holds, and giving back what it does not use.
#pragma once

#include <cstdint>

namespace quiver {

/// Memory held by the C library's allocator, and resident memory of the process.
struct MemoryFacts {
  std::uint64_t allocated_bytes = 0;  ///< in use
  std::uint64_t active_bytes = 0;     ///< taken from the system, in use or not
  std::uint64_t retained_bytes = 0;   ///< taken from the system, free, not returned
  std::uint64_t resident_bytes = 0;   ///< whole process, including mapped files
};
[[nodiscard]] MemoryFacts read_memory();

/// Returns free memory to the system. The allocator would keep most of it otherwise. Takes
/// milliseconds: call it after a large object was freed. Thread-safe.
void return_free_memory() noexcept;

/// From now on the allocator returns the free end of a heap, when a block there is freed, if it is
/// larger than so many bytes (more than 0). `return_free_memory` leaves the ends of heaps of
/// threads alone. Smaller values cost time, since memory is taken from the system again.
/// Thread-safe; for the whole process.
void limit_free_memory(std::uint64_t n_bytes) noexcept;

}  // namespace quiver
