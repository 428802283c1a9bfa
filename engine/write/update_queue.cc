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

bool is_given_up(const QueuedRequest& queued) {
  return queued.request.entry == nullptr && queued.request.caller_deadline.has_passed();
}

bool is_overdue(const QueuedRequest& queued) {
  return is_given_up(queued) ||
         (queued.request.entry == nullptr && queued.request.deadline.has_passed());
}

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

/// Updates are applied in order, so the oldest one's wait is a lower bound of the next one's while
/// the lane stands still.
Result<> UpdateQueue::check_wait(const ShardRequest& request) const {
  const auto left = request.caller_deadline.remaining();
  if (!left || queue_.empty()) return {};
  const auto waited = request.queued_at - queue_.front().request.queued_at;
  if (waited <= *left) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("an update has waited for {:.0f} ms in the queue already, this one may "
                          "wait for {:.0f} ms; nothing of it was stored here",
                          milliseconds(waited), milliseconds(*left)));
}

Result<> UpdateQueue::submit(ShardRequest request) {
  request.queued_at = Deadline::Clock::now();
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
    QV_TRY(check_wait(added.front().request));
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

template <class IsTaken>
std::list<QueuedRequest> UpdateQueue::take_if(IsTaken is_taken) {
  std::list<QueuedRequest> taken;
  for (auto next = queue_.begin(); next != queue_.end();) {
    const auto queued = next++;
    if (!is_taken(*queued)) continue;
    queued_bytes_ -= queued->n_bytes;
    taken.splice(taken.end(), queue_, queued);
  }
  return taken;
}

std::list<QueuedRequest> UpdateQueue::take_overdue() {
  MutexLock lock(mutex_);
  return take_if(is_overdue);
}

std::list<QueuedRequest> UpdateQueue::take_given_up() {
  MutexLock lock(mutex_);
  return take_if(is_given_up);
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
