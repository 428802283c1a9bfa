// The shards of collections, and their keys.
#include "service/api/shard_keys.h"

#include <utility>

#include "proto/collections.pb.h"
#include "service/api/cluster_info.h"
#include "service/api/server_info.h"
#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/encode.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"

namespace quiver::service::rpc {
namespace {

template <class Response>
api::Done<> answer_made(Rpc& rpc) {
  return answer_done(rpc, [](Rpc& call) {
    return answer_with<Response>(call, [](Response& response) -> Decoded<> {
      response.set_result(true);
      return {};
    });
  });
}

Decoded<engine::ShardKey> required_key(const qdrant::ShardKey& key) {
  const Path root;
  QV_TRY(auto decoded, decode_shard_key(key, root.member("shard_key")));
  if (!decoded) return bad_request("Shard key is not specified");
  return *std::move(decoded);
}

Decoded<> check_count(std::uint32_t n, std::uint32_t max, const Path& path) {
  QV_TRY(check_positive(n, path));
  if (n <= max) return {};
  return validation_error(
      path, "value " + std::to_string(n) + " invalid, must be from 1 to " + std::to_string(max));
}

Decoded<api::ShardKeyRequest> decode_creation(const Rpc& rpc,
                                              const qdrant::CreateShardKey& create) {
  const Path root;
  api::ShardKeyRequest request;
  QV_TRY(request.creation.key, required_key(create.shard_key()));
  if (create.has_shards_number()) {
    const auto max = rpc.runtime().options().creation.max_shard_number;
    QV_TRY(check_count(create.shards_number(), max, root.member("shards_number")));
    request.creation.n_shards = create.shards_number();
  }
  if (create.has_replication_factor()) {
    QV_TRY(check_positive(create.replication_factor(), root.member("replication_factor")));
  }
  if (create.placement_size() > 0) {
    request.placement.emplace(create.placement().begin(), create.placement().end());
  }
  if (create.has_initial_state()) {
    const std::string name = qdrant::ReplicaState_Name(create.initial_state());
    request.initial_state = name.empty() ? std::to_string(create.initial_state()) : name;
  }
  return request;
}

template <class Response>
Decoded<> start_creation(Rpc& rpc, const OpenCollection& target,
                         const qdrant::CreateShardKey& create) {
  QV_TRY(auto request, decode_creation(rpc, create));
  api::create_shard_key(rpc, target, std::move(request), answer_made<Response>(rpc));
  return {};
}

template <class Response>
Decoded<> start_deletion(Rpc& rpc, const OpenCollection& target,
                         const qdrant::DeleteShardKey& deletion) {
  QV_TRY(auto key, required_key(deletion.shard_key()));
  api::delete_shard_key(rpc, target, std::move(key), answer_made<Response>(rpc));
  return {};
}

Decoded<> create_shard_key(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CreateShardKeyRequest>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           return start_creation<qdrant::CreateShardKeyResponse>(
                               call, target, request->request());
                         });
}

Decoded<> delete_shard_key(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::DeleteShardKeyRequest>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           return start_deletion<qdrant::DeleteShardKeyResponse>(
                               call, target, request->request());
                         });
}

Decoded<> list_shard_keys(Rpc& rpc) {
  using Response = qdrant::ListShardKeysResponse;
  QV_TRY(const auto* request, rpc.request<qdrant::ListShardKeysRequest>());
  return with_collection(rpc, request->collection_name(),
                         [](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           QV_TRY(const auto keys, api::shard_keys(call, target));
                           return answer_with<Response>(call, [&](Response& response) -> Decoded<> {
                             for (const auto& key : keys) {
                               set_shard_key(key, *response.add_shard_keys()->mutable_key());
                             }
                             return {};
                           });
                         });
}

qdrant::ReplicaState wire_state(api::ReplicaState state) {
  switch (state) {
    case api::ReplicaState::kActive:
      return qdrant::Active;
    case api::ReplicaState::kPartial:
      return qdrant::Partial;
    case api::ReplicaState::kDead:
      break;
  }
  return qdrant::Dead;
}

Decoded<> answer_shards(Rpc& call, const api::ShardSizes& sizes) {
  using Response = qdrant::CollectionClusterInfoResponse;
  return answer_with<Response>(call, [&](Response& response) -> Decoded<> {
    response.set_peer_id(sizes.peer_id);
    response.set_shard_count(sizes.shards.size());
    for (const auto& shard : sizes.shards) {
      const auto state = api::local_state(sizes, shard);
      if (!state) continue;
      auto& out = *response.add_local_shards();
      out.set_shard_id(shard.number);
      out.set_points_count(shard.n_points);
      out.set_state(wire_state(*state));
      if (shard.key) set_shard_key(*shard.key, *out.mutable_shard_key());
    }
    for (const auto& replica : api::remote_replicas(sizes)) {
      auto& out = *response.add_remote_shards();
      out.set_shard_id(replica.shard->number);
      out.set_peer_id(replica.peer);
      out.set_state(wire_state(replica.state));
      if (replica.shard->key) set_shard_key(*replica.shard->key, *out.mutable_shard_key());
    }
    for (const auto& transfer : api::transfers(sizes)) {
      auto& out = *response.add_shard_transfers();
      out.set_shard_id(transfer.shard->number);
      out.set_from(transfer.from);
      out.set_to(transfer.to);
      out.set_sync(true);
    }
    return {};
  });
}

Decoded<> cluster_info(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CollectionClusterInfoRequest>());
  QV_TRY(const auto elsewhere, api::shards_elsewhere(rpc, request->collection_name()));
  if (elsewhere) return answer_shards(rpc, *elsewhere);
  return with_collection(rpc, request->collection_name(),
                         [](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           QV_TRY(const auto sizes, api::shard_sizes(call, target));
                           return answer_shards(call, sizes);
                         });
}

template <class Response>
Decoded<> start_move(Rpc& rpc, const OpenCollection& target, api::ReplicaRequest request) {
  api::change_replicas(rpc, target, request, answer_made<Response>(rpc));
  return {};
}

Decoded<> change_cluster(Rpc& rpc, const OpenCollection& target,
                         const qdrant::UpdateCollectionClusterSetupRequest& request) {
  using Kind = cluster::ReplicaChange::Kind;
  using Response = qdrant::UpdateCollectionClusterSetupResponse;
  if (request.has_create_shard_key()) {
    return start_creation<Response>(rpc, target, request.create_shard_key());
  }
  if (request.has_delete_shard_key()) {
    return start_deletion<Response>(rpc, target, request.delete_shard_key());
  }
  if (request.has_move_shard()) {
    const auto& move = request.move_shard();
    return start_move<Response>(
        rpc, target, {Kind::kMove, move.shard_id(), move.from_peer_id(), move.to_peer_id()});
  }
  if (request.has_replicate_shard()) {
    const auto& copy = request.replicate_shard();
    return start_move<Response>(
        rpc, target, {Kind::kReplicate, copy.shard_id(), copy.from_peer_id(), copy.to_peer_id()});
  }
  if (request.has_abort_transfer()) {
    const auto& abort = request.abort_transfer();
    return start_move<Response>(
        rpc, target, {Kind::kAbort, abort.shard_id(), abort.from_peer_id(), abort.to_peer_id()});
  }
  if (request.has_drop_replica()) {
    const auto& drop = request.drop_replica();
    return start_move<Response>(rpc, target, {Kind::kDrop, drop.shard_id(), drop.peer_id(), 0});
  }
  return bad_request(
      "the operation is not known: the server can create and delete shard keys, and in a cluster "
      "move, replicate and drop the copies of a collection");
}

Decoded<> update_cluster(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::UpdateCollectionClusterSetupRequest>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           return change_cluster(call, target, *request);
                         });
}

}  // namespace

void add_shard_key_methods(Methods& methods) {
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}});
  };
  const auto change = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}, api::Effect::kChange});
  };
  change("/qdrant.Collections/CreateShardKey", create_shard_key);
  change("/qdrant.Collections/DeleteShardKey", delete_shard_key);
  add("/qdrant.Collections/ListShardKeys", list_shard_keys);
  methods.push_back({"/qdrant.Collections/CollectionClusterInfo",
                     Callers::kWithKey,
                     cluster_info,
                     {},
                     api::Effect::kHere});
  change("/qdrant.Collections/UpdateCollectionClusterSetup", update_cluster);
}

}  // namespace quiver::service::rpc
