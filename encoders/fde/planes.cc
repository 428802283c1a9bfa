#include "encoders/fde/planes.h"

#include <algorithm>
#include <bit>

#include "encoders/fde/random.h"

namespace quiver::encoders::fde {
namespace {

/// Number of set bits among 256 random bits: 128 plus 8 times a nearly normal number (binomial; its
/// fourth moment is within .3 %). Needs no logarithm, which libraries round differently.
std::uint8_t draw_number(CounterRandom& random) {
  int n_set = 0;
  for (int i = 0; i < 4; ++i) n_set += std::popcount(random.bits());
  return static_cast<std::uint8_t>(std::clamp(n_set, 1, 255));
}

constexpr std::uint8_t kZero = 128;

}  // namespace

HashPlanes::HashPlanes(std::uint32_t dim, std::uint32_t n_repetitions, std::uint32_t n_planes,
                       std::uint64_t seed)
    : dim_(dim), n_planes_(n_planes) {
  shape_.n_words = (n_repetitions * n_planes + 15) / 16;
  shape_.n_steps = (dim + 15) / 16 * 4;
  const std::size_t n_numbers = std::size_t{shape_.n_words} * shape_.n_steps * 64;
  numbers_.resize(n_numbers);
  std::fill_n(numbers_.data(), n_numbers, kZero);
  for (std::uint32_t r = 0; r < n_repetitions; ++r) draw(r, seed);
}

void HashPlanes::draw(std::uint32_t repetition, std::uint64_t seed) {
  CounterRandom random(seed, Purpose::kPlanes, repetition);
  for (std::size_t j = 0; j < n_planes_; ++j) {
    const std::size_t plane = std::size_t{repetition} * n_planes_ + j;
    std::uint8_t* word = numbers_.data() + plane / 16 * shape_.n_steps * 64;
    for (std::size_t d = 0; d < dim_; ++d) {
      word[d / 4 * 64 + plane % 16 * 4 + d % 4] = draw_number(random);
    }
  }
}

void HashPlanes::hash(const TokenLines& tokens, std::vector<std::uint16_t>& signs) const {
  // One word more, because codes are read from two.
  signs.resize(tokens.n() * shape_.n_words + 1);
  SignPlanes planes = shape_;
  planes.planes = numbers_.data();
  kernels().sets.sign_words(planes, tokens.bytes(), tokens.sums(), tokens.n(), signs.data());
}

void HashPlanes::codes(const std::vector<std::uint16_t>& signs, std::uint32_t repetition,
                       std::span<std::uint16_t> codes) const {
  if (n_planes_ == 0) return std::fill(codes.begin(), codes.end(), std::uint16_t{0});
  const std::uint32_t first = repetition * n_planes_;
  const std::uint16_t* words = signs.data() + first / 16;
  const std::uint32_t mask = (1u << n_planes_) - 1;
  for (std::uint16_t& code : codes) {
    const std::uint32_t both = words[0] | std::uint32_t{words[1]} << 16;
    code = static_cast<std::uint16_t>(both >> first % 16 & mask);
    words += shape_.n_words;
  }
}

}  // namespace quiver::encoders::fde
