// What can be done with a collection's files while nobody has it open.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/repair_report.h"
#include "engine/shard/shard_context.h"
#include "storage/rows/shard_store.h"

namespace quiver::engine {

/// The directory of a shard below that of its collection.
[[nodiscard]] std::string shard_path(const std::string& collection, std::uint32_t shard);

/// Checks the manifests of all shards below `path`. kDataLoss if one is damaged.
[[nodiscard]] Result<> check_manifests(const std::string& path, const CollectionConfig& config,
                                       const ShardContext& context, storage::Opening opening);
/// Checks the logs of all shards, too. Reads at most the bytes written since the last restart.
[[nodiscard]] Result<> check_logs(const std::string& path, const CollectionConfig& config,
                                  const ShardContext& context);
/// `check_shard` for all shards.
[[nodiscard]] Result<CollectionFindings> check_shards(const std::string& path,
                                                      const CollectionConfig& config,
                                                      const ShardContext& context);
/// `repair_shard` for the shards whose rows are gone or damaged. kFailedPrecondition, with nothing
/// changed, if the collection is replicated: its rows must be those of the other nodes.
[[nodiscard]] Result<CollectionRepair> repair_shards(const std::string& path,
                                                     const CollectionConfig& config,
                                                     const ShardContext& context);

}  // namespace quiver::engine
