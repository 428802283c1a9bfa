#include "engine/write/update_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quiver::engine {
namespace {

/// One synced batch carries about this much at most.
constexpr std::uint64_t kMaxGroupBytes = 16ULL << 20;

std::uint64_t request_bytes(const ShardRequest& request) {
  std::uint64_t bytes = request.entry == nullptr ? 0 : request.entry->n_bytes;
  for (const auto& operation : request.operations) bytes += size_bytes(operation);
  return bytes;
}

bool is_overdue(const QueuedRequest& queued) {
  return queued.request.entry == nullptr && queued.request.deadline.has_passed();
}

}  // namespace

Result<> UpdateQueue::submit(ShardRequest request) {
  const std::uint64_t n_bytes = request_bytes(request);
  std::list<QueuedRequest> added;
  added.push_back({std::move(request), n_bytes, {}});
  bool post = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return fail(Code::kUnavailable, "the collection is closed");
    if (queued_bytes_ != 0 && queued_bytes_ + n_bytes > max_bytes_) {
      return fail(Code::kResourceExhausted,
                  fmt::format("the update queue is full: {} bytes wait, at most {} may",
                              queued_bytes_, max_bytes_));
    }
    queued_bytes_ += n_bytes;
    queue_.splice(queue_.end(), added);
    post = !std::exchange(drain_posted_, true);
  }
  if (post) lane_.post(Task::borrow(drain_));
  return {};
}

void UpdateQueue::close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

std::uint64_t UpdateQueue::size() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

bool UpdateQueue::has_overdue() const {
  MutexLock lock(mutex_);
  return !drain_posted_ && std::ranges::any_of(queue_, is_overdue);
}

std::list<QueuedRequest> UpdateQueue::take_overdue() {
  MutexLock lock(mutex_);
  std::list<QueuedRequest> taken;
  for (auto next = queue_.begin(); next != queue_.end();) {
    const auto queued = next++;
    if (!is_overdue(*queued)) continue;
    queued_bytes_ -= queued->n_bytes;
    taken.splice(taken.end(), queue_, queued);
  }
  return taken;
}

std::list<QueuedRequest> UpdateQueue::take() {
  MutexLock lock(mutex_);
  std::list<QueuedRequest> taken;
  std::uint64_t n_bytes = 0;
  while (!queue_.empty() && (taken.empty() || n_bytes < kMaxGroupBytes)) {
    n_bytes += queue_.front().n_bytes;
    queued_bytes_ -= queue_.front().n_bytes;
    taken.splice(taken.end(), queue_, queue_.begin());
  }
  return taken;
}

void UpdateQueue::put_off() {
  MutexLock lock(mutex_);
  drain_posted_ = false;
}

void UpdateQueue::drained() {
  bool post = false;
  {
    MutexLock lock(mutex_);
    post = drain_posted_ = !queue_.empty();
  }
  if (post) lane_.post(Task::borrow(drain_));
}

void UpdateQueue::wake() {
  bool post = false;
  {
    MutexLock lock(mutex_);
    post = !queue_.empty() && !std::exchange(drain_posted_, true);
  }
  if (post) lane_.post(Task::borrow(drain_));
}

}  // namespace quiver::engine
