// Memory that is not in use.
#pragma once

namespace quiver {

/// Gives free memory back to the system; the allocator keeps most of it otherwise, whatever large
/// thing it was part of. Takes milliseconds: for after something large has gone. Thread-safe.
void return_free_memory() noexcept;

}  // namespace quiver
