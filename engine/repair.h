// A shard whose rows are gone or damaged: what is wrong with it, and a new store of all that can
// still be read. For shards that nobody has open. docs/reliability.md says what it can save.
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

/// Makes a new store of what can be read of the old one, of its logs and of the segments; of each
/// point the newest. The old files stay beside it, under other names. Memory: about 60 bytes a
/// point. After a crash a second call goes on.
[[nodiscard]] Result<ShardRepair> repair_shard(const std::string& path,
                                               const CollectionConfig& config,
                                               const ShardContext& context);

}  // namespace quiver::engine
