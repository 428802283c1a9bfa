#include <algorithm>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/texts/one.inc"

std::size_t add_gains(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                      std::uint32_t first_row, std::uint32_t end_row, const std::uint32_t* lengths,
                      const TokenGain& gain, float* sums) {
  std::size_t i = 0;
  for (; i < n && rows[i] < end_row; ++i) {
    sums[(rows[i] - first_row) % TextKernels::kWindow] +=
        gain_of(counts[i], lengths[rows[i]], gain);
  }
  return i;
}

float largest_gain(const std::uint8_t* counts, const std::uint32_t* lengths, std::size_t n,
                   const TokenGain& gain) {
  float largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, gain_of(counts[i], lengths[i], gain));
  }
  return largest;
}

}  // namespace

constinit const TextKernels kTextKernels = {add_gains, largest_gain};

}  // namespace quiver::generic
