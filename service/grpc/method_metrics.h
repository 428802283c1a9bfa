// Counts and times the answers of one method.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/observe/metrics.h"
#include "service/api/method_answers.h"

namespace quiver::service::rpc {

/// Thread-safe.
class MethodMetrics {
 public:
  /// Both registries outlive this.
  MethodMetrics(std::string_view method, MetricsRegistry& registry, api::MethodAnswers& answers,
                std::string_view prefix);

  /// `code`: as in Status.
  void count(int code, double seconds);

 private:
  static constexpr std::size_t kCodes = 17;

  [[nodiscard]] AnswerTimes& times_of(std::size_t code);

  std::string method_;
  std::string counter_name_;
  MetricsRegistry& registry_;
  api::MethodAnswers& answers_;
  Histogram& duration_;
  /// Each is set at the first answer with its code.
  std::array<std::atomic<AnswerTimes*>, kCodes> times_{};
};

}  // namespace quiver::service::rpc
