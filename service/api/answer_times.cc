#include "service/api/answer_times.h"

#include "base/clock.h"

namespace quiver::service {
namespace {

constexpr double kMicrosPerSecond = 1e6;

/// Replaces the number by `value` while `is_better(value, number)`.
template <class IsBetter>
void replace_if(std::atomic<double>& number, double value, IsBetter is_better) {
  double before = number.load(std::memory_order_relaxed);
  while (is_better(value, before) &&
         !number.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void AnswerTimes::add(double seconds) noexcept {
  const double us = seconds * kMicrosPerSecond;
  total_us_.fetch_add(us, std::memory_order_relaxed);
  replace_if(min_us_, us, [](double a, double b) { return a < b; });
  replace_if(max_us_, us, [](double a, double b) { return a > b; });
  last_at_ms_.store(unix_time_ms(), std::memory_order_relaxed);
  counter_.add();
}

AnswerTimes::Summary AnswerTimes::summary() const {
  Summary summary;
  summary.n = counter_.value();
  if (summary.n == 0) return summary;
  summary.total_us = total_us_.load(std::memory_order_relaxed);
  summary.min_us = min_us_.load(std::memory_order_relaxed);
  summary.max_us = max_us_.load(std::memory_order_relaxed);
  summary.last_at_ms = last_at_ms_.load(std::memory_order_relaxed);
  return summary;
}

}  // namespace quiver::service
