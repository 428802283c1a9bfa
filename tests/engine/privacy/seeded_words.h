// Random words that are the same in every run.
#pragma once

#include "encoders/transforms/random_bits.h"
#include "engine/privacy/random_words.h"

namespace quiver::engine::testing {

class SeededWords final : public RandomWords {
 public:
  explicit SeededWords(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() override { return encoders::random_bits(seed_, n_drawn_++); }

 private:
  std::uint64_t seed_;
  std::uint64_t n_drawn_ = 0;
};

}  // namespace quiver::engine::testing
