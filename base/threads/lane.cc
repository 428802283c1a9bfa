#include "base/threads/lane.h"

#include <utility>

#include "base/mutex.h"
#include "base/observe/failure.h"

namespace quiver {
namespace {

/// Tasks that run in a row before the thread is offered to others.
constexpr int kTasksPerTurn = 16;

}  // namespace

/// `is_active` means that a turn is queued on the executor or running. There is at most one, and
/// only it takes tasks out. So no two tasks run at once, and the mutex gives each task the effects
/// of the one before.
///
/// The State itself is the turn, borrowed by a task of the executor. So queueing a turn allocates
/// nothing and cannot fail. The next turn is queued when the executor has released the last one.
struct SerialLane::State final : Task::Callable {
  State(Executor& e, Priority p) : executor(e), priority(p) {}

  Executor& executor;
  const Priority priority;
  Mutex mutex;
  CondVar idle;
  TaskQueue waiting QV_GUARDED_BY(mutex);
  std::shared_ptr<State> self QV_GUARDED_BY(mutex);  ///< set while active, so that turns live
  bool is_active QV_GUARDED_BY(mutex) = false;
  bool is_running QV_GUARDED_BY(mutex) = false;
  bool has_run = false;  ///< a turn ran and is being released; used only by the thread of that turn

  /// False after the executor was stopped; the lane is then idle.
  bool schedule() noexcept { return executor.post(priority, Task::borrow(*this)); }

  void call() override {
    has_run = true;
    for (int i = 0; i < kTasksPerTurn; ++i) {
      Task task = take();
      if (!task) return;
      run_logged("a task of a serial lane threw", task);
    }
    MutexLock lock(mutex);
    is_running = false;
  }

  void release() noexcept override {
    if (!go_idle(std::exchange(has_run, false))) schedule();
  }

  /// Returns an empty task if nothing waits.
  Task take() {
    MutexLock lock(mutex);
    is_running = !waiting.empty();
    return is_running ? waiting.pop() : Task();
  }

  /// False if a task waits, unless it will never run.
  bool go_idle(bool executor_runs) noexcept {
    const std::shared_ptr<State> kept = keep();  // keeps this object alive until the end
    TaskQueue dropped = executor_runs ? TaskQueue() : take_all();
    MutexLock lock(mutex);
    if (!waiting.empty()) return false;
    is_active = false;
    self.reset();
    idle.notify_all();
    return true;
  }
  std::shared_ptr<State> keep() noexcept {
    MutexLock lock(mutex);
    return self;
  }
  TaskQueue take_all() noexcept {
    MutexLock lock(mutex);
    return std::move(waiting);
  }
};

SerialLane::SerialLane(Executor& executor, Priority priority)
    : state_(std::make_shared<State>(executor, priority)) {}

SerialLane::~SerialLane() { drain(); }

bool SerialLane::post(Task task) noexcept {
  {
    MutexLock lock(state_->mutex);
    state_->waiting.push(std::move(task));
    if (std::exchange(state_->is_active, true)) return true;
    state_->self = state_;
  }
  return state_->schedule();
}

void SerialLane::drain() {
  MutexLock lock(state_->mutex);
  while (state_->is_active) state_->idle.wait(state_->mutex);
}

bool SerialLane::drain_for(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  MutexLock lock(state_->mutex);
  while (state_->is_active) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    state_->idle.wait_for(state_->mutex, left);
  }
  return true;
}

std::size_t SerialLane::size() const {
  MutexLock lock(state_->mutex);
  return state_->waiting.size() + (state_->is_running ? 1 : 0);
}

}  // namespace quiver
