// Noise on whole numbers, drawn exactly.
//
// Sums of random doubles show in their last bits which numbers they were made of (Mironov,
// CCS 2012). So noise is drawn from the discrete Gaussian by whole numbers alone: Canonne, Kamath
// and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, algorithms 1 to 3.
#pragma once

#include <cstdint>

#include "engine/privacy/random_words.h"

namespace quiver::engine {

/// A whole number n with probability proportional to exp(-n^2 / (2 deviation^2)), without rounding.
/// `deviation` >= 1, below 2^45. Takes a few dozen words. Its time depends on the noise alone.
[[nodiscard]] std::int64_t discrete_gaussian(std::uint64_t deviation, RandomWords& random);

}  // namespace quiver::engine
