// The open shards of a collection at one moment, and which of them a request concerns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/operation.h"
#include "engine/shard/shard.h"
#include "engine/write/update_parts.h"

namespace quiver::engine {

/// A shard of a collection. A hash of a point's id, modulo `n_of_key`, is the `position` of its
/// shard among those of the key; without keys, among all.
struct ListedShard {
  std::shared_ptr<Shard> shard;
  std::uint32_t number = 0;  ///< its directory is called after it
  std::uint32_t position = 0;
  std::uint32_t n_of_key = 1;
  std::optional<ShardKey> key = std::nullopt;
};
using Shards = std::vector<ListedShard>;

/// The place of a shard that is not open yet.
[[nodiscard]] Shards places_of(const CollectionConfig& config);

/// The positions in `shards` that a read concerns, ascending. kFailedPrecondition for a key that
/// does not exist, kNotFound if its fallback does not exist either.
[[nodiscard]] Result<std::vector<std::size_t>> shards_to_read(const Shards& shards,
                                                              const ShardSelector& selector);
/// The same for a change. kInvalidArgument for a missing or unknown key.
[[nodiscard]] Result<std::vector<std::size_t>> shards_to_change(const Shards& shards,
                                                                ShardingMethod method,
                                                                const ShardSelector& selector);

/// `operations`, each of which was made of one of `sources`, in parts for the shards they concern.
/// Errors as of `shards_to_change`.
[[nodiscard]] Result<std::vector<UpdatePart>> split_by_key(
    std::vector<PreparedOperation> operations, const std::vector<Operation>& sources,
    const Shards& shards, ShardingMethod method);

}  // namespace quiver::engine
