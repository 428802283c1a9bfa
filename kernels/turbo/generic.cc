// A level is one number of a table, or one product of a whole number that a float holds: nothing
// that the other levels could round otherwise.
#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

namespace quiver::generic {
namespace {

#include "kernels/turbo/tails.inc"

void four_bits(const std::byte* codes, std::size_t n, const float* levels, float* out) {
  four_bits_from(0, codes, n, levels, out);
}

void eight_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  eight_bits_from(0, codes, n, scale, out);
}

void sixteen_bits(const std::byte* codes, std::size_t n, float scale, float* out) {
  sixteen_bits_from(0, codes, n, scale, out);
}

TurboSums measure(const float* in, std::size_t n, float factor) {
  constexpr std::size_t kBlock = kSumLanes * kBlockRounds;
  LaneSums sums;
  for (std::size_t i = 0; i < n; i += kBlock) {
    measure_from(i, in, i + kBlock < n ? i + kBlock : n, factor, sums);
    move_to_totals(sums);
  }
  return total(sums);
}

void encode(const float* in, std::size_t n, float factor, std::byte* codes) {
  encode_from(0, in, n, factor, codes);
}

}  // namespace

constinit const TurboKernels kTurboKernels = {four_bits, eight_bits, sixteen_bits, measure, encode};

}  // namespace quiver::generic
