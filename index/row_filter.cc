#include "index/row_filter.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace quiver::index {

/// By the kernel for codes: it uses the processor's instruction for counting.
std::size_t RowFilter::count_bits() const {
  constexpr std::uint32_t kWordsAtOnce = 8192;
  std::size_t n = 0;
  for (std::uint32_t b = 0; b < n_blocks(); b += kWordsAtOnce) {
    const std::uint32_t n_words = std::min(kWordsAtOnce, n_blocks() - b);
    const std::uint64_t* words = words_ + b;
    n += kernels().binary.common.one(reinterpret_cast<const std::uint8_t*>(words), 8 * n_words,
                                     reinterpret_cast<const std::byte*>(words));
  }
  return n;
}

}  // namespace quiver::index
