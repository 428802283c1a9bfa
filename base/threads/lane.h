// Tasks that run one after another, in the order posted, on an executor's threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "base/threads/executor.h"
#include "base/threads/task.h"

namespace quiver {

/// Never two tasks at once; each sees the effects of those before it. Thread-safe, except that
/// `drain` and the destructor must not be called from one of its own tasks.
class SerialLane {
 public:
  /// `executor` outlives the lane.
  SerialLane(Executor& executor, Priority priority);
  /// As `drain`. Nobody posts any more.
  ~SerialLane();
  SerialLane(const SerialLane&) = delete;
  SerialLane& operator=(const SerialLane&) = delete;

  /// False, with `task` not run, only after the executor was stopped. Tasks may post tasks.
  /// An exception that leaves `task` is logged; the next task runs all the same. Takes no memory:
  /// only making a task may fail.
  bool post(Task task) noexcept;
  /// Returns when nothing waits and nothing runs.
  void drain();
  /// As `drain`; false if that was not so within `patience`.
  [[nodiscard]] bool drain_for(std::chrono::milliseconds patience);
  /// Tasks that wait or run.
  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quiver
