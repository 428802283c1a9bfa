// Counts and times the answers of one method.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/observe/metrics.h"

namespace quiver::service::rpc {

/// Thread-safe.
class MethodMetrics {
 public:
  /// `registry` outlives this.
  MethodMetrics(std::string_view method, MetricsRegistry& registry, std::string_view prefix);

  /// `code`: as in Status.
  void count(int code, double seconds);

 private:
  static constexpr std::size_t kCodes = 17;

  [[nodiscard]] Counter& counter(std::size_t code);

  std::string method_;
  std::string counter_name_;
  MetricsRegistry& registry_;
  Histogram& duration_;
  /// Each is set at the first answer with its code.
  std::array<std::atomic<Counter*>, kCodes> counters_{};
};

}  // namespace quiver::service::rpc
