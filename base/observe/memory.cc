#include "base/observe/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace quiver {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t n_virtual = 0;
  std::uint64_t n_resident = 0;
  return file >> n_virtual >> n_resident
             ? n_resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
             : 0;
}

}  // namespace

MemoryFacts read_memory() {
  const auto heap = ::mallinfo2();
  MemoryFacts facts;
  facts.allocated_bytes = heap.uordblks + heap.hblkhd;
  facts.active_bytes = heap.arena + heap.hblkhd;
  facts.retained_bytes = heap.fordblks;
  facts.resident_bytes = resident_bytes();
  return facts;
}

void return_free_memory() noexcept { ::malloc_trim(0); }

/// The allocator's own limit grows to twice the largest block that was freed, up to 64 MiB a heap.
/// Setting it keeps both limits from growing, so larger blocks are mapped one by one.
void limit_free_memory(std::uint64_t n_bytes) noexcept {
  const auto n = static_cast<int>(std::min<std::uint64_t>(n_bytes, 64 << 20));
  ::mallopt(M_TRIM_THRESHOLD, n);
  ::mallopt(M_MMAP_THRESHOLD, std::max(1, n / 2));
}

}  // namespace quiver
