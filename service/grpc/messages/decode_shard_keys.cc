// Shard keys, and which of them a request is for.
#include "service/grpc/messages/decode.h"
#include "service/json/request_rules.h"

namespace quiver::service::rpc {

Decoded<std::optional<engine::ShardKey>> decode_shard_key(const qdrant::ShardKey& key,
                                                          const Path& path) {
  using Key = std::optional<engine::ShardKey>;
  if (key.has_number()) return Key(key.number());
  if (!key.has_keyword()) return Key();
  QV_TRY(json::check_shard_key(key.keyword(), path));
  return Key(key.keyword());
}

Decoded<engine::ShardSelector> decode_selector(const qdrant::ShardKeySelector& selector) {
  const Path root;
  const Path path = root.member("shard_key");
  engine::ShardSelector decoded;
  auto& keys = decoded.keys.emplace();
  for (const auto& key : selector.shard_keys()) {
    QV_TRY(auto one, decode_shard_key(key, path.item(keys.size())));
    if (one) keys.push_back(*std::move(one));
  }
  if (!selector.has_fallback()) return decoded;
  if (keys.size() != 1) {
    return bad_request("Fallback shard key can only be set when a single shard key is provided");
  }
  QV_TRY(decoded.fallback, decode_shard_key(selector.fallback(), path.member("fallback")));
  return decoded;
}

}  // namespace quiver::service::rpc
