// What runs and what failed in a shard, and the status that follows from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/observe/log_limit.h"
#include "base/result.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/indexes.h"
#include "engine/model/job_kind.h"
#include "engine/model/reports.h"
#include "engine/shard/state/job.h"
#include "engine/shard/state/optimizer.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

struct ShardStatus {
  std::uint64_t n_live = 0;
  std::uint64_t n_segments = 0;
  std::uint64_t n_sealed_rows = 0;
  std::uint64_t n_damaged = 0;          ///< segments found damaged and not yet sealed again
  std::uint64_t n_damaged_indexes = 0;  ///< segments with a damaged index, not yet rebuilt
  bool optimizing = false;              ///< work is running or due
  std::string error;                    ///< the last error of a background job; empty if none
  std::string waits;  ///< why a job that is due has not begun; empty if none waits
};

/// Invariants:
///  1. Only the lane changes anything; `status`, `report` and `summary` are for any thread.
///  2. One seal runs at a time; beside it one merge, vacuum or build of indexes; and one compaction
///     of the store. The pointer to a job is set exactly while it runs.
///  3. After a failure nothing is retried before `may_retry`.
class WorkStatus {
 public:
  using Clock = std::chrono::steady_clock;

  WorkStatus(ShardCommon& common, SegmentTable& table, IndexChooser choose_index)
      : common_(common), table_(table), choose_index_(std::move(choose_index)) {}

  // Any thread.
  [[nodiscard]] ShardStatus status() const QV_EXCLUDES(mutex_);
  void report(std::uint32_t shard, OptimizationReport& report) const {
    history_.report(shard, report);
  }
  [[nodiscard]] WorkSummary summary() const { return history_.summary(); }
  [[nodiscard]] IndexPolicy index_policy() const {
    return engine::index_policy(choose_index_, common_.config.load());
  }

  // Jobs.
  /// Call it after the job's work was posted: from then on its end is sure to come.
  void started(const std::shared_ptr<const Job>& job) noexcept;
  /// The job does not run any more. `update` is left to the caller.
  void ended(const Job& job) noexcept { running(job.kind) = nullptr; }
  /// Adds an ended job to the reports.
  void record(const Job& job, const Result<>& result) noexcept { history_.finish(job, result); }
  /// True if a job of this kind, or one that excludes it, runs.
  [[nodiscard]] bool is_running(JobKind kind) { return running(kind) != nullptr; }
  [[nodiscard]] bool is_any_running() const;

  // Failures.
  void note_failure(JobKind kind, const Error& error) noexcept;
  /// Clears the last error, but a failed seal only when a seal succeeds.
  void note_success(JobKind kind) noexcept;
  /// Clears the last error if it is of this kind. For work that never ends.
  void note_recovery(JobKind kind) noexcept;
  /// A job is due and has to wait for memory. It is tried again at the next tick.
  void note_waiting(const Error& error) noexcept;
  [[nodiscard]] bool may_retry() const { return Clock::now() >= retry_after_; }
  void retry_now() { retry_after_ = {}; }

  // The published state.
  /// Publishes the segments and the status. If this throws, the published segments stay.
  void publish();
  /// Like `publish`, after a change that moves no rows. If it fails, a tick tries again.
  void publish_soon() noexcept;
  /// Updates the status. If memory runs out, the old status stays and a tick tries again.
  void update() noexcept;
  /// True if some segments do not follow the configuration yet, or the result is not published.
  [[nodiscard]] bool must_catch_up() const { return must_catch_up_; }
  void set_must_catch_up(bool must) { must_catch_up_ = must; }

  // Facts that jobs are planned by.
  [[nodiscard]] std::vector<SegmentFacts> facts() const;
  /// A field of the segment whose index is to be rebuilt, if any.
  [[nodiscard]] std::optional<std::size_t> drifted_field(std::uint64_t segment) const;
  /// Recall of the indexes of a segment, as measured.
  [[nodiscard]] FieldFits& fits(std::uint64_t segment) { return fits_[segment]; }
  void forget_fits_of_removed();

 private:
  [[nodiscard]] std::shared_ptr<const Job>& running(JobKind kind);
  [[nodiscard]] bool is_work_due() const;

  ShardCommon& common_;
  SegmentTable& table_;
  const IndexChooser choose_index_;

  // Lane only.
  std::shared_ptr<const Job> sealing_;
  std::shared_ptr<const Job> optimizing_;  ///< a merge, a vacuum or a build of indexes
  std::shared_ptr<const Job> compacting_;
  std::map<std::uint64_t, FieldFits> fits_;  ///< by segment
  Clock::time_point retry_after_{};
  LogLimit failures_;  ///< failed work is retried every few seconds, or at every update
  std::string last_error_;
  std::string waits_;  ///< why a due job has not begun; empty: none waits
  JobKind failed_work_ = JobKind::kHousekeeping;  ///< the work that `last_error_` is about
  bool must_catch_up_ = false;

  // Any thread.
  JobHistory history_;
  mutable Mutex mutex_;
  ShardStatus status_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
