#include "service/api/shard_keys.h"

#include <fmt/format.h>

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/server_info.h"

namespace quiver::service::api {
namespace {

Result<> check_placement(const Call& call, const ShardKeyRequest& request) {
  if (!request.placement) return {};
  const std::string key = engine::to_string(request.creation.key);
  if (request.placement->empty()) {
    return fail(Code::kFailedPrecondition,
                fmt::format("Sharding key {} placement cannot be empty. If you want to use random "
                            "placement, do not specify placement",
                            key));
  }
  for (const std::uint64_t peer : *request.placement) {
    if (peer == peer_id(call)) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("Peer {} does not exist: the server is alone, its id is {}", peer,
                            peer_id(call)));
  }
  return {};
}

/// A partial shard waits for another server to fill it. Without one, its shard is active at once.
Result<> check_state(const std::optional<std::string>& state) {
  if (!state || *state == "Active" || *state == "Partial") return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format("Initial state cannot be {}, only Active or Partial are allowed", *state));
}

Result<> check_new_key(const OpenCollection& target, const engine::ShardKey& key) {
  if (find_shard_key(*target.collection->config(), key) == nullptr) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("Sharding key {} already exists for collection {}",
                          engine::to_string(key), target.name));
}

Result<> check_known_key(const OpenCollection& target, const engine::ShardKey& key) {
  const auto config = target.collection->config();
  const bool is_custom = config->sharding == engine::ShardingMethod::kCustom;
  if (!is_custom || find_shard_key(*config, key) != nullptr) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("Sharding key {} does not exist for collection {}",
                          engine::to_string(key), target.name));
}

}  // namespace

Result<std::vector<engine::ShardKey>> shard_keys(Call& call, const OpenCollection& target) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  std::vector<engine::ShardKey> keys;
  for (const auto& key : target.collection->config()->shard_keys) keys.push_back(key.key);
  return keys;
}

void create_shard_key(Call& call, const OpenCollection& target, ShardKeyRequest request,
                      Done<> done) {
  auto create = [&call, target, request = std::move(request)]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    QV_TRY(check_state(request.initial_state));
    QV_TRY(check_placement(call, request));
    QV_TRY(check_new_key(target, request.creation.key));
    return target.collection->create_shard_key(request.creation);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(create));
}

void delete_shard_key(Call& call, const OpenCollection& target, engine::ShardKey key, Done<> done) {
  auto remove = [&call, target, key = std::move(key)]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    QV_TRY(check_known_key(target, key));
    return target.collection->drop_shard_key(key);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(remove));
}

}  // namespace quiver::service::api
