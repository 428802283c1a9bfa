#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/fde/lines.h"
#include "encoders/fde/tokens.h"
#include "kernels/kernels.h"

namespace quiver::encoders::fde {

/// Random planes through the origin, a few per repetition. A token's code says on which side of
/// each plane it lies (SimHash: Charikar, STOC 2002). Two tokens at an angle of a have the same
/// code with probability (1 - a / pi)^n_planes.
///
/// Directions are nearly normal whole numbers, and tokens are rounded to bytes, which turns a token
/// by about .01 rad. Therefore all products are exact: codes depend neither on the instruction
/// level nor on the order of adding, and cost a quarter. A code depends on a token's direction only
/// (except for rounding). Thread-safe.
class HashPlanes {
 public:
  HashPlanes(std::uint32_t dim, std::uint32_t n_repetitions, std::uint32_t n_planes,
             std::uint64_t seed);

  /// Computes the signs of all tokens for all planes, the input of `codes`.
  void hash(const TokenLines& tokens, std::vector<std::uint16_t>& signs) const;
  /// Computes the codes of `codes.size()` tokens in one repetition: bit j is set if the product
  /// with plane j is greater than 0.
  void codes(const std::vector<std::uint16_t>& signs, std::uint32_t repetition,
             std::span<std::uint16_t> codes) const;

 private:
  void draw(std::uint32_t repetition, std::uint64_t seed);

  std::uint32_t dim_;
  std::uint32_t n_planes_;  ///< per repetition
  SignPlanes shape_;
  CacheLines<std::uint8_t> numbers_;
};

}  // namespace quiver::encoders::fde
