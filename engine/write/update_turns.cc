#include "engine/write/update_turns.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {

Result<> UpdateTurns::take(std::uint64_t n_bytes, Turn turn) {
  {
    MutexLock lock(mutex_);
    if (!waiting_.empty() && waiting_bytes_ + n_bytes > max_bytes_) {
      return fail(Code::kResourceExhausted,
                  fmt::format("too many updates wait: {} of at most {} bytes, try again later",
                              waiting_bytes_, max_bytes_));
    }
    waiting_.push_back({n_bytes, std::move(turn)});
    waiting_bytes_ += n_bytes;
    if (std::exchange(is_running_, true)) return {};
  }
  start_next();
  return {};
}

void UpdateTurns::start_next() {
  const auto posted = guarded(
      [this]() -> Result<bool> { return executor_.post(Priority::kHigh, [this] { run_next(); }); });
  if (!posted || !*posted) run_next();  // no memory for the task, or the executor has stopped
}

void UpdateTurns::run_next() {
  Turn turn;
  {
    MutexLock lock(mutex_);
    turn = std::move(waiting_.front().turn);
    waiting_bytes_ -= waiting_.front().n_bytes;
    waiting_.pop_front();
  }
  // `turn` keeps the owner alive until the next one is started.
  turn([this] {
    {
      MutexLock lock(mutex_);
      is_running_ = !waiting_.empty();
      if (!is_running_) return;
    }
    start_next();
  });
}

}  // namespace quiver::engine
