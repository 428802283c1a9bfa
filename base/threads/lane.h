// Runs tasks one after another, in the order posted, on an executor's threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "base/threads/executor.h"
#include "base/threads/task.h"

namespace quiver {

/// Never runs two tasks at once; each sees the effects of those before it. Thread-safe, except that
/// a task must not call `drain` or the destructor of its own lane.
class SerialLane {
 public:
  /// `executor` outlives the lane.
  SerialLane(Executor& executor, Priority priority);
  /// Calls `drain`. No thread may post any more.
  ~SerialLane();
  SerialLane(const SerialLane&) = delete;
  SerialLane& operator=(const SerialLane&) = delete;

  /// Returns false without running `task` only after the executor was stopped. Tasks may post
  /// tasks. An exception from `task` is logged, and the next task runs. Allocates nothing; only
  /// making a task may fail.
  bool post(Task task) noexcept;
  /// Returns when no task waits or runs.
  void drain();
  /// As `drain`, but returns false if tasks are left after `patience`.
  [[nodiscard]] bool drain_for(std::chrono::milliseconds patience);
  /// Number of waiting and running tasks.
  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quiver
