// A shard's part of a bulk load: docs/decisions/0011.
//
// Order: write and sync files, record the intent, record the decision (first shard), add the rows
// to the store, publish the segment, store the manifest and remove the intent. The decision commits
// the load. After it the load is always completed, at the next opening if necessary. Updates wait
// meanwhile, so no row is newer than those of the load.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "engine/shard/state/manifest.h"
#include "engine/shard/state/manifest_writer.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "engine/write/bulk_intent.h"
#include "engine/write/update_queue.h"
#include "payload/schema.h"

namespace quiver::engine {

/// What a shard has reserved for its part of a bulk load.
struct BulkStart {
  Seq first{};                ///< numbers from here on
  std::uint64_t segment = 0;  ///< id of the new segment
  std::vector<payload::FieldIndex> indexes;
};

/// The record that a bulk load counts: written once, in the first shard.
struct BulkDecision {
  std::uint64_t load = 0;
  std::optional<std::string> cursor;
};

/// One load at a time. The public calls come in this order, from threads that are not the lane's,
/// and change the state in the lane; `write_…` from any number of threads at once.
///
///   begin → write_… → stage → decide (first shard only) → finish
///   at any moment before `decide` succeeded: cancel
class BulkLoad {
 public:
  struct Hooks {
    /// Called in the lane if the published segment lacks a column that was created during the load.
    std::function<void()> build_columns;
    std::function<void()> finished;  ///< called in the lane when the load is part of the shard
  };

  BulkLoad(ShardCommon& common, SegmentTable& table, ManifestWriter& manifest, WorkStatus& status,
           UpdateQueue& queue, Hooks hooks)
      : common_(common),
        table_(table),
        manifest_(manifest),
        status_(status),
        queue_(queue),
        hooks_(std::move(hooks)) {}

  /// Updates wait from here until `finish` or `cancel`.
  Result<BulkStart> begin();
  /// Writes the values of `rows` as row file number `i`.
  Result<> write_rows(const BulkStart& start, const SegmentData& data, std::span<const RowRef> rows,
                      std::uint64_t i) const;
  Result<SegmentData> write_segment(const BulkStart& start, const Segment& data,
                                    std::span<const RowRef> rows) const;
  /// Records durably that all files are there.
  Result<> stage(const BulkIntent& intent, SegmentData output);
  /// The first shard only: commits the load, which must then be finished. After an error it must be
  /// cancelled, in this shard first.
  Result<> decide(const BulkDecision& decision);
  /// Makes the load part of the shard. After an error call it again.
  Result<> finish();
  /// Removes all files and records of an undecided load. After an error call it again.
  Result<> cancel();

  /// `error` keeps the load from ending; the same is tried again until it does. Any thread.
  void note_failure(const Error& error);

  /// The load that was decided last. The first shard only.
  [[nodiscard]] std::uint64_t decided_load() const { return decided_load_; }
  /// The cursor that was decided last, "" if none was. The first shard only.
  [[nodiscard]] Result<std::string> cursor() const;

  // Lane only.
  /// True while updates have to wait.
  [[nodiscard]] bool is_open() const { return load_.has_value(); }
  /// The open load for an error: since when it is open, what went wrong, and what helps.
  [[nodiscard]] std::string describe() const;

  // Called while the shard opens.
  /// Drops a load that was not decided. For a decided one, moves the rows into the store and adds
  /// the segment to the manifest. `first`: the collection's first shard; nullptr if it is this one.
  Result<> recover(Manifest& manifest, const BulkLoad* first);
  /// After the segments were opened: rows that the load replaced are dead. If its segment is
  /// damaged, the rows are rebuilt from the store like any others.
  void install_recovered();
  /// Replaces the intent by the manifest.
  Result<> end();

 private:
  struct Load {
    std::uint64_t segment = 0;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::string failure;               ///< why the load could not be ended; empty: nothing failed
    std::optional<BulkIntent> intent;  ///< once it was to be written
    std::optional<SegmentData> output;
    bool ingested = false;   ///< the rows are in the store
    bool installed = false;  ///< the segment is in the table, older versions are dead
  };

  Result<> ingest();
  [[nodiscard]] Result<bool> has_rows(const BulkIntent& intent) const;
  void install();
  Result<> drop_intent();

  ShardCommon& common_;
  SegmentTable& table_;
  ManifestWriter& manifest_;
  WorkStatus& status_;
  UpdateQueue& queue_;
  const Hooks hooks_;

  std::optional<Load> load_;                     ///< lane only; none: no load is open
  std::atomic<std::uint64_t> decided_load_ = 0;  ///< changed in the lane, read by any thread
};

}  // namespace quiver::engine
