#include "tests/support/unreadable_window.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

namespace quiver::testing_support {
namespace {

std::atomic<std::uint64_t> unreadable = 0;
std::atomic<std::uint64_t> n_made = 0;

/// Pages beyond the end of a file raise the signal that a read error raises.
void* map_beyond_end(std::size_t n_bytes) {
  const int file = ::memfd_create("unreadable", 0);
  void* window = ::mmap(nullptr, n_bytes, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return window;
}

}  // namespace

void make_window_unreadable(std::uint64_t nth) {
  n_made = 0;
  unreadable = nth;
}

std::uint64_t n_windows() { return n_made; }

}  // namespace quiver::testing_support

/// In place of the C library's.
extern "C" void* mremap(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags,
                        ...) noexcept {
  namespace support = quiver::testing_support;
  if (old_bytes == 0 && ++support::n_made == support::unreadable) {
    return support::map_beyond_end(new_bytes);
  }
  std::va_list more;
  va_start(more, flags);
  void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  const auto result = ::syscall(SYS_mremap, address, old_bytes, new_bytes, flags, wanted);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call returns a number.
  return reinterpret_cast<void*>(result);
}
