// The only threads that compute: a fixed number, fed from two queues.
//
// `mutex_` guards both queues, the counts of running tasks and the two stages of stopping.
// High-priority tasks always go first. Low-priority tasks (builds, merges) hold at most `max(1,
// n_threads - 1)` threads. So with two or more threads a long build delays a query no more than
// other queries do. Low-priority tasks may starve while high-priority ones keep every thread busy:
// work that must progress needs its own executor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/mutex.h"
#include "base/threads/task.h"

namespace quiver {

enum class Priority : std::uint8_t { kHigh, kLow };

/// Thread-safe, except that `stop` and the destructor are called once, from a thread that is not
/// its own.
class Executor {
 public:
  /// `n_threads` = 0 means one per hardware thread. `name` shows in `top -H` (first 11 characters).
  /// `nice` applies to all threads; it cannot change per task, because lowering it again needs a
  /// privilege.
  Executor(std::size_t n_threads, std::string name, int nice = 0);
  /// Calls `stop`.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Queues `task` to run on some thread. Returns false without running it only after `stop`. An
  /// exception from `task` is logged. Allocates nothing; only making a task may fail.
  bool post(Priority priority, Task task) noexcept QV_EXCLUDES(mutex_);

  /// Calls `fn(i)` once for each i in [0, n), on this thread and on free ones, and returns when all
  /// calls are done. The caller works too and waits only for calls that have begun. So it finishes
  /// even if all threads are busy, if it is called from a task, or after `stop`. `fn` should report
  /// errors through its own state; if it throws, the remaining calls are still made and the first
  /// exception is rethrown here.
  template <class F>
  requires std::invocable<F&, std::size_t>
  void parallel_for(std::size_t n, F&& fn, Priority priority = Priority::kHigh) {
    auto* function = std::addressof(fn);
    run_loop(
        n, const_cast<void*>(static_cast<const void*>(function)),
        [](void* f, std::size_t i) { (*static_cast<std::remove_reference_t<F>*>(f))(i); },
        priority);
  }

  /// Runs all queued tasks and the tasks that they queue, then ends the threads.
  void stop() QV_EXCLUDES(mutex_);

  [[nodiscard]] std::size_t n_threads() const { return n_threads_; }
  /// Number of waiting tasks, without the running ones.
  [[nodiscard]] std::size_t n_queued(Priority priority) const QV_EXCLUDES(mutex_);

 private:
  void run_loop(std::size_t n, void* fn, void (*call)(void*, std::size_t), Priority priority);
  void work(std::size_t thread_number) QV_EXCLUDES(mutex_);
  /// Waits for a task that may run now. An empty task means that the thread should end.
  Task next_task(Priority& priority) QV_EXCLUDES(mutex_);
  void task_done(Priority priority) QV_EXCLUDES(mutex_);
  [[nodiscard]] bool can_run_low() const QV_REQUIRES(mutex_);

  const std::size_t n_threads_;
  const std::size_t max_low_;
  const std::string name_;
  const int nice_;

  mutable Mutex mutex_;
  CondVar wake_;
  TaskQueue high_ QV_GUARDED_BY(mutex_);
  TaskQueue low_ QV_GUARDED_BY(mutex_);
  std::size_t n_running_ QV_GUARDED_BY(mutex_) = 0;
  std::size_t n_running_low_ QV_GUARDED_BY(mutex_) = 0;
  bool stopping_ QV_GUARDED_BY(mutex_) = false;  ///< ends when idle; still accepts tasks
  bool closed_ QV_GUARDED_BY(mutex_) = false;    ///< accepts no more tasks

  std::vector<std::thread> threads_;
};

}  // namespace quiver
