#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "encoders/transforms/random_bits.h"

namespace quiver::encoders::fde {

/// What numbers are drawn for: each purpose and repetition has numbers of its own.
enum class Purpose : std::uint64_t { kPlanes = 1, kBlockSketch = 2, kFinalSketch = 3 };

/// Whole numbers from a counter and a key: the same everywhere and for good.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint64_t repetition)
      : key_(random_bits(random_bits(seed, static_cast<std::uint64_t>(purpose)), repetition)) {}

  [[nodiscard]] std::uint64_t bits() { return random_bits(key_, next_++); }

  /// Fisher and Yates. The remainder favours small numbers by 2^-44 for the longest.
  template <class T>
  void permutation(std::span<T> out) {
    std::iota(out.begin(), out.end(), T{0});
    for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[bits() % i]);
  }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

}  // namespace quiver::encoders::fde
