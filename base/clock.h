// Elapsed time and wall-clock time.
#pragma once

#include <chrono>
#include <cstdint>

namespace quiver {

/// Measures the time since its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Milliseconds since 1970, UTC. Use Stopwatch for durations. Do not call it inside an operation
/// that is replayed.
[[nodiscard]] inline std::int64_t unix_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace quiver
