// Vector indexes of a shard's sealed segments: docs/decisions/0014. They are built in the
// background and installed in the lane. Recorded queries tell whether one has to be rebuilt.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/indexes.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/state/job.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"

namespace quiver::engine {

/// Builds the missing vector indexes of its one input, and again that of the field `rebuilt`.
struct IndexJob : Job {
  std::optional<std::size_t> rebuilt;
  std::vector<BuiltFieldIndex> built;
};

/// Lane only, but for `is_drift_due` and what runs in the background.
class IndexWork {
 public:
  /// `job_ended` starts what is due next.
  IndexWork(ShardCommon& common, const ShardContext& context, SegmentTable& table,
            WorkStatus& status, std::function<void()> job_ended)
      : common_(common),
        context_(context),
        table_(table),
        status_(status),
        job_ended_(std::move(job_ended)) {}

  /// False, and the status says so, if the build has to wait for memory.
  bool start(std::uint64_t segment);

  /// Counts the queries seen until now as measured. Called while the shard opens.
  void start_counting_queries();
  /// True if so many queries were recorded that indexes are to be measured again. Any thread.
  [[nodiscard]] bool is_drift_due() const;
  /// Measures the recall of indexes in the background and rebuilds those with too little.
  void check_drift();

 private:
  Result<> build(IndexJob& job);
  Result<> hold_built(const IndexJob& job) const;
  void finish(IndexJob& job, Result<> result) noexcept;
  void install(IndexJob& job);
  void measure(const SegmentSet& segments);
  void note_measured(const MeasuredFit& fit);

  ShardCommon& common_;
  const ShardContext& context_;
  SegmentTable& table_;
  WorkStatus& status_;
  const std::function<void()> job_ended_;

  std::optional<Job> measuring_;                 ///< lane only; while drift is measured
  std::atomic<std::uint64_t> drift_due_at_ = 0;  ///< queries seen
};

}  // namespace quiver::engine
