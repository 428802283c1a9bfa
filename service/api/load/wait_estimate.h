// How long a task that is queued now would wait for a thread.
//
// While tasks wait and every thread works, the queue shrinks by one task in some interval, which is
// measured from task to task. It includes what service times alone would miss: searches that share
// a pass, other programs on the same cores, threads lent to others. A newcomer waits for as many
// intervals as tasks wait before it. Tasks that begin together share the interval before them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace quiver::service::api::load {

/// One thread at a time. Times are passed in, so that tests have their own clock.
class WaitEstimate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  explicit WaitEstimate(std::size_t n_threads) : n_threads_(n_threads) {}

  /// A task is queued.
  void arrive(Time now);
  /// A task leaves the queue for a thread.
  void begin(Time now);
  /// A task leaves the queue without having begun.
  void give_up();
  /// A task that began has ended, after `took`.
  void end(Duration took);

  /// 0 if no task waits.
  [[nodiscard]] Duration expected_wait() const { return wait_behind(n_waiting_); }
  /// What a task would wait behind `n_tasks`; 0 before anything is known.
  [[nodiscard]] Duration wait_behind(std::size_t n_tasks) const;
  [[nodiscard]] std::size_t n_waiting() const { return n_waiting_; }
  [[nodiscard]] std::size_t n_threads() const { return n_threads_; }

 private:
  [[nodiscard]] double interval_ns() const;
  /// Time from the task before, or the begin of the queue, to one that begins.
  void note_interval(double interval_ns);
  void measure(double interval_ns);

  const std::size_t n_threads_;
  std::size_t n_waiting_ = 0;
  std::size_t n_running_ = 0;
  std::size_t n_measured_ = 0;  ///< values in `measured_interval_ns_`
  double measured_interval_ns_ = 0;
  double last_interval_ns_ = 0;      ///< before the last group of tasks that began together
  std::size_t n_in_last_group_ = 0;  ///< 0: there was none
  double service_ns_ = 0;
  /// When the last task began, or all threads became busy while tasks wait; nullopt: not both.
  std::optional<Time> interval_begin_;
};

}  // namespace quiver::service::api::load
