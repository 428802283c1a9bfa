#include "engine/privacy/discrete_gaussian.h"

#include <bit>

namespace quiver::engine {
namespace {

__extension__ using U128 = unsigned __int128;

int bits_of(U128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

/// Uniform in [0, n); `n` >= 1.
U128 uniform_below(U128 n, RandomWords& random) {
  const int n_bits = bits_of(n - 1);
  const U128 mask = n_bits == 128 ? ~U128{0} : (U128{1} << n_bits) - 1;
  while (true) {
    U128 value = random.next();
    if (n_bits > 64) value = value << 64 | random.next();
    value &= mask;
    if (value < n) return value;
  }
}

/// True with probability exp(-a / b), for 0 <= a <= b: algorithm 1 of the paper.
bool is_exp_up_to_one(U128 a, U128 b, RandomWords& random) {
  U128 k = 1;
  while (uniform_below(b * k, random) < a) ++k;
  return k % 2 == 1;
}

/// True with probability exp(-a / b).
bool is_exp(U128 a, U128 b, RandomWords& random) {
  for (; a > b; a -= b) {
    if (!is_exp_up_to_one(1, 1, random)) return false;
  }
  return is_exp_up_to_one(a, b, random);
}

struct SignedMagnitude {
  std::uint64_t magnitude = 0;
  bool is_negative = false;
};

/// The discrete Laplace distribution of scale `scale`: algorithm 2 of the paper.
SignedMagnitude discrete_laplace(std::uint64_t scale, RandomWords& random) {
  while (true) {
    const auto rest = static_cast<std::uint64_t>(uniform_below(scale, random));
    if (!is_exp_up_to_one(rest, scale, random)) continue;
    std::uint64_t n_scales = 0;
    while (is_exp_up_to_one(1, 1, random)) ++n_scales;
    const SignedMagnitude drawn{rest + scale * n_scales, (random.next() & 1) != 0};
    if (drawn.is_negative && drawn.magnitude == 0) continue;  // 0 must not count twice
    return drawn;
  }
}

}  // namespace

/// Algorithm 3 of the paper, with `deviation` as the scale of the Laplace distribution.
std::int64_t discrete_gaussian(std::uint64_t deviation, RandomWords& random) {
  while (true) {
    const auto [magnitude, is_negative] = discrete_laplace(deviation, random);
    const U128 off = magnitude > deviation ? magnitude - deviation : deviation - magnitude;
    if (!is_exp(off * off, 2 * U128{deviation} * deviation, random)) continue;
    const auto value = static_cast<std::int64_t>(magnitude);
    return is_negative ? -value : value;
  }
}

}  // namespace quiver::engine
