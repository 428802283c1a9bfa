// How many files the process may have open, and who gets them.
#pragma once

#include <cstdint>

namespace quiver::app {

/// Raises the limit of open files as far as the process may. The limit in force from then on, or
/// the largest number if it is unknown.
[[nodiscard]] std::uint64_t raise_open_files();

/// `wanted` connections, or fewer: of `max_open_files`, half are kept for storage, and no fewer
/// than a shard takes when it is busy. Without them seals and flushes fail, and then writes.
[[nodiscard]] std::uint32_t connections_within(std::uint64_t max_open_files, std::uint32_t wanted);

}  // namespace quiver::app
