// Rows that are read from the store into a shard's segments.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// Lane only, or while the shard opens. Does not publish.
class RowRecovery {
 public:
  RowRecovery(ShardCommon& common, SegmentTable& table) : common_(common), table_(table) {}

  /// Brings the segments in line with the stored rows of these points, each id once.
  Result<> recover(std::span<const PointId> ids);
  /// Adds every row that no segment holds. Reads the whole store: only after damage. kUnavailable
  /// if the shard closes meanwhile.
  Result<> rebuild();

 private:
  /// `bytes`: the row in the store; nullopt: it was deleted.
  Result<> recover_one(const PointId& id, std::optional<std::string_view> bytes);

  ShardCommon& common_;
  SegmentTable& table_;
};

}  // namespace quiver::engine
