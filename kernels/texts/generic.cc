#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/texts/one.inc"

std::size_t add_gains(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                      std::uint32_t first_row, std::uint32_t end_row, const std::uint32_t* lengths,
                      const TokenGain& gain, float* sums) {
  std::size_t i = 0;
  for (; i < n && rows[i] < end_row; ++i) {
    add_gain(rows[i], counts[i], first_row, lengths, gain, sums);
  }
  return i;
}

}  // namespace

constinit const TextKernels kTextKernels = {add_gains};

}  // namespace quiver::generic
