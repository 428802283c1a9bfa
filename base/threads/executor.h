// The only threads that compute: a fixed number of them, fed from two queues.
//
// Guarded by `mutex_`: both queues, the counts of running tasks, and the two stages of stopping.
// High-priority tasks always go first. Low-priority ones (builds, merges) hold at most
// `max(1, n_threads - 1)` threads, so that with two threads or more a long build never delays a
// query by more than the other queries do. There is no promise that low ones progress while high
// ones keep every thread busy: work that must progress gets an executor of its own.
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

/// Thread-safe, except that `stop` and the destructor are called once, by a thread that is not one
/// of its own.
class Executor {
 public:
  /// `n_threads` of 0 means one per hardware thread. `name` shows in `top -H` (first 11
  /// characters). `nice` is raised for all threads: per task it cannot be, since lowering it again
  /// takes a privilege.
  Executor(std::size_t n_threads, std::string name, int nice = 0);
  /// As `stop`.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs `task` some time later, on some thread. False, with `task` not run, only after `stop`.
  /// An exception that leaves `task` is logged and goes no further. Takes no memory: only making a
  /// task may fail.
  bool post(Priority priority, Task task) noexcept QV_EXCLUDES(mutex_);

  /// Calls `fn(i)` once for each i in [0, n), on this thread and on free ones, and returns when all
  /// are done. The caller works too and waits only for calls that have begun: it finishes when all
  /// threads are busy, when called from a task, and after `stop`. `fn` should report failure by
  /// other means; if it throws, the remaining calls are still made and the first exception is
  /// rethrown here.
  template <class F>
  requires std::invocable<F&, std::size_t>
  void parallel_for(std::size_t n, F&& fn, Priority priority = Priority::kHigh) {
    auto* function = std::addressof(fn);
    run_loop(
        n, const_cast<void*>(static_cast<const void*>(function)),
        [](void* f, std::size_t i) { (*static_cast<std::remove_reference_t<F>*>(f))(i); },
        priority);
  }

  /// Runs what is queued and what that queues in turn, then ends the threads.
  void stop() QV_EXCLUDES(mutex_);

  [[nodiscard]] std::size_t n_threads() const { return n_threads_; }
  /// Tasks that wait, not counting those that run.
  [[nodiscard]] std::size_t n_queued(Priority priority) const QV_EXCLUDES(mutex_);

 private:
  void run_loop(std::size_t n, void* fn, void (*call)(void*, std::size_t), Priority priority);
  void work(std::size_t thread_number) QV_EXCLUDES(mutex_);
  /// Waits for a task that may run now; an empty one means that it is time to end.
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
  bool stopping_ QV_GUARDED_BY(mutex_) = false;  ///< ends when idle; still takes tasks
  bool closed_ QV_GUARDED_BY(mutex_) = false;    ///< takes no more tasks

  std::vector<std::thread> threads_;
};

}  // namespace quiver
