#include "base/threads/lane.h"

#include <utility>

#include "base/mutex.h"
#include "base/observe/failure.h"

namespace quiver {
namespace {

/// Tasks run in a row before the thread is offered to others.
constexpr int kTasksPerTurn = 16;

}  // namespace

/// `is_active`: a turn is queued on the executor or runs. At most one is, and it alone takes tasks
/// out; so no two tasks run at once, and the mutex hands each the effects of the one before.
///
/// A turn is the state itself, borrowed by a task of the executor: to queue one takes no memory, so
/// a lane cannot stop for want of it. The next one is queued when the executor has let go of the
/// last.
struct SerialLane::State final : Task::Callable {
  State(Executor& e, Priority p) : executor(e), priority(p) {}

  Executor& executor;
  const Priority priority;
  Mutex mutex;
  CondVar idle;
  TaskQueue waiting QV_GUARDED_BY(mutex);
  std::shared_ptr<State> self QV_GUARDED_BY(mutex);  ///< while active: turns outlive the lane
  bool is_active QV_GUARDED_BY(mutex) = false;
  bool is_running QV_GUARDED_BY(mutex) = false;
  bool has_run = false;  ///< the turn that is being released; of whoever has it

  /// False after the executor was stopped; the lane is idle then.
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

  /// Empty if nothing waits.
  Task take() {
    MutexLock lock(mutex);
    is_running = !waiting.empty();
    return is_running ? waiting.pop() : Task();
  }

  /// Not if something waits, unless it is never to run.
  bool go_idle(bool executor_runs) noexcept {
    const std::shared_ptr<State> kept = keep();  // of what is used until the end
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
