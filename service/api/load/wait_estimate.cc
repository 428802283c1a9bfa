#include "service/api/load/wait_estimate.h"

#include "service/api/load/moving_average.h"

namespace quiver::service::api::load {
namespace {

/// Before so many intervals were measured, service times tell more.
constexpr std::size_t kMinIntervals = 4;

double to_ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

void WaitEstimate::arrive(Time now) {
  ++n_waiting_;
  if (!interval_begin_ && n_running_ >= n_threads_) interval_begin_ = now;
}

void WaitEstimate::begin(Time now) {
  if (interval_begin_) {
    const double interval = to_ns(now - *interval_begin_);
    const bool is_trusted = n_measured_ >= kMinIntervals;
    measured_interval_ns_ =
        is_trusted ? moved_average(measured_interval_ns_, interval)
                   : (measured_interval_ns_ * static_cast<double>(n_measured_) + interval) /
                         static_cast<double>(n_measured_ + 1);
    ++n_measured_;
  }
  --n_waiting_;
  ++n_running_;
  interval_begin_.reset();
  if (n_waiting_ > 0 && n_running_ >= n_threads_) interval_begin_ = now;
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

WaitEstimate::Duration WaitEstimate::expected_wait() const {
  const double ns = static_cast<double>(n_waiting_) * interval_ns();
  return Duration(static_cast<std::int64_t>(ns));
}

WaitEstimate::Duration WaitEstimate::mean_service() const {
  return Duration(static_cast<std::int64_t>(service_ns_));
}

}  // namespace quiver::service::api::load
