// How long a test with seeds goes on: a few trials with the other tests, thousands in a soak
// (scripts/soak).
#pragma once

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"

namespace quiver {

inline std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Time that the tests of this program go on: QUIVER_SOAK_SECONDS; 0 outside a soak.
inline double soak_seconds() {
  return static_cast<double>(number_from_environment("QUIVER_SOAK_SECONDS", 0));
}

/// Adds to a total of the soak, which scripts/soak reads from the output.
inline void note_soak(const char* what, std::uint64_t n) {
  if (soak_seconds() > 0) std::printf("soak: %s: %" PRIu64 "\n", what, n);
}

/// Length of a test outside a soak.
struct Trials {
  std::uint64_t n_least = 1;
  double seconds = 0;  ///< more trials begin until then
};

/// Calls `trial(seed)` with seeds from 1; in a soak with seeds from QUIVER_SOAK_SEED, until the
/// time of the soak is over. Prints each seed before its trial. Stops at the first failure.
template <class Trial>
void run_trials(Trials trials, Trial trial) {
  const Stopwatch clock;
  const bool is_soak = soak_seconds() > 0;
  if (is_soak) trials = {.seconds = soak_seconds()};
  const std::uint64_t first = is_soak ? number_from_environment("QUIVER_SOAK_SEED", 1) : 1;
  std::uint64_t seed = first;
  do {
    std::printf("QUIVER_SOAK_SEED=%" PRIu64 "\n", seed);
    std::fflush(stdout);
    SCOPED_TRACE("QUIVER_SOAK_SEED=" + std::to_string(seed));
    trial(seed);
    ++seed;
  } while (!::testing::Test::HasFailure() &&
           (seed < first + trials.n_least || clock.seconds() < trials.seconds));
}

}  // namespace quiver
