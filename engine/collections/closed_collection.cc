#include "engine/collections/closed_collection.h"

#include <fmt/format.h>

#include <utility>

#include "engine/collections/repair.h"
#include "engine/shard/shard.h"

namespace quiver::engine {

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

Result<std::vector<ShardFindings>> check_shards(const std::string& path,
                                                const CollectionConfig& config,
                                                const ShardContext& context) {
  std::vector<ShardFindings> shards;
  for (const std::uint32_t i : shard_numbers(config)) {
    QV_TRY(auto findings, check_shard(shard_path(path, i), config, context));
    shards.push_back(std::move(findings));
  }
  return shards;
}

Result<std::vector<std::optional<ShardRepair>>> repair_shards(const std::string& path,
                                                              const CollectionConfig& config,
                                                              const ShardContext& context) {
  std::vector<std::optional<ShardRepair>> shards;
  for (const std::uint32_t i : shard_numbers(config)) {
    const std::string shard = shard_path(path, i);
    QV_TRY(const auto findings, check_shard(shard, config, context));
    auto& repaired = shards.emplace_back();
    if (findings.rows.empty()) continue;
    QV_TRY(repaired, repair_shard(shard, config, context));
  }
  return shards;
}

}  // namespace quiver::engine
