// Work of a shard that runs off its apply lane.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "base/threads/lane.h"
#include "engine/model/job_kind.h"

namespace quiver::engine {

/// Thread-safe. Work that was started always ends in the lane, also when the shard closes.
class Background {
 public:
  /// Both outlive this.
  Background(Executor& executor, SerialLane& lane) : executor_(executor), lane_(lane) {}

  /// Runs `work` in the background and then, in the lane, `finish` with its result. An exception of
  /// `work` becomes an error. If this throws, neither runs: mark a job as running after this call.
  void run(Priority priority, JobKind kind, std::function<Result<>()> work,
           std::function<void(Result<>)> finish) QV_EXCLUDES(mutex_);
  /// False if some work has not ended within `patience`.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds patience) QV_EXCLUDES(mutex_);
  /// The kinds of work that run, for an error text; "updates" if none does.
  [[nodiscard]] std::string running() QV_EXCLUDES(mutex_);

 private:
  void end(std::list<JobKind>::iterator place) noexcept QV_EXCLUDES(mutex_);

  Executor& executor_;
  SerialLane& lane_;
  Mutex mutex_;
  CondVar ended_;
  std::list<JobKind> running_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
