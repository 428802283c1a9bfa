// How a connection waits for work on another thread, without a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/threads/task.h"

namespace quiver::service {

/// One thread waits, another one finishes. Used again after `reset`.
class Completion {
 public:
  /// Arranges for a task to run on the thread of the one that waits. Called on any thread.
  using Post = std::function<void(Task)>;

  explicit Completion(Post post) : post_(std::move(post)) {}

  void reset() { state_.store(State::kRunning, std::memory_order_relaxed); }
  /// True if nothing has to be waited for. What happened before `finish` is visible then.
  [[nodiscard]] bool is_finished() const {
    return state_.load(std::memory_order_acquire) == State::kFinished;
  }
  /// Called once, on any thread. Afterwards the object may be gone.
  void finish();
  /// Posts `resume` once finished. Called once at most.
  void wait(Task resume);

 private:
  enum class State : std::uint8_t { kRunning, kWaiting, kFinished };

  const Post post_;
  std::atomic<State> state_ = State::kRunning;
  Task resume_;
};

}  // namespace quiver::service
