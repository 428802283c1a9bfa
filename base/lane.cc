#include "base/lane.h"

#include <deque>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace quiver {
namespace {

/// Tasks run in a row before the thread is offered to others.
constexpr int kTasksPerTurn = 16;

void run_guarded(Task& task) {
  try {
    task();
  } catch (const std::exception& exception) {
    log_error("a task of a serial lane threw: {}", exception.what());
  } catch (...) {
    log_error("a task of a serial lane threw something that is no std::exception");
  }
}

}  // namespace

/// `is_active`: a turn is queued on the executor or runs. At most one is, and it alone takes tasks
/// out; so no two tasks run at once, and the mutex hands each the effects of the one before.
struct SerialLane::State : std::enable_shared_from_this<State> {
  State(Executor& e, Priority p) : executor(e), priority(p) {}

  Executor& executor;
  const Priority priority;
  Mutex mutex;
  CondVar idle;
  std::deque<Task> waiting QV_GUARDED_BY(mutex);
  bool is_active QV_GUARDED_BY(mutex) = false;
  bool is_running QV_GUARDED_BY(mutex) = false;

  bool schedule() {
    return executor.post(priority, [self = shared_from_this()] { self->turn(); });
  }

  void turn() {
    for (int i = 0; i < kTasksPerTurn; ++i) {
      Task task = take();
      if (!task) return;
      run_guarded(task);
    }
    // Called from a task of the executor, which therefore is not closed.
    if (!go_idle()) schedule();
  }

  /// Empty, and the lane idle, if nothing waits.
  Task take() {
    if (go_idle()) return {};
    MutexLock lock(mutex);
    Task task = std::move(waiting.front());
    waiting.pop_front();
    is_running = true;
    return task;
  }

  bool go_idle() {
    MutexLock lock(mutex);
    is_running = false;
    if (!waiting.empty()) return false;
    is_active = false;
    idle.notify_all();
    return true;
  }
};

SerialLane::SerialLane(Executor& executor, Priority priority)
    : state_(std::make_shared<State>(executor, priority)) {}

SerialLane::~SerialLane() { drain(); }

bool SerialLane::post(Task task) {
  {
    MutexLock lock(state_->mutex);
    state_->waiting.push_back(std::move(task));
    if (std::exchange(state_->is_active, true)) return true;
  }
  if (state_->schedule()) return true;
  MutexLock lock(state_->mutex);
  state_->waiting.clear();
  state_->is_active = false;
  state_->idle.notify_all();
  return false;
}

void SerialLane::drain() {
  MutexLock lock(state_->mutex);
  while (state_->is_active) state_->idle.wait(state_->mutex);
}

std::size_t SerialLane::size() const {
  MutexLock lock(state_->mutex);
  return state_->waiting.size() + (state_->is_running ? 1 : 0);
}

}  // namespace quiver
