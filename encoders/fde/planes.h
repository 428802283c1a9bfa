#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/fde/lines.h"
#include "encoders/fde/tokens.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// Random planes through the origin, a few a repetition: on which sides of them a token lies is its
/// code there (SimHash: Charikar, STOC 2002). Tokens at an angle of a have a common code with a
/// chance of (1 - a / pi)^n_planes.
///
/// Directions are whole numbers near a normal distribution and tokens are rounded to bytes, which
/// turns a token by about .01: all products are exact, so codes depend neither on the instruction
/// level nor on the order of adding, and cost a quarter. A code depends on a token's direction
/// alone (but for rounding). Thread-safe.
class Planes {
 public:
  Planes(std::uint32_t dim, std::uint32_t n_repetitions, std::uint32_t n_planes,
         std::uint64_t seed);

  /// Makes the signs of all tokens for all planes, for `codes`.
  void hash(const Tokens& tokens, std::vector<std::uint16_t>& signs) const;
  /// The codes of tokens in one repetition: bit j is set where the product with its plane j is
  /// greater than 0. `codes.size()` tokens.
  void codes(const std::vector<std::uint16_t>& signs, std::uint32_t repetition,
             std::span<std::uint16_t> codes) const;

 private:
  void draw(std::uint32_t repetition, std::uint64_t seed);

  std::uint32_t dim_;
  std::uint32_t n_planes_;  ///< a repetition
  SignPlanes shape_;
  Lines<std::uint8_t> numbers_;
};

}  // namespace quiver::encoders::fde
