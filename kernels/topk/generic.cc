// No branches: every position is written, and the count grows only for those that stay.
#include <bit>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

std::size_t at_least(const float* scores, std::size_t n, float threshold,
                     std::uint32_t* positions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    count += scores[i] >= threshold;
  }
  return count;
}

std::size_t set_bits(const std::uint64_t* words, std::size_t n_words, std::uint32_t first,
                     std::uint32_t* positions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n_words; ++i, first += 64) {
    for (std::uint64_t rest = words[i]; rest != 0; rest &= rest - 1) {
      positions[count++] = first + static_cast<std::uint32_t>(std::countr_zero(rest));
    }
  }
  return count;
}

}  // namespace

constinit const TopKKernels kTopKKernels = {at_least, set_bits};

}  // namespace quiver::generic
