// A level is one number of a table, or one product of a whole number that a float holds: nothing
// that the other levels could round otherwise.
#include <cstring>

#include "kernels/levels.h"

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

}  // namespace

constinit const TurboKernels kTurboKernels = {four_bits, eight_bits, sixteen_bits};

}  // namespace quiver::generic
