// Jobs that rewrite the live rows of some segments as one sealed segment: seals, merges and
// vacuums.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/state/job.h"
#include "engine/shard/state/manifest_writer.h"
#include "engine/shard/state/optimizer.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "payload/schema.h"

namespace quiver::engine {

/// The live rows of its inputs become one sealed segment.
struct RewriteJob : Job {
  std::uint64_t output_id = 0;
  std::shared_ptr<const CollectionConfig> config;  ///< as of the start: `inputs` have its fields
  std::vector<RowRef> rows;           ///< rows of the output, set by the background thread
  std::optional<SegmentData> output;  ///< nothing if no row was left
};

/// Lane only, but for what runs in the background. Until the manifest names the output, a crash
/// leaves the inputs as they were; from then on its directory is theirs no more.
class Rewrites {
 public:
  /// `job_ended` starts what is due next and wakes waiting writers.
  Rewrites(ShardCommon& common, const ShardContext& context, SegmentTable& table,
           ManifestWriter& manifest, WorkStatus& status, std::function<void()> job_ended)
      : common_(common),
        context_(context),
        table_(table),
        manifest_(manifest),
        status_(status),
        job_ended_(std::move(job_ended)) {}

  /// False, and the status says so, if the job has to wait for memory. A seal never waits: it frees
  /// memory.
  bool start(const RewritePlan& plan);

 private:
  // In the background.
  Result<> write_output(RewriteJob& job);
  Result<> index_output(RewriteJob& job);
  Result<> hold_output(const RewriteJob& job) const;
  // In the lane.
  void finish(const std::shared_ptr<RewriteJob>& job, Result<> result) noexcept;
  void end(RewriteJob& job, const Result<>& result) noexcept;
  void add_columns(const std::shared_ptr<RewriteJob>& job);
  /// Whole, or not at all.
  Result<> swap_in(RewriteJob& job);
  /// kUnavailable if a file that the job read is damaged by now: its output does not count.
  [[nodiscard]] Result<> check_inputs(const RewriteJob& job) const;
  void forget_damage();
  void remove_inputs(const RewriteJob& job);
  void abandon(const RewriteJob& job) noexcept;

  ShardCommon& common_;
  const ShardContext& context_;
  SegmentTable& table_;
  ManifestWriter& manifest_;
  WorkStatus& status_;
  const std::function<void()> job_ended_;
};

}  // namespace quiver::engine
