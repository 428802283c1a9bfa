// Read errors of a disk, for tests of the scrub: windows of mapped files whose pages cannot be
// read. A program that uses this gets an `mremap` that can be made to give them.
#pragma once

#include <cstdint>

namespace quiver::testing_support {

/// Of the next windows (second mappings of pages that are mapped already), number `nth`, from 1,
/// raises SIGBUS where it is read, as a page does that the disk cannot read (EIO). The first
/// mapping is unharmed. 0: none.
void make_window_unreadable(std::uint64_t nth);
/// Windows since `make_window_unreadable`.
[[nodiscard]] std::uint64_t n_windows();

}  // namespace quiver::testing_support
