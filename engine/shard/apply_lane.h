// The apply lane of a shard: updates become durable, then visible, in one order.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "engine/shard/bulk_load.h"
#include "engine/shard/maintenance.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"
#include "engine/write/shard_log.h"
#include "engine/write/staging.h"
#include "engine/write/update_queue.h"

namespace quiver::engine {

/// Lane only. Invariants:
///  1. A group is committed as a whole (ShardLog) before any of it reaches the segments, and it is
///     in the segments before it is published. After an error none of it is there.
///  2. Clients are answered in this order: `Ack::kDurable` after the commit, `Ack::kVisible` after
///     the publication.
///  3. One group is on its way at a time. No drain is posted until it is finished.
///  4. Sequence numbers of a group that was not committed are not used again.
///  5. Between the commit and the publication nothing may throw, or the process ends: rows that are
///     applied in part would be covered by the next manifest, and their log trimmed. The next start
///     reads them from the log.
class ApplyLane {
 public:
  ApplyLane(ShardCommon& common, SegmentTable& table, ShardLog& log, UpdateQueue& queue,
            const BulkLoad& bulk, WorkStatus& status, Maintenance& maintenance);

  /// True if updates have to wait: the end of the bulk load or of the running seal wakes the queue.
  bool put_off();
  /// Refuses the updates that were put off until their deadline, with kUnavailable and the reason.
  void refuse_overdue() noexcept;
  /// Takes what is queued as one group, commits, applies and publishes it. Refuses what waited for
  /// longer than its caller does, with kResourceExhausted.
  void apply_group() noexcept;

 private:
  /// Requests that are committed together.
  struct Group {
    Group(std::list<QueuedRequest> taken, std::shared_ptr<const SegmentSet> now,
          std::shared_ptr<const CollectionConfig> in_force, Staging::StoredRow stored)
        : requests(std::move(taken)),
          base(std::move(now)),
          config(std::move(in_force)),
          staging(*base, *config, nullptr, std::move(stored)) {}

    std::list<QueuedRequest> requests;
    std::shared_ptr<const SegmentSet> base;
    std::shared_ptr<const CollectionConfig> config;
    Staging staging;
    EntryNumber last_entry = 0;  ///< 0: the group is of clients' requests
  };

  [[nodiscard]] bool waits_for_seal();
  void refuse_given_up() noexcept;
  /// What the updates wait for, and what helps.
  [[nodiscard]] std::string describe_wait();
  /// Numbers the changes of the group.
  void finish_empty_group() noexcept;
  Result<> stage();
  /// Stages committed entries, which follow each other; requests of clients in between fail.
  Result<> stage_entries();
  Result<> stage_requests();
  /// kResourceExhausted while seals fail and too many rows wait in memory for them.
  [[nodiscard]] Result<> check_room() const;
  void finish_group(const Result<>& committed) noexcept;
  void apply_committed() noexcept;
  void apply_to_memory();

  ShardCommon& common_;
  SegmentTable& table_;
  ShardLog& log_;
  UpdateQueue& queue_;
  const BulkLoad& bulk_;
  WorkStatus& status_;
  Maintenance& maintenance_;
  const ShardLog::Committed committed_;

  std::optional<Group> group_;  ///< the group on its way
};

}  // namespace quiver::engine
