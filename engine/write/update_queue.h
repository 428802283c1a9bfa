// Updates that wait for the apply lane of a shard.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/lane.h"
#include "base/threads/task.h"
#include "engine/model/reports.h"
#include "engine/write/entry.h"
#include "engine/write/prepared.h"
#include "engine/write/staging.h"

namespace quiver::engine {

/// What an entry of a replicated log changes.
struct CommittedEntry {
  EntryNumber number = 0;
  std::vector<Staging::Change> changes;
  std::uint64_t n_bytes = 0;
};

/// Operations of one request, applied together or not at all.
struct ShardRequest {
  std::vector<PreparedOperation> operations;
  Ack ack = Ack::kVisible;
  /// Called once, in the lane, with the last sequence number of each operation.
  std::function<void(Result<std::vector<Seq>>)> done;
  /// An entry that the cluster has committed, in place of operations; nullptr: none.
  std::shared_ptr<const CommittedEntry> entry = nullptr;
  /// When it is refused if the lane still puts updates off. An entry is never refused.
  Deadline deadline = Deadline::none();
  /// When the caller gives up: it is refused if it still waits then, or would by the wait of
  /// others.
  Deadline caller_deadline = Deadline::none();
  Deadline::Clock::time_point queued_at = {};  ///< set by the queue
};

/// A request in the queue, and its result once it was applied.
struct QueuedRequest {
  ShardRequest request;
  std::uint64_t n_bytes = 0;
  Result<std::vector<Seq>> result;
};

/// Thread-safe. Invariants:
///  1. While requests wait, a drain is posted to the lane, or the lane has put it off (`put_off`)
///     and calls `wake` later.
///  2. At most one drain is posted at a time. Posting takes no memory.
class UpdateQueue {
 public:
  /// `drain` runs in `lane` and ends with `put_off` or `drained`. Both outlive the queue.
  UpdateQueue(SerialLane& lane, Task::Callable& drain, std::uint64_t max_bytes)
      : lane_(lane), drain_(drain), max_bytes_(max_bytes) {}

  /// kResourceExhausted at once if too much waits already, or one of them has waited for longer
  /// than the caller of `request` would; `done` is not called then.
  Result<> submit(ShardRequest request) QV_EXCLUDES(mutex_);
  /// Refuses later requests.
  void close() QV_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t size() const QV_EXCLUDES(mutex_);
  /// True if updates are put off and one of them is past its deadline.
  [[nodiscard]] bool has_overdue() const QV_EXCLUDES(mutex_);

  // For the lane.
  /// The oldest requests, about as many as one synced batch should carry.
  [[nodiscard]] std::list<QueuedRequest> take() QV_EXCLUDES(mutex_);
  /// Takes the requests whose callers have given up, oldest first; they are not applied.
  [[nodiscard]] std::list<QueuedRequest> take_given_up() QV_EXCLUDES(mutex_);
  /// The drain took nothing: it waits for `wake`.
  void put_off() QV_EXCLUDES(mutex_);
  /// Takes the requests that are past their deadline, oldest first; they are not applied.
  [[nodiscard]] std::list<QueuedRequest> take_overdue() QV_EXCLUDES(mutex_);
  /// The drain is over: posts the next one if requests wait.
  void drained() QV_EXCLUDES(mutex_);
  /// Posts a drain if requests wait and none is posted.
  void wake() QV_EXCLUDES(mutex_);

 private:
  [[nodiscard]] Result<> check_wait(const ShardRequest& request) const QV_REQUIRES(mutex_);
  template <class IsTaken>
  [[nodiscard]] std::list<QueuedRequest> take_if(IsTaken is_taken) QV_REQUIRES(mutex_);

  SerialLane& lane_;
  Task::Callable& drain_;
  const std::uint64_t max_bytes_;

  mutable Mutex mutex_;
  std::list<QueuedRequest> queue_ QV_GUARDED_BY(mutex_);
  std::uint64_t queued_bytes_ QV_GUARDED_BY(mutex_) = 0;
  bool drain_posted_ QV_GUARDED_BY(mutex_) = false;
  bool closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
