// Fetching memory into the caches before it is read.
#pragma once

#include <cstddef>

namespace quiver {

/// How near to the core: kL1 for what is read at once, kL2 for what would drive out more of it.
enum class Nearness { kL1, kL2 };

/// Starts to fetch the cache line of `at`, which may be any address.
///
/// g++ 12 takes a function that does nothing but prefetch for one without effect, and leaves out
/// its calls where it is not inlined (the scan of sparse lists had not one prefetch left). The
/// empty statement, which makes no instruction, keeps them.
template <Nearness nearness = Nearness::kL1>
inline void prefetch_line(const void* at) {
  __builtin_prefetch(at, 0, nearness == Nearness::kL1 ? 3 : 2);
  asm volatile("");
}

/// The lines of `n_bytes` bytes: a line for each 64 from `from` on.
template <Nearness nearness = Nearness::kL1>
inline void prefetch_bytes(const void* from, std::size_t n_bytes) {
  constexpr std::size_t kLineBytes = 64;
  const auto* bytes = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < n_bytes; at += kLineBytes) prefetch_line<nearness>(bytes + at);
}

}  // namespace quiver
