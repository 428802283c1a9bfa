// Checks a shard whose rows may be gone or damaged, and rebuilds its store from all that can still
// be read. The shard must not be open. docs/reliability.md says what can be saved.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/repair_report.h"
#include "engine/shard/shard_context.h"

namespace quiver::engine {

/// Reads all of the shard at `path` and changes nothing.
[[nodiscard]] Result<ShardFindings> check_shard(const std::string& path,
                                                const CollectionConfig& config,
                                                const ShardContext& context);

/// Writes a new store with the newest version of each point that the old store, its logs or the
/// segments still have. The old files stay beside it, under other names. Memory: about 60 bytes a
/// point. After a crash a second call completes the repair.
[[nodiscard]] Result<ShardRepair> repair_shard(const std::string& path,
                                               const CollectionConfig& config,
                                               const ShardContext& context);

}  // namespace quiver::engine
