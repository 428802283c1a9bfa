// One shard: a store of rows, segments made from it, and the lane in which everything changes.
//
// Threads and state:
//  * The *apply lane* is serial. It alone reads and writes the members under "lane only".
//  * Readers take the published snapshot and never wait for the lane.
//  * Background jobs (seal, merge, vacuum, index, drift) read snapshots, write new files, and hand
//  their result
//    to the lane, which swaps it in.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/observe/log_limit.h"
#include "base/threads/executor.h"
#include "base/threads/lane.h"
#include "base/threads/published.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/reports.h"
#include "engine/segment/columns.h"
#include "engine/segment/mutable_segment.h"
#include "engine/segment/segment.h"
#include "engine/shard/manifest.h"
#include "engine/shard/optimizer.h"
#include "engine/write/bulk_intent.h"
#include "engine/write/bulk_rows.h"
#include "engine/write/prepared.h"
#include "engine/write/staging.h"
#include "engine/write/write_gate.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// What all shards of a process share. Everything outlives the shards.
struct ShardContext {
  std::shared_ptr<storage::Runtime> runtime;
  Executor* lanes = nullptr;       ///< where the apply lanes run
  Executor* background = nullptr;  ///< where segments are built
  std::uint64_t max_queued_bytes = 64ULL << 20;
  /// Opens a shard's directory; tests put their own file system in.
  std::function<Result<std::unique_ptr<Directory>>(const std::string&)> open_directory =
      open_real_directory;
  /// The index types of fields; tests put their own in.
  IndexChooser choose_index = default_index;
  RecordQueries record_queries = RecordQueries::kYes;
  /// Asked before an update is taken.
  std::shared_ptr<const WriteGate> write_gate = std::make_shared<const WriteGate>();
  /// What the collection remembers of its queries; nullptr: nothing.
  std::shared_ptr<QuerySamples> queries = nullptr;
  /// How long closing waits for what runs, again once that was cancelled.
  std::chrono::milliseconds close_patience = std::chrono::seconds(5);
};

/// Operations of one request, applied together or not at all.
struct ShardRequest {
  std::vector<PreparedOperation> operations;
  Ack ack = Ack::kVisible;
  /// Called once, in the lane, with the last sequence number of each operation.
  std::function<void(Result<std::vector<Seq>>)> done;
};

struct ShardStatus {
  std::uint64_t n_live = 0;
  std::uint64_t n_segments = 0;
  std::uint64_t n_sealed_rows = 0;
  std::uint64_t n_damaged = 0;          ///< segments found damaged and not yet sealed again
  std::uint64_t n_damaged_indexes = 0;  ///< segments with an index that was, not yet built again
  bool optimizing = false;              ///< work is running or due
  std::string error;                    ///< of the last background job, empty if it went well
};

/// What a shard has put by for its part of a bulk load.
struct BulkStart {
  Seq first{};                ///< numbers from here on
  std::uint64_t segment = 0;  ///< id of the segment to be made
  std::vector<payload::FieldIndex> indexes;
};

/// That a bulk load counts: written once, in the first shard.
struct BulkDecision {
  std::uint64_t load = 0;
  std::optional<std::string> cursor;
};

class Shard {
 public:
  /// The manifest of the store at `path`, without opening it. kDataLoss if it is damaged.
  static Result<> check(const std::string& path, const ShardContext& context,
                        storage::Opening opening);
  /// The logs of the store at `path`, too, which `open` would find damaged.
  static Result<> check_logs(const std::string& path, const ShardContext& context);
  /// kDataLoss if the store at `path` is gone.
  static Result<> check_exists(const std::string& path, const ShardContext& context);
  /// Opens or creates the shard below `path` and recovers it: docs/formats/shard-store.md. `first`
  /// is the collection's first shard, which knows what became of bulk loads; nullptr: this is it.
  static Result<std::unique_ptr<Shard>> open(const std::string& path,
                                             std::shared_ptr<const CollectionConfig> config,
                                             const ShardContext& context,
                                             const Shard* first = nullptr);
  /// As `close`, but waits for work that has not ended however long it takes: it uses the shard.
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  /// kResourceExhausted at once if too much is queued already; `done` is not called then.
  Result<> submit(ShardRequest request);
  [[nodiscard]] std::shared_ptr<const SegmentSet> snapshot() const { return snapshot_.load(); }

  /// Puts a changed configuration in force; with a new payload index, `done` is called when every
  /// segment has its column.
  void set_config(std::shared_ptr<const CollectionConfig> config,
                  std::function<void(Result<>)> done) noexcept;

  /// Called now and then: seals what has been idle, starts due work.
  void tick() noexcept;
  /// kUnavailable if the rows were removed by somebody else.
  [[nodiscard]] Result<> check_place() const { return store_->check_place(); }
  [[nodiscard]] ShardStatus status() const;
  [[nodiscard]] std::uint64_t n_queued() const;
  void report(std::uint32_t number, OptimizationReport& report) const;
  [[nodiscard]] WorkSummary work() const { return jobs_.summary(); }

  // Bulk loading (shard_bulk.cc): one load at a time, in this order, from threads that are not the
  // lane's; `write_…` from any number of them at once. docs/decisions/0011.

  /// Updates wait from here until `finish_bulk` or `cancel_bulk`.
  Result<BulkStart> begin_bulk();
  /// Writes the values of `rows` as row file number `i`.
  Result<> write_bulk_rows(const BulkStart& start, const SegmentData& data,
                           std::span<const RowRef> rows, std::uint64_t i) const;
  Result<SegmentData> write_bulk_segment(const BulkStart& start, const Segment& data,
                                         std::span<const RowRef> rows) const;
  /// Records durably that all files are there.
  Result<> stage_bulk(const BulkIntent& intent, SegmentData output);
  /// The first shard only: from here on the load is to be finished, whatever happens. After an
  /// error it is to be cancelled, here first.
  Result<> decide_bulk(const BulkDecision& decision);
  /// Makes the load part of the shard. After an error it is to be called again.
  Result<> finish_bulk();
  /// Removes what there is of an undecided load. After an error it is to be called again.
  Result<> cancel_bulk();

  /// The first shard only.
  [[nodiscard]] std::uint64_t decided_bulk_load() const { return decided_bulk_load_; }
  [[nodiscard]] Result<std::string> bulk_cursor() const;

  /// Applies what is queued, ends background work, closes the store. kDeadlineExceeded, naming what
  /// still runs, if that does not end in time; the shard must not be destroyed then, nor the
  /// process wait for it.
  Result<> close();

 private:
  using Clock = std::chrono::steady_clock;

  /// A request in the queue, and what became of it.
  struct Pending {
    ShardRequest request;
    std::uint64_t n_bytes = 0;
    Result<std::vector<Seq>> result;
  };

  /// Borrowed by the lane, so that the queue is served whether there is memory or not.
  class DrainTask final : public Task::Callable {
   public:
    explicit DrainTask(Shard& shard) : shard_(shard) {}
    void call() override { shard_.drain(); }
    void release() noexcept override {}

   private:
    Shard& shard_;
  };

  /// A segment as the lane keeps it.
  struct State {
    Segment view;
    Bitset deleted;  ///< `[n_rows]`, the lane's own; newer than `view.deleted` if `changed`
    std::uint32_t n_deleted = 0;
    bool changed = false;        ///< since the last publication
    bool unsaved = false;        ///< since the deletes were last stored
    bool busy = false;           ///< input of a running job
    bool index_damaged = false;  ///< an index was found so and is not built again
    FieldFits fit;               ///< how well indexes find what is asked
    Seq first_seq{};             ///< unsealed: of its oldest row
  };

  /// A bulk load on its way.
  struct BulkLoad {
    std::uint64_t segment = 0;
    std::optional<BulkIntent> intent;  ///< once it was to be written
    std::optional<SegmentData> output;
    bool ingested = false;   ///< the rows are in the store
    bool installed = false;  ///< the segment is among `segments_`, older copies are dead
  };

  Shard(std::string path, std::shared_ptr<const CollectionConfig> config,
        const ShardContext& context);

  // Opening (shard_recovery.cc).
  Result<> recover(const Shard* first);
  Result<std::optional<Manifest>> load_manifest();
  Result<bool> is_store_empty() const;
  /// kDataLoss if there are segments, but the store never held anything.
  Result<> check_rows_of_segments(std::span<const std::uint64_t> found) const;
  Result<> remove_orphans(const Manifest& manifest, std::span<const std::uint64_t> found);
  Result<> open_segments(const Manifest& manifest);
  Result<State> open_segment(std::uint64_t id) const;
  Result<> replay(Seq from);
  Result<> recover_points(std::span<const PointId> ids);
  Result<> recover_point(const PointId& id, std::optional<std::string_view> bytes);
  Result<> rebuild_from_rows();
  /// Whose files the segments' are; made when there is none.
  Result<> set_owner();

  // Files that become unreadable while they are in use (shard_damage.cc), in the lane.
  [[nodiscard]] bool has_damage() const;
  /// Takes out what is damaged and makes it again.
  void mend() noexcept;
  void drop_damaged_parts(State& state);
  void take_out_damaged();
  Result<> read_lost_rows();
  [[nodiscard]] Result<> check_inputs(const RewriteJob& job) const;

  // Bulk loading (shard_bulk.cc), in the lane.
  template <class F>
  std::invoke_result_t<F> in_lane(F fn);
  Result<> ingest_bulk();
  [[nodiscard]] Result<bool> has_bulk_rows(const BulkIntent& intent) const;
  void install_bulk();
  void delete_older(std::span<const PointId> ids);
  void delete_in_segment(State& state, std::span<const PointId> ids);
  void delete_in_mutable(std::span<const PointId> ids);
  Result<> end_bulk();
  Result<> recover_bulk(Manifest& manifest, const Shard* first);
  void install_recovered_bulk();

  // Writing (shard.cc), in the lane.
  void drain() noexcept;
  bool put_off_drain() QV_EXCLUDES(queue_mutex_);
  void post_drain_if_queued() QV_EXCLUDES(queue_mutex_);
  std::list<Pending> take_queued() QV_EXCLUDES(queue_mutex_);
  /// Numbers the changes of `group` and writes them. After an error, or an exception, none of them
  /// is there.
  Result<> stage_and_commit(std::list<Pending>& group, Staging& staging);
  Result<> commit(const Staging& staging, Seq next);
  void apply_committed(const Staging& staging) noexcept;
  void apply_to_memory(const Staging& staging);
  void delete_in_memory(const PointId& id);
  void mark_dead(State& state, std::size_t row);
  void mark_mutable_dead(std::size_t row);
  [[nodiscard]] bool is_full() const;
  void freeze_if_full();
  /// Whole or, if it throws, not at all.
  void freeze();
  /// If it throws, what is published stays.
  void publish();
  /// After a change that leaves the places of rows as they are: a tick makes up for it.
  void publish_soon() noexcept;
  void update_status() noexcept;
  void on_tick();
  bool repair_store();
  void keep_house();
  /// True if there was no write for a while.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] std::vector<SegmentFacts> segment_facts() const;
  [[nodiscard]] std::size_t n_unsealed() const;
  void note_failure(JobKind what, const Error& error) noexcept;
  /// A failed seal is forgotten when one succeeds, not when other work does meanwhile.
  void note_success(JobKind what) noexcept;
  /// Of what runs all the time: says nothing of other work that failed.
  void note_recovery(JobKind what) noexcept;

  // The manifest (shard_manifest.cc), in the lane.
  /// `finished`: a job whose inputs are left out; `output`: its segment, added.
  /// `forgotten`: damaged segments that are rebuilt, whose deletes are dropped.
  Result<> save_manifest(const RewriteJob* finished, const State* output = nullptr,
                         std::span<const std::uint64_t> forgotten = {});
  [[nodiscard]] Seq covered_seq(const RewriteJob* finished) const;
  [[nodiscard]] static bool is_input(const RewriteJob* job, std::uint64_t segment);
  void save_deletes();

  // Configuration (shard_config.cc), in the lane.
  struct ColumnWaiter {
    std::shared_ptr<const CollectionConfig> config;  ///< whose columns are waited for
    std::function<void(Result<>)> done;
  };
  struct ColumnBuild;
  /// Whoever waits in `added`, one, is answered whatever happens.
  void change_config(std::list<ColumnWaiter>& added) noexcept;
  /// Makes the segments what `config_` says. If it throws, the next call does the rest.
  void apply_config();
  void drop_columns(State& state, std::span<const payload::FieldIndex> wanted);
  void build_columns() noexcept;
  void start_column_build();
  void finish_column_build(const ColumnBuild& build, const Result<>& result) noexcept;
  void answer_column_waiters();
  void fail_column_waiters(const Error& error) noexcept;
  [[nodiscard]] bool has_segment(std::uint64_t id) const;
  void install_columns(std::uint64_t segment, const ColumnMap& columns);

  // Background jobs (shard_jobs.cc), started and finished in the lane.
  void start_due_jobs() noexcept;
  void start_jobs();
  [[nodiscard]] bool& is_running(const Job& job);
  void note_started(const std::shared_ptr<const Job>& job) noexcept;
  void start_rewrite(RewritePlan plan);
  Result<> write_output(RewriteJob& job);
  void finish_rewrite(const std::shared_ptr<RewriteJob>& job, Result<> result) noexcept;
  void end_rewrite(RewriteJob& job, const Result<>& result) noexcept;
  void add_columns(const std::shared_ptr<RewriteJob>& job);
  /// Whole, or not at all.
  Result<> swap_in(RewriteJob& job);
  void replace_inputs(const RewriteJob& job, std::optional<State> output);
  void carry_deletes(const RewriteJob& job, State& output);
  void forget_damage();
  void remove_inputs(const RewriteJob& job);
  void abandon(const RewriteJob& job) noexcept;
  void set_busy(const Job& job, bool busy) noexcept;
  void remove_segment_directory(std::uint64_t id);
  void remove_leftovers();
  void wake_writers();
  void start_reclaim();

  // Vector indexes (shard_indexes.cc): built in the background, installed in the lane.
  [[nodiscard]] IndexPolicy index_policy() const;
  void start_index(std::uint64_t segment);
  void finish_index(IndexJob& job, Result<> result) noexcept;
  Result<> build(IndexJob& job);
  void install_index(IndexJob& job);
  Result<> index_output(RewriteJob& job);
  [[nodiscard]] bool is_drift_due() const;
  /// Measures how well indexes find what is asked; those that find too little are built anew.
  void check_drift();
  void measure_drift(const SegmentSet& segments);
  void note_drift(const MeasuredFit& fit);
  /// Those that the configuration has no use for; others that do not fit it are used until what is
  /// wanted is built.
  void drop_unwanted_indexes(State& state);

  /// Runs `work` in the background and then, in the lane and always, `finish` with what became of
  /// it; what `work` throws is an error. If this throws neither will run: a job is marked as
  /// running after it, so that its end is sure to come. `what` is told if the job does not end in
  /// time; it outlives the shard.
  void run_in_background(Priority priority, JobKind what, std::function<Result<>()> work,
                         std::function<void(Result<>)> finish);
  void end_background(std::list<JobKind>::iterator place) noexcept
      QV_EXCLUDES(background_mutex_);
  /// False if some work has not ended within `patience`.
  [[nodiscard]] bool wait_for_background(std::chrono::milliseconds patience)
      QV_EXCLUDES(background_mutex_);
  [[nodiscard]] std::string running_work() QV_EXCLUDES(background_mutex_);

  const std::string path_;
  const ShardContext context_;
  std::unique_ptr<Directory> segments_directory_;
  std::unique_ptr<storage::ShardStore> store_;
  Published<CollectionConfig> config_;
  Published<SegmentSet> snapshot_;
  std::atomic<std::uint64_t> decided_bulk_load_ = 0;

  // Lane only.
  std::vector<State> segments_;  ///< sealed and frozen, oldest first
  std::unique_ptr<MutableSegment> mutable_;
  Bitset mutable_deleted_;
  std::uint32_t n_mutable_deleted_ = 0;
  Seq next_seq_{1};     ///< numbers before it are used, be it by a write that failed
  Seq applied_seq_{0};  ///< all operations up to it that there are, are in the segments
  std::uint64_t next_segment_ = 1;
  /// Segments found damaged: kept in the manifest until the rows rebuilt from the store are sealed
  /// again, so that a crash meanwhile rebuilds once more.
  std::vector<std::uint64_t> damaged_;
  std::uint64_t rebuild_barrier_ = 0;
  /// Rows of a segment that became unreadable are not all read again: nothing is answered.
  bool lost_rows_ = false;
  std::vector<std::uint64_t> leftovers_;  ///< directories still to be removed
  Clock::time_point last_write_ = Clock::now();
  Clock::time_point retry_after_{};
  LogLimit failures_;                 ///< what fails is tried every few seconds, or at every update
  std::uint64_t n_rows_dropped_ = 0;  ///< deleted or overwritten since the store was compacted
  std::optional<BulkLoad> bulk_;      ///< while there is one, no updates are applied
  std::string last_error_;
  JobKind failed_work_ = JobKind::kHousekeeping;  ///< what `last_error_` is of
  std::list<ColumnWaiter> column_waiters_;
  bool building_columns_ = false;
  bool catch_up_ = false;  ///< the configuration is not in force, or its effect not published
  bool sealing_ = false;
  bool optimizing_ = false;  ///< one merge, vacuum or build of an index at a time
  bool reclaiming_ = false;
  bool measuring_drift_ = false;

  // Any thread.
  mutable Mutex queue_mutex_;
  std::list<Pending> queue_ QV_GUARDED_BY(queue_mutex_);
  std::uint64_t queued_bytes_ QV_GUARDED_BY(queue_mutex_) = 0;
  bool drain_posted_ QV_GUARDED_BY(queue_mutex_) = false;

  mutable Mutex status_mutex_;
  ShardStatus status_ QV_GUARDED_BY(status_mutex_);
  JobHistory jobs_;
  Cancel closing_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> wants_tick_ = true;
  std::atomic<std::uint64_t> drift_due_at_ = 0;  ///< queries seen

  Mutex background_mutex_;
  CondVar background_done_;
  std::list<JobKind> background_ QV_GUARDED_BY(background_mutex_);  ///< what runs

  DrainTask drain_task_{*this};
  std::unique_ptr<SerialLane> lane_;
};

}  // namespace quiver::engine
