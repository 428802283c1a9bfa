#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "encoders/transforms/random_bits.h"

namespace quiver::encoders::fde {

/// Use of random numbers. Each purpose and repetition has its own numbers.
enum class Purpose : std::uint64_t { kPlanes = 1, kBlockSketch = 2, kFinalSketch = 3 };

/// Random whole numbers from a counter and a key. Files depend on them, so they never change.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, Purpose purpose, std::uint64_t repetition)
      : key_(random_bits(random_bits(seed, static_cast<std::uint64_t>(purpose)), repetition)) {}

  [[nodiscard]] std::uint64_t bits() { return random_bits(key_, next_++); }

  /// Shuffle of Fisher and Yates. The remainder favours small numbers by at most 2^-44.
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
