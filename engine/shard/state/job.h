// A background job of a shard, and the history of its jobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/observe/memory_budget.h"
#include "base/result.h"
#include "engine/model/job_kind.h"
#include "engine/model/reports.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

[[nodiscard]] double seconds_since_epoch();

/// Made in the lane, run in the background, finished in the lane.
struct Job {
  std::uint64_t number = 0;
  JobKind kind = JobKind::kSeal;
  std::vector<Segment> inputs;
  std::uint64_t n_rows = 0;  ///< live rows of the inputs at the start
  double started_at = seconds_since_epoch();
  Stopwatch clock;
  MemoryPromise memory;  ///< what it may take until it ends
  std::atomic<double> share_done = 0;

  /// Keeps the largest share that any thread has reported.
  void set_done(double share) {
    double before = share_done.load(std::memory_order_relaxed);
    while (before < share &&
           !share_done.compare_exchange_weak(before, share, std::memory_order_relaxed)) {
    }
  }
};

/// Running and finished jobs of a shard, for reports. Thread-safe.
class JobHistory {
 public:
  JobHistory() { completed_.reserve(kMaxCompleted + 1); }
  // Without memory a job is missing in reports, and nothing else happens.
  void add(std::shared_ptr<const Job> job) noexcept;
  void finish(const Job& job, const Result<>& result) noexcept;
  /// Adds the jobs to `report`, as jobs of shard number `shard`.
  void report(std::uint32_t shard, OptimizationReport& report) const;
  [[nodiscard]] WorkSummary summary() const;

 private:
  static constexpr std::size_t kMaxCompleted = 16;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const Job>> running_ QV_GUARDED_BY(mutex_);
  std::vector<OptimizationState> completed_ QV_GUARDED_BY(mutex_);
  WorkSummary summary_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
