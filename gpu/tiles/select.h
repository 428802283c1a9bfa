// Floats as integers of the same order, for selection by digits.
#pragma once

#include <cstdint>

#include "gpu/tiles/margin.h"

namespace quiver::gpu::tiles {

/// From the bits of a float that is no NaN: larger floats have larger keys.
QV_ON_BOTH constexpr std::uint32_t key_of_bits(std::uint32_t bits) {
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
QV_ON_BOTH constexpr std::uint32_t bits_of_key(std::uint32_t key) {
  return (key >> 31) != 0 ? key & 0x7FFFFFFFU : ~key;
}

}  // namespace quiver::gpu::tiles
