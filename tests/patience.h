// How long a test waits for something that must happen. A safety only: no test passes or fails by
// how fast the machine is.
#pragma once

#include <chrono>
#include <cstdlib>
#include <thread>

namespace quiver {

/// Times what an idle machine needs at most: `QUIVER_TEST_PATIENCE`, 5 unless set. As in
/// tests/patience.py, cmake/room.cmake and scripts/steps.sh.
inline double patience_factor() {
  const char* text = std::getenv("QUIVER_TEST_PATIENCE");
  const double factor = text == nullptr ? 0 : std::strtod(text, nullptr);
  return factor > 0 ? factor : 5;
}

/// `idle`: what an idle machine needs at most.
inline std::chrono::steady_clock::duration patience(std::chrono::duration<double> idle) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(idle * patience_factor());
}

inline std::chrono::steady_clock::time_point patience_end(std::chrono::duration<double> idle) {
  return std::chrono::steady_clock::now() + patience(idle);
}

/// True once `condition` holds; false after `patience(idle)`.
template <class Condition>
[[nodiscard]] bool comes_true(Condition condition,
                              std::chrono::duration<double> idle = std::chrono::seconds(10)) {
  const auto end = patience_end(idle);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace quiver
