// Facts about the machine, for reports.
#pragma once

#include <cstdint>
#include <string>

namespace quiver {

struct MachineFacts {
  std::string distribution;          ///< "debian"; empty: unknown
  std::string distribution_version;  ///< "12"; empty: unknown
  bool in_container = false;         ///< in a Docker container
  std::uint32_t n_cores = 0;
  std::uint64_t ram_bytes =
      0;  ///< usable by this process: a control group may allow less than the machine has
  std::string cpu_flags;  ///< instruction sets, separated by commas
};
[[nodiscard]] MachineFacts read_machine();

}  // namespace quiver
