#include "service/tracing/span_queue.h"

#include <utility>

namespace quiver::service::tracing {

std::size_t n_spans(const SpanBatch& batch) {
  std::size_t n = 0;
  for (const RequestSpan& request : batch) n += request.n_spans();
  return n;
}

bool SpanQueue::add(RequestSpan span) {
  const std::size_t n = span.n_spans();
  MutexLock lock(mutex_);
  if (is_closed_ || n_spans_ + n > max_spans_) return false;
  requests_.push_back(std::move(span));
  n_spans_ += n;
  if (n_wanted_ > 0 && n_spans_ >= n_wanted_) {
    n_wanted_ = 0;  // one call of the system for each batch, not for each span
    changed_.notify_all();
  }
  return true;
}

SpanBatch SpanQueue::take(std::size_t n, std::chrono::nanoseconds patience) {
  const auto until = Clock::now() + patience;
  SpanBatch batch;
  MutexLock lock(mutex_);
  while (!is_closed_ && n_spans_ < n) {
    const auto left = until - Clock::now();
    if (left <= left.zero()) break;
    n_wanted_ = n;
    changed_.wait_for(mutex_, left);
  }
  n_wanted_ = 0;
  for (std::size_t taken = 0; taken < n && !requests_.empty();) {
    taken += requests_.front().n_spans();
    n_spans_ -= requests_.front().n_spans();
    batch.push_back(std::move(requests_.front()));
    requests_.pop_front();
  }
  return batch;
}

void SpanQueue::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

bool SpanQueue::is_closed_within(std::chrono::nanoseconds patience) {
  const auto until = Clock::now() + patience;
  MutexLock lock(mutex_);
  while (!is_closed_) {
    const auto left = until - Clock::now();
    if (left <= left.zero()) break;
    changed_.wait_for(mutex_, left);
  }
  return is_closed_;
}

}  // namespace quiver::service::tracing
