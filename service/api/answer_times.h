// How often a route answered with one status, and how long the answers took.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/observe/metrics.h"

namespace quiver::service {

/// Thread-safe.
class AnswerTimes {
 public:
  /// `counter` counts the answers; it outlives this.
  explicit AnswerTimes(Counter& counter) : counter_(counter) {}

  void add(double seconds) noexcept;

  struct Summary {
    std::uint64_t n = 0;
    double total_us = 0;
    double min_us = 0;
    double max_us = 0;
    std::int64_t last_at_ms = 0;  ///< since the epoch
  };
  /// Summarises all answers so far. An answer that is added at the same time may be included in
  /// part. All members are 0 if `n` is 0.
  [[nodiscard]] Summary summary() const;

 private:
  Counter& counter_;
  std::atomic<double> total_us_ = 0;
  std::atomic<double> min_us_ = std::numeric_limits<double>::infinity();
  std::atomic<double> max_us_ = 0;
  std::atomic<std::int64_t> last_at_ms_ = 0;
};

}  // namespace quiver::service
