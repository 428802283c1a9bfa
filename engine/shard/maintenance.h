// The background work of a shard: what is due, and what a tick does.
#pragma once

#include <chrono>
#include <functional>

#include "engine/model/job_kind.h"
#include "engine/shard/bulk_load.h"
#include "engine/shard/column_builds.h"
#include "engine/shard/index_work.h"
#include "engine/shard/rewrite.h"
#include "engine/shard/state/device_placing.h"
#include "engine/shard/state/dropped_vectors.h"
#include "engine/shard/state/manifest_writer.h"
#include "engine/shard/state/memory_placing.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"

namespace quiver::engine {

/// Lane only. Starts jobs; each ends in the lane and asks for `start_due_jobs` again. Which job is
/// due: engine/shard/state/optimizer.h.
class Maintenance {
 public:
  /// The parts that do the work.
  struct Parts {
    SegmentTable& table;
    ManifestWriter& manifest;
    WorkStatus& status;
    ColumnBuilds& columns;
    IndexWork& indexes;
    Rewrites& rewrites;
    MemoryPlacing& memory;
    DevicePlacing& on_devices;
    DroppedVectors& dropped;
    const BulkLoad& bulk;
  };

  Maintenance(ShardCommon& common, const Parts& parts) : common_(common), parts_(parts) {}

  /// Starts the jobs that are due and may run beside those that do.
  void start_due_jobs() noexcept;
  /// Rows were written: idle work waits again.
  void note_write();
  /// Seals the mutable segment in the background. If this fails, the segment grows on, and the next
  /// update tries again.
  void freeze() noexcept;
  /// Idle work, leftovers, and what failed before.
  void tick();

 private:
  using Clock = WorkStatus::Clock;

  void start_jobs();
  void keep_house();
  void catch_up();
  void seal_idle();
  void save_deletes();
  /// True if the store takes writes, again if need be.
  bool repair_store();
  /// True if nothing was written for the time that the configuration names.
  [[nodiscard]] bool is_idle() const;
  /// Takes vectors of dropped fields out of the store, which is compacted then.
  void start_cleaning();
  void clean() noexcept;
  void start_compaction();
  void end_compaction(const Job& job, const Result<>& result);

  ShardCommon& common_;
  const Parts parts_;

  Clock::time_point last_write_ = Clock::now();
  bool is_cleaning_ = false;
  bool must_compact_ = false;           ///< rows were cleaned
  bool is_compacting_cleaned_ = false;  ///< the running compaction began after that
};

}  // namespace quiver::engine
