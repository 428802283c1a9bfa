// The limit of private memory, and what of it caches and buffers may take.
#pragma once

#include <cstdint>

#include "app/config/config.h"

namespace quiver::app {

/// Puts `memory.limit_mb`, or the usual limit, in force for the process. Lowers caches, buffers and
/// bodies of requests that would take most of it, and logs what it lowers.
void set_memory_limit(Settings& settings);

/// `wanted`, or a `parts`-th of `limit_bytes` if that is less.
[[nodiscard]] std::uint64_t within_share(std::uint64_t wanted, std::uint64_t limit_bytes,
                                         std::uint64_t parts);

}  // namespace quiver::app
