// Spans that wait to be sent. Never more than its bound: a collector that is down costs spans, not
// memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "service/tracing/span.h"

namespace quiver::service::tracing {

using SpanBatch = std::vector<RequestSpan>;

/// Number of spans with those of stages.
[[nodiscard]] std::size_t n_spans(const SpanBatch& batch);

/// Thread-safe. Any thread adds, one takes.
class SpanQueue {
 public:
  explicit SpanQueue(std::size_t max_spans) : max_spans_(max_spans) {}

  /// False if there is no room, or the queue is closed. Does not wait.
  [[nodiscard]] bool add(RequestSpan span) QV_EXCLUDES(mutex_);
  /// Waits until `n` spans are there, or `patience` has passed, or the queue is closed. Returns
  /// requests with about `n` spans, perhaps none.
  [[nodiscard]] SpanBatch take(std::size_t n, std::chrono::nanoseconds patience)
      QV_EXCLUDES(mutex_);
  /// Takes no more spans. Those that wait can still be taken.
  void close() QV_EXCLUDES(mutex_);
  /// True as soon as the queue is closed, false after `patience`.
  [[nodiscard]] bool is_closed_within(std::chrono::nanoseconds patience) QV_EXCLUDES(mutex_);

 private:
  using Clock = std::chrono::steady_clock;

  const std::size_t max_spans_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<RequestSpan> requests_ QV_GUARDED_BY(mutex_);
  std::size_t n_spans_ QV_GUARDED_BY(mutex_) = 0;
  std::size_t n_wanted_ QV_GUARDED_BY(mutex_) = 0;  ///< by who takes; 0: nobody waits
  bool is_closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::service::tracing
