// Updates that must see the effect of all updates before them, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/executor.h"

namespace quiver::engine {

/// Thread-safe. Turns run on the executor in the order in which they were taken. Each begins when
/// the one before it has called `over`.
class UpdateTurns {
 public:
  /// Calls `over` once, from any thread, possibly later. Keeps the owner of the `UpdateTurns`
  /// alive.
  using Turn = std::function<void(std::function<void()> over)>;

  /// At most `max_bytes` of updates wait.
  UpdateTurns(Executor& executor, std::uint64_t max_bytes)
      : executor_(executor), max_bytes_(max_bytes) {}

  /// kResourceExhausted if too much waits already; the turn is not run then.
  Result<> take(std::uint64_t n_bytes, Turn turn) QV_EXCLUDES(mutex_);

 private:
  struct Waiting {
    std::uint64_t n_bytes = 0;
    Turn turn;
  };

  void start_next() QV_EXCLUDES(mutex_);
  void run_next() QV_EXCLUDES(mutex_);

  Executor& executor_;
  const std::uint64_t max_bytes_;
  Mutex mutex_;
  std::list<Waiting> waiting_ QV_GUARDED_BY(mutex_);
  std::uint64_t waiting_bytes_ QV_GUARDED_BY(mutex_) = 0;
  bool is_running_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
