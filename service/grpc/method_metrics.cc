#include "service/grpc/method_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::service::rpc {

MethodMetrics::MethodMetrics(std::string_view method, MetricsRegistry& registry,
                             api::MethodAnswers& answers, std::string_view prefix)
    : method_(method),
      counter_name_(fmt::format("{}grpc_responses_total", prefix)),
      registry_(registry),
      answers_(answers),
      duration_(registry.histogram(fmt::format("{}grpc_responses_duration_seconds", prefix),
                                   "Time from a received message to its answer",
                                   {{"endpoint", method_}})) {}

void MethodMetrics::count(int code, double seconds) {
  duration_.observe(seconds);
  times_of(std::min(static_cast<std::size_t>(code), kCodes - 1)).add(seconds);
}

AnswerTimes& MethodMetrics::times_of(std::size_t code) {
  if (AnswerTimes* known = times_[code].load(std::memory_order_acquire)) return *known;
  Counter& counter = registry_.counter(counter_name_, "gRPC answers by method and status",
                                       {{"endpoint", method_}, {"status", std::to_string(code)}});
  AnswerTimes& times = answers_.of(method_, static_cast<int>(code), counter);
  times_[code].store(&times, std::memory_order_release);
  return times;
}

}  // namespace quiver::service::rpc
