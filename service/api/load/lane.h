// The requests that wait for the threads of one executor, and which of them are refused.
//
// A request is refused when it comes if the expected wait exceeds the time that its deadline
// leaves, or the longest wait that the server allows. It is refused when its turn comes if the
// estimate was wrong and the queue is still long: its deadline has passed, or it waited for twice
// the allowed time. Behind a short queue it runs, and ends by its deadline as any work does. Work
// that has begun is never refused.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/observe/metrics.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "service/api/load/work.h"

namespace quiver::service::api::load {

/// When a request is refused for the wait before it.
struct Patience {
  using Time = std::chrono::steady_clock::time_point;

  Time deadline = Time::max();  ///< max: none
  bool is_refusable = true;     ///< false: it waits as long as it takes
};

/// Why a request is not begun.
struct Refusal {
  Error error;                      ///< kResourceExhausted
  std::uint32_t retry_after_s = 1;  ///< seconds after which the queue may be shorter, at least 1
};

/// What makes a request too late when its turn comes.
enum class LateBy : std::uint8_t { kDeadlineOrWait, kDeadline };

class CostBook;
class Lane;
class WaitEstimate;

/// The place of a request in a lane: it waits, then runs from `begin` to the end of the ticket. One
/// thread at a time.
class Ticket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Ticket() = default;
  Ticket(Lane& lane, const Work& work, const Patience& patience, Time queued)
      : lane_(&lane), work_(work), patience_(patience), queued_(queued) {}
  Ticket(Ticket&& other) noexcept
      : lane_(std::exchange(other.lane_, nullptr)),
        work_(other.work_),
        patience_(other.patience_),
        queued_(other.queued_),
        begun_(other.begun_) {}
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (lane_ != nullptr) end(std::chrono::steady_clock::now());
  }

  /// The request's turn has come. A refusal: it is too late, and the ticket has ended. Later calls
  /// change nothing.
  [[nodiscard]] std::optional<Refusal> begin(Time now, LateBy which = LateBy::kDeadlineOrWait);
  /// The work is done, or will not be. The last call.
  void end(Time now);

 private:
  friend class Lane;

  Lane* lane_ = nullptr;  ///< null: the ticket has ended
  Work work_;
  Patience patience_;
  Time queued_;
  std::optional<Time> begun_;
};

/// Thread-safe.
class Lane {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  struct Options {
    /// Longest wait, in ms, unless `kServices` requests take longer; 0: any wait is allowed.
    double max_wait_ms = 0;
    std::string label;  ///< value of the label `work` of its metrics
    std::string metrics_prefix;
  };
  /// A request may always wait as long as so many take on one thread. A queue of random arrivals
  /// whose threads work nine tenths of the time has waits of up to about ten services (p99).
  static constexpr double kServices = 10;
  /// Queues up to this length, for each thread, are never too long: the threads may only have
  /// stood still.
  static constexpr std::size_t kAllowedPerThread = 2;

  /// All arguments outlive the lane, but `options`.
  Lane(Executor& executor, CostBook& book, MetricsRegistry& metrics, const Options& options);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  [[nodiscard]] Executor& executor() const { return executor_; }

  struct Admitted {
    Ticket ticket;
    std::optional<Refusal> refusal;  ///< if there is one, the ticket is empty
  };
  [[nodiscard]] Admitted admit(const Work& work, const Patience& patience, Time now)
      QV_EXCLUDES(mutex_);

  /// How long a request that comes now would wait.
  [[nodiscard]] Duration expected_wait() const QV_EXCLUDES(mutex_);

 private:
  friend class Ticket;

  /// Why a request cannot wait.
  struct Objection {
    Duration wait{};  ///< expected, or over
    /// Longest wait that the server allows; nullopt: the deadline is in the way.
    std::optional<Duration> allowed;
  };

  std::optional<Refusal> begin(Ticket& ticket, Time now, LateBy which) QV_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Objection> object_to_waiting(const Patience& patience, Time now) const
      QV_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Objection> object_to_beginning(const Ticket& ticket, Time now,
                                                             LateBy which) const
      QV_REQUIRES(mutex_);
  void end(const Ticket& ticket, Time now) noexcept QV_EXCLUDES(mutex_);
  /// Longest wait that is allowed; nullopt: any.
  [[nodiscard]] std::optional<Duration> max_wait() const QV_REQUIRES(mutex_);
  [[nodiscard]] bool is_long() const QV_REQUIRES(mutex_);

  Executor& executor_;
  CostBook& book_;
  const double max_wait_ms_;
  Counter& refused_by_deadline_;
  Counter& refused_by_wait_;
  Counter& refused_late_;
  Histogram& waits_;

  mutable Mutex mutex_;
  const std::unique_ptr<WaitEstimate> estimate_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service::api::load
