// Checks a shard whose rows may be gone or damaged, and rebuilds its store from all that can still
// be read. The shard must not be open. docs/reliability.md says what can be saved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/repair_report.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/state/manifest.h"
#include "storage/rows/shard_store.h"

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

struct RescuedShard {
  ShardRepair report;
  std::uint64_t n_points = 0;  ///< points in the new store
};
/// As `repair_shard`, but the new store is `to`/rows, and nothing at `from` is changed. kDataLoss
/// if there are neither rows nor segments.
[[nodiscard]] Result<RescuedShard> rescue_shard(const std::string& from, const std::string& to,
                                                const CollectionConfig& config,
                                                const ShardContext& context);

/// Facts that can still be read from a store.
struct StoreFacts {
  std::optional<Manifest> manifest;
  std::unordered_map<std::uint64_t, std::string> deleted;  ///< bitmaps, by segment
  std::vector<std::pair<std::string, std::string>> others;
  Seq last{};  ///< the last operation
};
/// Of nothing if `store` is nullptr.
[[nodiscard]] StoreFacts read_store_facts(const storage::ShardStore* store);

}  // namespace quiver::engine
