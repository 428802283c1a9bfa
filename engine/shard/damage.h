// Files of segments that become unreadable while they are in use: base/io/mapped_region.h and
// docs/decisions/0026. A tick or the next update notices the damage, takes the damaged parts out
// and makes them again: a column or an index from the rows of the segment, a segment from the rows
// in the store. Until then the shard refuses reads (`SegmentSet::check`) and updates.
#pragma once

#include <functional>

#include "base/result.h"
#include "engine/shard/column_builds.h"
#include "engine/shard/state/row_recovery.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "engine/shard/work_status.h"

namespace quiver::engine {

/// Lane only.
class Damage {
 public:
  /// `mended` starts the jobs that are due after damage was taken out.
  Damage(ShardCommon& common, SegmentTable& table, WorkStatus& status, RowRecovery& rows,
         ColumnBuilds& columns, std::function<void()> mended)
      : common_(common),
        table_(table),
        status_(status),
        rows_(rows),
        columns_(columns),
        mended_(std::move(mended)) {}

  /// Takes damaged parts out and starts to make them again. Cheap if there are none.
  void mend() noexcept;

 private:
  /// Drops damaged columns and indexes of a segment whose rows are sound.
  void drop_damaged_parts(SegmentState& state);
  Result<> read_lost_rows();

  ShardCommon& common_;
  SegmentTable& table_;
  WorkStatus& status_;
  RowRecovery& rows_;
  ColumnBuilds& columns_;
  const std::function<void()> mended_;
};

}  // namespace quiver::engine
