// Verbs about the shard keys of a collection with custom sharding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/shard_key.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// What a caller says of a new key. Everything lies on this server, so most of it is only checked.
struct ShardKeyRequest {
  engine::ShardKeyCreation creation;
  std::optional<std::vector<std::uint64_t>> placement;  ///< servers, by `ShardSizes::peer_id`
  std::optional<std::string> initial_state;             ///< "Active", or what is refused
};

/// By creation. Empty without custom sharding.
[[nodiscard]] Result<std::vector<engine::ShardKey>> shard_keys(Call& call,
                                                               const OpenCollection& target);
/// kFailedPrecondition for a key that exists, a place or a state that this server cannot offer, or
/// a collection without custom sharding.
void create_shard_key(Call& call, const OpenCollection& target, ShardKeyRequest request,
                      Done<> done);
/// Deletes its points, too. kFailedPrecondition if it does not exist.
void delete_shard_key(Call& call, const OpenCollection& target, engine::ShardKey key, Done<> done);

}  // namespace quiver::service::api
