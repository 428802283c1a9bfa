#include "base/observe/memory.h"

#include <malloc.h>
#include <unistd.h>

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

}  // namespace quiver
