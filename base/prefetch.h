// Prefetches memory into the caches before it is read.
#pragma once

#include <cstddef>

namespace quiver {

/// Target cache: kL1 for data read at once, kL2 for data that would evict too much of L1.
enum class Nearness { kL1, kL2 };

/// Prefetches the cache line of `at`, which may be any address.
///
/// g++ 12 treats a function that only prefetches as free of effects and removes calls that it does
/// not inline (the scan of sparse lists lost all its prefetches). The empty asm statement emits no
/// instruction and keeps the calls.
template <Nearness nearness = Nearness::kL1>
inline void prefetch_line(const void* at) {
  __builtin_prefetch(at, 0, nearness == Nearness::kL1 ? 3 : 2);
  asm volatile("");
}

/// Prefetches one line per 64 bytes, from `from` to `from + n_bytes`.
template <Nearness nearness = Nearness::kL1>
inline void prefetch_bytes(const void* from, std::size_t n_bytes) {
  constexpr std::size_t kLineBytes = 64;
  const auto* bytes = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < n_bytes; at += kLineBytes) prefetch_line<nearness>(bytes + at);
}

}  // namespace quiver
