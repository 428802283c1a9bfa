// The limit of open files, and how many of them connections may take.
#pragma once

#include <cstdint>

namespace quiver::app {

/// Raises the soft limit of open files to the hard limit. Returns the limit in force, or the
/// largest number if it is unknown.
[[nodiscard]] std::uint64_t raise_open_files();

/// Returns `wanted`, or fewer connections: max(max_open_files / 2, files of a busy shard) files are
/// kept for storage. Without them seals, flushes and then writes fail. At least 16 unless fewer are
/// wanted.
[[nodiscard]] std::uint32_t connections_within(std::uint64_t max_open_files, std::uint32_t wanted);

}  // namespace quiver::app
