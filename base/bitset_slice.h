// Parts of bitmaps.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/bitset.h"

namespace quiver {

/// Bits `[first, first + n)` of `bits`; `first` is a multiple of 64.
[[nodiscard]] inline Bitset slice_of(const Bitset& bits, std::size_t first, std::size_t n) {
  Bitset part(n);
  const auto from = bits.words().subspan(first / 64, part.words().size());
  std::copy(from.begin(), from.end(), part.words().begin());
  part.resize(n);  // clears what is beyond
  return part;
}

/// Replaces the bits of `bits` from `first` on, a multiple of 64, by those of `part`. The size of
/// `part` is a multiple of 64, or it ends with `bits`.
inline void put_slice(const Bitset& part, std::size_t first, Bitset& bits) {
  const auto to = bits.words().subspan(first / 64);
  std::copy(part.words().begin(), part.words().end(), to.begin());
}

}  // namespace quiver
