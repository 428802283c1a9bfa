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

/// The smallest memory limit, in bytes, of the control groups (version 1 or 2) that this process is
/// in, from its own to the root; the maximum of u64 if there is none. `membership` is as
/// /proc/self/cgroup, `root` where the groups are mounted.
[[nodiscard]] std::uint64_t control_group_memory(
    const std::string& membership = "/proc/self/cgroup",
    const std::string& root = "/sys/fs/cgroup");

}  // namespace quiver
