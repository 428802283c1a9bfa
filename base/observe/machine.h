// What this process runs on, and what it takes of it: for reports.
#pragma once

#include <cstdint>
#include <string>

namespace quiver {

struct MachineFacts {
  std::string distribution;          ///< "debian"; empty: unknown
  std::string distribution_version;  ///< "12"; empty: unknown
  bool in_container = false;         ///< of Docker
  std::uint32_t n_cores = 0;
  std::uint64_t ram_bytes = 0;  ///< that this process may use: a control group may allow less
  std::string cpu_flags;        ///< instruction sets, between commas
};
[[nodiscard]] MachineFacts read_machine();

/// What the C library's allocator holds for this process, and what of the process is in memory.
struct MemoryFacts {
  std::uint64_t allocated_bytes = 0;  ///< in use
  std::uint64_t active_bytes = 0;     ///< taken from the system, in use or not
  std::uint64_t retained_bytes = 0;   ///< of these, not in use and not given back
  std::uint64_t resident_bytes = 0;   ///< of the process, mapped files included
};
[[nodiscard]] MemoryFacts read_memory();

}  // namespace quiver
