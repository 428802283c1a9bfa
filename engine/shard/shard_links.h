// The files of a shard, held by hard links in another directory: docs/decisions/0035.
#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "engine/shard/bulk_load.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// Makes `target`, a new directory on the same file system, a shard of its own with everything up
/// to one change, whose number is returned. The lane waits while the links are made, about 20 us
/// for each file; copying the log afterwards delays nobody. Durable on return, but for the name
/// `target`. kUnavailable while a bulk load is open. Not for tasks of the lane.
[[nodiscard]] Result<Seq> link_shard(ShardCommon& common, const SegmentTable& table,
                                     const BulkLoad& bulk, const std::string& target);

}  // namespace quiver::engine
