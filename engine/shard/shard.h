// One shard: a store of rows, segments made from it, and the lane in which everything changes.
//
// Threads and state:
//  * The *apply lane* is serial. It alone changes the segments and what is recorded of them.
//  * Readers take the published snapshot and never wait for the lane.
//  * Background jobs read snapshots, write new files, and hand their result to the lane, which
//  swaps
//    it in.
// Each part below says at its top which of its functions belong to the lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/threads/task.h"
#include "engine/model/config.h"
#include "engine/model/reports.h"
#include "engine/segment/segment.h"
#include "engine/shard/apply_lane.h"
#include "engine/shard/bulk_load.h"
#include "engine/shard/column_builds.h"
#include "engine/shard/damage.h"
#include "engine/shard/index_work.h"
#include "engine/shard/maintenance.h"
#include "engine/shard/rewrite.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/shard_links.h"
#include "engine/shard/state/device_placing.h"
#include "engine/shard/state/dropped_vectors.h"
#include "engine/shard/state/manifest_writer.h"
#include "engine/shard/state/memory_placing.h"
#include "engine/shard/state/row_recovery.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "engine/write/replicated_log.h"
#include "engine/write/shard_log.h"
#include "engine/write/update_queue.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

class Shard {
 public:
  /// Checks the manifest of the store at `path` without opening it. kDataLoss if it is damaged.
  static Result<> check(const std::string& path, const ShardContext& context,
                        storage::Opening opening);
  /// Checks the logs of the store at `path` without opening it. kDataLoss if `open` would find them
  /// damaged.
  static Result<> check_logs(const std::string& path, const ShardContext& context);
  /// kDataLoss if the store at `path` is gone.
  static Result<> check_exists(const std::string& path, const ShardContext& context);
  /// Opens or creates the shard below `path` and recovers it: docs/formats/shard-store.md. `first`
  /// is the collection's first shard; nullptr: it is this one. `number`: of this shard.
  static Result<std::unique_ptr<Shard>> open(const std::string& path,
                                             std::shared_ptr<const CollectionConfig> config,
                                             const ShardContext& context,
                                             const Shard* first = nullptr,
                                             std::uint32_t number = 0);
  /// As `close`, but waits as long as it takes for work that has not ended: it uses the shard.
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// kResourceExhausted at once if too much is queued already; `done` is not called then.
  Result<> submit(ShardRequest request) { return queue_.submit(std::move(request)); }
  [[nodiscard]] std::shared_ptr<const SegmentSet> snapshot() const { return table_.snapshot(); }
  /// Puts a changed configuration in force; with a new payload index, `done` is called when every
  /// segment has its column.
  void set_config(std::shared_ptr<const CollectionConfig> config,
                  std::function<void(Result<>)> done) noexcept {
    columns_.set_config(std::move(config), std::move(done));
  }
  /// After a `set_config` that added fields: waits for the lane. kUnavailable if segments lack
  /// them.
  Result<> check_fields(const CollectionConfig& config);
  [[nodiscard]] BulkLoad& bulk() { return bulk_; }
  [[nodiscard]] const BulkLoad& bulk() const { return bulk_; }
  /// As `link_shard` (shard_links.h).
  [[nodiscard]] Result<Seq> link_files(const std::string& target) {
    return link_shard(common_, table_, bulk_, target);
  }

  /// nullptr: the shard is on this node only.
  [[nodiscard]] ReplicatedLog* replicated_log() { return replicated_; }

  /// Called now and then: seals what has been idle, starts due work.
  void tick() noexcept;
  /// kUnavailable if the rows were removed by somebody else.
  [[nodiscard]] Result<> check_place() const { return common_.store().check_place(); }
  [[nodiscard]] ShardStatus status() const { return status_.status(); }
  [[nodiscard]] std::uint64_t n_queued() const { return queue_.size(); }
  /// Adds the jobs to `report`, as jobs of shard number `number`.
  void report(std::uint32_t number, OptimizationReport& report) const {
    status_.report(number, report);
  }
  /// Why files are not kept in memory as asked; empty if all are.
  [[nodiscard]] std::string memory_warning() const { return memory_.warning(); }
  [[nodiscard]] WorkSummary work() const { return status_.summary(); }

  /// Applies what is queued, ends background work, closes the store. kDeadlineExceeded, naming the
  /// jobs, if they do not end in time. Then the store stays open, the shard takes no updates, and
  /// its destruction waits for the jobs; `close` may be called again. One call at a time.
  Result<> close();
  /// True if no update and no job runs or waits now.
  [[nodiscard]] bool has_no_work();

 private:
  [[nodiscard]] bool cancelled_work_ends();

  // Borrowed by the lane, so that updates are served and refused whether there is memory or not.
  class DrainTask final : public Task::Callable {
   public:
    explicit DrainTask(Shard& shard) : shard_(shard) {}
    void call() override { shard_.drain(); }
    void release() noexcept override {}

   private:
    Shard& shard_;
  };
  class TickTask final : public Task::Callable {
   public:
    explicit TickTask(Shard& shard) : shard_(shard) {}
    void call() override { shard_.on_tick(); }
    void release() noexcept override { is_posted = false; }

    std::atomic<bool> is_posted = false;

   private:
    Shard& shard_;
  };

  Shard(const std::string& path, std::shared_ptr<const CollectionConfig> config,
        const ShardContext& context, ShardFiles files, const ShardName& name);
  Result<> recover(const Shard* first);
  // In the lane.
  void drain() noexcept;
  void on_tick();

  // A part uses parts above it.
  const ShardContext context_;
  bool is_closed_ = false;  ///< the store is closed, too
  ShardCommon common_;
  SegmentTable table_{common_};
  ManifestWriter manifest_{common_, table_};
  MemoryPlacing memory_{common_, table_};
  DevicePlacing on_devices_{common_, table_, context_.devices};
  DroppedVectors dropped_{common_};
  WorkStatus status_{common_, table_, context_.choose_index};
  /// Local, unless the collection is replicated.
  const std::unique_ptr<ShardLog> log_;
  ReplicatedLog* replicated_ = nullptr;  ///< `log_`, if it is one
  DrainTask drain_task_{*this};
  TickTask tick_task_{*this};
  UpdateQueue queue_{common_.lane, drain_task_, context_.max_queued_bytes};
  ColumnBuilds columns_{common_, table_, status_, [this] { maintenance_.start_due_jobs(); }};
  IndexWork indexes_{common_, context_, table_, status_, [this] { maintenance_.start_due_jobs(); }};
  Rewrites rewrites_;
  BulkLoad bulk_;
  Maintenance maintenance_{common_,
                           {table_, manifest_, status_, columns_, indexes_, rewrites_, memory_,
                            on_devices_, dropped_, bulk_}};
  RowRecovery rows_{common_, table_};
  Damage damage_{common_, table_,   status_,
                 rows_,   columns_, [this] { maintenance_.start_due_jobs(); }};
  ApplyLane lane_{common_, table_, *log_, queue_, bulk_, status_, maintenance_};
};

}  // namespace quiver::engine
