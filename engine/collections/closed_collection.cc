#include "engine/collections/closed_collection.h"

#include <fmt/format.h>

#include <utility>

#include "engine/collections/repair.h"
#include "engine/shard/shard.h"

namespace quiver::engine {
namespace {

/// A repaired replica would lack points that the others have, or have some that they lack, and its
/// node would still count among those that have stored every change.
tl::unexpected<Error> no_repair_in_a_cluster(std::uint32_t shard, const ShardFindings& findings) {
  return fail(
      Code::kFailedPrecondition,
      fmt::format("shard {}: {}; the collection belongs to a cluster, and a repair would "
                  "make it differ from the other nodes': start this node with an empty "
                  "data directory, and it copies all collections from them; if no other "
                  "node has the points, `--leave-cluster` makes the collection this node's own",
                  shard, findings.rows.front()));
}

}  // namespace

std::string shard_path(const std::string& collection, std::uint32_t shard) {
  return fmt::format("{}/shard-{}", collection, shard);
}

Result<> check_manifests(const std::string& path, const CollectionConfig& config,
                         const ShardContext& context, storage::Opening opening) {
  for (const std::uint32_t i : shard_numbers(config)) {
    QV_TRY(Shard::check(shard_path(path, i), context, opening));
  }
  return {};
}

Result<> check_logs(const std::string& path, const CollectionConfig& config,
                    const ShardContext& context) {
  for (const std::uint32_t i : shard_numbers(config)) {
    QV_TRY(Shard::check_logs(shard_path(path, i), context));
  }
  return {};
}

Result<CollectionFindings> check_shards(const std::string& path, const CollectionConfig& config,
                                        const ShardContext& context) {
  CollectionFindings shards;
  for (const std::uint32_t i : shard_numbers(config)) {
    QV_TRY(shards[i], check_shard(shard_path(path, i), config, context));
  }
  return shards;
}

Result<CollectionRepair> repair_shards(const std::string& path, const CollectionConfig& config,
                                       const ShardContext& context) {
  CollectionRepair shards;
  for (const std::uint32_t i : shard_numbers(config)) {
    const std::string shard = shard_path(path, i);
    QV_TRY(const auto findings, check_shard(shard, config, context));
    auto& repaired = shards[i];
    if (findings.rows.empty()) continue;
    if (!config.cluster_id.empty()) return no_repair_in_a_cluster(i, findings);
    QV_TRY(repaired, repair_shard(shard, config, context));
  }
  return shards;
}

}  // namespace quiver::engine
