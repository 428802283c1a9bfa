// Shard keys: which ones a request is for, and their creation.
#include <fmt/format.h>

#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

using engine::ShardKey;
using engine::ShardSelector;

Decoded<ShardKey> decode_shard_key(Element element, const Path& path) {
  if (element.is_uint64()) return ShardKey(as_uint64(element));
  if (element.is_int64() && as_int64(element) >= 0) {
    return ShardKey(static_cast<std::uint64_t>(as_int64(element)));
  }
  if (!element.is_string()) return wrong_type(element, path, "a string or an integer");
  const std::string_view text = as_string(element);
  QV_TRY(check_shard_key(text, path));
  return ShardKey(std::string(text));
}

/// `{"target": …, "fallback": …}`.
Decoded<ShardSelector> decode_with_fallback(Object object, const Path& path) {
  ShardSelector selector;
  QV_TRY(check_members(object, path, {"target", "fallback"}));
  QV_TRY(const Element target, require(object, "target", path));
  QV_TRY(const Element fallback, require(object, "fallback", path));
  QV_TRY(auto key, decode_shard_key(target, path.member("target")));
  selector.keys.emplace().push_back(std::move(key));
  QV_TRY(selector.fallback, decode_shard_key(fallback, path.member("fallback")));
  return selector;
}

Decoded<std::optional<std::uint32_t>> optional_count(Object object, std::string_view name,
                                                     const Path& parent, std::uint32_t max) {
  const Path path = parent.member(name);
  const auto element = find(object, name);
  if (!element) return std::optional<std::uint32_t>();
  QV_TRY(const std::uint64_t n, get_u64(*element, path));
  if (n >= 1 && n <= max) return std::optional(static_cast<std::uint32_t>(n));
  return out_of_range(path, std::to_string(n), fmt::format("from 1 to {}", max));
}

Decoded<std::vector<std::uint64_t>> decode_placement(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<std::uint64_t> peers;
  for (const Element item : array) {
    QV_TRY(peers.emplace_back(), get_u64(item, path.item(peers.size())));
  }
  return peers;
}

Decoded<ShardKey> required_key(Object object, const Path& path) {
  QV_TRY(const Element key, require(object, "shard_key", path));
  return decode_shard_key(key, path.member("shard_key"));
}

Decoded<api::ShardKeyRequest> decode_creation(Object object, const Path& path,
                                              const engine::CreationOptions& options) {
  api::ShardKeyRequest request;
  QV_TRY(request.creation.key, required_key(object, path));
  QV_TRY(request.creation.n_shards,
         optional_count(object, "shards_number", path, options.max_shard_number));
  QV_TRY(optional_count(object, "replication_factor", path, UINT32_MAX));
  if (const auto placement = find(object, "placement")) {
    QV_TRY(request.placement, decode_placement(*placement, path.member("placement")));
  }
  if (const auto state = find(object, "initial_state")) {
    QV_TRY(request.initial_state, get_string(*state, path.member("initial_state")));
  }
  return request;
}

/// An operation of the API on the copies of a shard, and its members that name servers.
struct ReplicaOperation {
  std::string_view name;
  cluster::ReplicaChange::Kind kind;
  std::string_view from;
  std::string_view to;  ///< "": it has none
};

using Kind = cluster::ReplicaChange::Kind;
constexpr ReplicaOperation kReplicaOperations[] = {
    {"move_shard", Kind::kMove, "from_peer_id", "to_peer_id"},
    {"replicate_shard", Kind::kReplicate, "from_peer_id", "to_peer_id"},
    {"abort_transfer", Kind::kAbort, "from_peer_id", "to_peer_id"},
    {"drop_replica", Kind::kDrop, "peer_id", ""}};

Decoded<std::uint64_t> required_number(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  return get_u64(element, path.member(name));
}

Decoded<api::ReplicaRequest> decode_replica_change(Object object, const Path& path,
                                                   const ReplicaOperation& operation) {
  api::ReplicaRequest request;
  request.kind = operation.kind;
  QV_TRY(const std::uint64_t shard, required_number(object, "shard_id", path));
  if (shard > UINT32_MAX) {
    return out_of_range(path.member("shard_id"), std::to_string(shard),
                        fmt::format("from 0 to {}", UINT32_MAX));
  }
  request.shard = static_cast<std::uint32_t>(shard);
  QV_TRY(request.from, required_number(object, operation.from, path));
  if (!operation.to.empty()) {
    QV_TRY(request.to, required_number(object, operation.to, path));
  }
  return request;
}

}  // namespace

Decoded<ShardSelector> decode_shards(Object object, const Path& parent) {
  ShardSelector selector;
  const auto element = find(object, "shard_key");
  if (!element) return selector;
  const Path path = parent.member("shard_key");
  if (element->is_object()) return decode_with_fallback(as_object(*element), path);
  auto& keys = selector.keys.emplace();
  if (!element->is_array()) {
    QV_TRY(keys.emplace_back(), decode_shard_key(*element, path));
    return selector;
  }
  for (const Element item : as_array(*element)) {
    QV_TRY(keys.emplace_back(), decode_shard_key(item, path.item(keys.size())));
  }
  return selector;
}

Decoded<api::ShardKeyRequest> decode_shard_key_creation(std::string& body,
                                                        const engine::CreationOptions& options) {
  QV_TRY(const Object object, parse_object_body(body));
  return decode_creation(object, Path(), options);
}

Decoded<ShardKey> decode_shard_key_deletion(std::string& body) {
  QV_TRY(const Object object, parse_object_body(body));
  return required_key(object, Path());
}

Decoded<ClusterChange> decode_cluster_change(std::string& body,
                                             const engine::CreationOptions& options) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  if (const auto creation = find(object, "create_sharding_key")) {
    const Path path = root.member("create_sharding_key");
    QV_TRY(const Object members, get_object(*creation, path));
    QV_TRY(auto request, decode_creation(members, path, options));
    return ClusterChange(std::move(request));
  }
  if (const auto deletion = find(object, "drop_sharding_key")) {
    const Path path = root.member("drop_sharding_key");
    QV_TRY(const Object members, get_object(*deletion, path));
    QV_TRY(auto key, required_key(members, path));
    return ClusterChange(std::move(key));
  }
  for (const ReplicaOperation& operation : kReplicaOperations) {
    const auto found = find(object, operation.name);
    if (!found) continue;
    const Path path = root.member(operation.name);
    QV_TRY(const Object members, get_object(*found, path));
    QV_TRY(auto request, decode_replica_change(members, path, operation));
    return ClusterChange(request);
  }
  return ClusterChange();
}

}  // namespace quiver::service::json
