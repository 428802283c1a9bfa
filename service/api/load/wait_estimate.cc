#include "service/api/load/wait_estimate.h"

#include "service/api/load/moving_average.h"

namespace quiver::service::api::load {
namespace {

/// Before so many intervals were measured, service times tell more.
constexpr std::size_t kMinIntervals = 4;

/// Tasks that begin within so many ns of each other were taken from the queue as one.
constexpr double kTogetherNs = 10'000;

double to_ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

void WaitEstimate::arrive(Time now) {
  ++n_waiting_;
  if (!interval_begin_ && n_running_ >= n_threads_) interval_begin_ = now;
}

void WaitEstimate::begin(Time now) {
  if (interval_begin_) note_interval(to_ns(now - *interval_begin_));
  --n_waiting_;
  ++n_running_;
  interval_begin_.reset();
  if (n_waiting_ > 0 && n_running_ >= n_threads_) interval_begin_ = now;
}

void WaitEstimate::note_interval(double interval_ns) {
  if (interval_ns < kTogetherNs && n_in_last_group_ > 0) {
    ++n_in_last_group_;
    return;
  }
  if (n_in_last_group_ > 0) measure(last_interval_ns_ / static_cast<double>(n_in_last_group_));
  last_interval_ns_ = interval_ns;
  n_in_last_group_ = 1;
}

void WaitEstimate::measure(double interval_ns) {
  const auto n = static_cast<double>(n_measured_);
  measured_interval_ns_ = n_measured_ >= kMinIntervals
                              ? moved_average(measured_interval_ns_, interval_ns)
                              : (measured_interval_ns_ * n + interval_ns) / (n + 1);
  ++n_measured_;
}

void WaitEstimate::give_up() {
  --n_waiting_;
  if (n_waiting_ == 0) interval_begin_.reset();
}

void WaitEstimate::end(Duration took) {
  --n_running_;
  service_ns_ = service_ns_ == 0 ? to_ns(took) : moved_average(service_ns_, to_ns(took));
}

double WaitEstimate::interval_ns() const {
  if (n_measured_ >= kMinIntervals) return measured_interval_ns_;
  return service_ns_ / static_cast<double>(n_threads_);
}

WaitEstimate::Duration WaitEstimate::wait_behind(std::size_t n_tasks) const {
  const double ns = static_cast<double>(n_tasks) * interval_ns();
  return Duration(static_cast<std::int64_t>(ns));
}

}  // namespace quiver::service::api::load
