// The shard keys of collections with custom sharding.
#include "service/api/shard_keys.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<Answer> list_shard_keys(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto keys, api::shard_keys(x, collection));
  auto out = x.begin_result();
  out.begin_object();
  out.key("shard_keys");
  out.begin_array();
  for (const auto& key : keys) {
    out.begin_object();
    out.key("key");
    json::write_shard_key(out, key);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  x.end_result();
  return Answer::kReady;
}

Decoded<Answer> create_shard_key(Exchange& x, OpenCollection collection) {
  QV_TRY(write_params(x));
  const auto& options = x.runtime().options().creation;
  QV_TRY(auto request, json::decode_shard_key_creation(x.request.body, options));
  api::create_shard_key(x, collection, std::move(request), answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> delete_shard_key(Exchange& x, OpenCollection collection) {
  QV_TRY(write_params(x));
  QV_TRY(auto key, json::decode_shard_key_deletion(x.request.body));
  api::delete_shard_key(x, collection, std::move(key), answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> change_cluster(Exchange& x, OpenCollection collection) {
  QV_TRY(write_params(x));
  const auto& options = x.runtime().options().creation;
  QV_TRY(auto change, json::decode_cluster_change(x.request.body, options));
  if (auto* creation = std::get_if<api::ShardKeyRequest>(&change)) {
    api::create_shard_key(x, collection, std::move(*creation), answer_true(x));
    return Answer::kLater;
  }
  if (auto* key = std::get_if<engine::ShardKey>(&change)) {
    api::delete_shard_key(x, collection, std::move(*key), answer_true(x));
    return Answer::kLater;
  }
  const auto* replicas = std::get_if<api::ReplicaRequest>(&change);
  if (replicas != nullptr && x.runtime().options().cluster.node != nullptr) {
    api::change_replicas(x, collection, *replicas, answer_true(x));
    return Answer::kLater;
  }
  if (x.runtime().options().cluster.node != nullptr) {
    return fail(ApiError(501,
                         "Not implemented: a collection of a cluster takes move_shard, "
                         "replicate_shard, drop_replica, abort_transfer, create_sharding_key and "
                         "drop_sharding_key"));
  }
  return fail(ApiError(405,
                       "Method not allowed: the server is running in standalone mode, it can "
                       "create and drop sharding keys, but not move shards"));
}

}  // namespace

void add_shard_key_routes(Routes& routes) {
  routes.insert(routes.end(), {{Method::kGet, "/collections/{collection_name}/shards",
                                Access::kRead, computing<list_shard_keys>},
                               {Method::kPut, "/collections/{collection_name}/shards",
                                Access::kManage, computing<create_shard_key>, Effect::kChange},
                               {Method::kPost, "/collections/{collection_name}/shards/delete",
                                Access::kManage, computing<delete_shard_key>, Effect::kChange},
                               {Method::kPost, "/collections/{collection_name}/cluster",
                                Access::kManage, computing<change_cluster>, Effect::kChange}});
}

}  // namespace quiver::service
