#pragma once

#include <cstdint>

namespace quiver::encoders {

/// Output `i` of splitmix64 (Steele, Lea, Flood 2014) from `seed`. Files depend on these numbers,
/// so they never change.
[[nodiscard]] inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The same as a number in [0, 1).
[[nodiscard]] inline double random_unit(std::uint64_t seed, std::uint64_t i) {
  return static_cast<double>(random_bits(seed, i) >> 11) * 0x1p-53;
}

}  // namespace quiver::encoders
