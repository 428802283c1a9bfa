// The shards of a collection, and what is not built of clusters.
#include <fmt/format.h>

#include "service/api/cluster_info.h"
#include "service/api/server_info.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/encode/encode.h"
#include "service/json/encode/encode_memory.h"

namespace quiver::service {
namespace {

Decoded<Answer> no_cluster(Exchange& x) {
  if (x.runtime().options().cluster.node != nullptr) {
    return fail(ApiError(501, "Not implemented: nodes join a cluster by themselves"));
  }
  return fail(ApiError(
      405, "Method not allowed: the server is running in standalone mode, it has no cluster"));
}

void write_shard(json::Writer& out, const api::ShardSizes::Shard& shard) {
  out.member("shard_id", std::uint64_t{shard.number});
  if (!shard.key) return;
  out.key("shard_key");
  json::write_shard_key(out, *shard.key);
}

void write_remote_shards(json::Writer& out, const api::ShardSizes& shards) {
  out.begin_array();
  for (const auto& replica : api::remote_replicas(shards)) {
    out.begin_object();
    write_shard(out, *replica.shard);
    out.member("peer_id", replica.peer);
    out.member("state", to_string(replica.state));
    out.end_object();
  }
  out.end_array();
}

void write_transfers(json::Writer& out, const api::ShardSizes& shards) {
  out.begin_array();
  for (const auto& transfer : api::transfers(shards)) {
    out.begin_object();
    write_shard(out, *transfer.shard);
    out.member("from", transfer.from);
    out.member("to", transfer.to);
    out.member("sync", true);
    out.member("method", "snapshot");
    out.end_object();
  }
  out.end_array();
}

void write_local_shards(json::Writer& out, const api::ShardSizes& shards) {
  out.begin_array();
  for (const auto& shard : shards.shards) {
    const auto state = api::local_state(shards, shard);
    if (!state) continue;
    out.begin_object();
    write_shard(out, shard);
    out.member("points_count", shard.n_points);
    out.member("state", to_string(*state));
    out.end_object();
  }
  out.end_array();
}

void write_leader(json::Writer& out, const cluster::PlacementView& placement) {
  placement.leader == 0 ? out.null() : out.u64(placement.leader);
}

/// Who has a placed collection, or its shards.
void write_placements(json::Writer& out, const api::ShardSizes& shards) {
  if (shards.shards.empty() || shards.shards.front().placement == nullptr) return;
  const auto& first = *shards.shards.front().placement;
  out.member("replication_factor", std::uint64_t{first.factor});
  out.member("write_quorum", std::uint64_t{first.write_quorum});
  out.key(shards.is_spread ? "shard_leaders" : "leader");
  if (!shards.is_spread) return write_leader(out, first);
  out.begin_array();
  for (const auto& shard : shards.shards) write_leader(out, *shard.placement);
  out.end_array();
}

void write_cluster(json::Writer& out, const api::ShardSizes& shards) {
  out.begin_object();
  out.member("peer_id", shards.peer_id);
  out.member("shard_count", std::uint64_t{shards.shards.size()});
  out.key("local_shards");
  write_local_shards(out, shards);
  out.key("remote_shards");
  write_remote_shards(out, shards);
  out.key("shard_transfers");
  write_transfers(out, shards);
  write_placements(out, shards);
  if (shards.is_alone) out.member("alone", true);
  out.end_object();
}

Decoded<Answer> collection_cluster(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto shards, api::shard_sizes(x, collection));
  auto out = x.begin_result();
  write_cluster(out, shards);
  x.end_result();
  return Answer::kReady;
}

/// Each node knows where a collection is, also if it is not here.
Decoded<Answer> answer_collection_cluster(Exchange& x) {
  QV_TRY(const auto elsewhere, api::shards_elsewhere(x, x.captures[0]));
  if (!elsewhere) return computing<collection_cluster>(x);
  auto out = x.begin_result();
  write_cluster(out, *elsewhere);
  x.end_result();
  return Answer::kReady;
}

template <api::NodeChange change>
Decoded<Answer> change_node(Exchange& x) {
  if (x.runtime().options().cluster.node == nullptr) return no_cluster(x);
  QV_TRY(const std::uint64_t node, path_number(x, 0, "a node"));
  QV_TRY(timeout_parameter(x));
  QV_TRY(const bool is_forced, bool_parameter(x, "force", false));
  const bool forces = is_forced && change == api::NodeChange::kRemove;
  api::change_node(x, forces ? api::NodeChange::kForceRemoval : change, node, answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> collection_memory(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto parts, api::collection_parts(x, collection));
  auto out = x.begin_result();
  json::write_memory(out, parts.shards, *parts.config);
  x.end_result();
  return Answer::kReady;
}

}  // namespace

void add_cluster_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Access access, Handler handler) {
    routes.push_back({method, pattern, access, handler});
  };
  routes.push_back({Method::kGet, "/collections/{collection_name}/cluster", Access::kReadExtras,
                    answer_collection_cluster, Effect::kHere});
  add(Method::kGet, "/collections/{collection_name}/memory", Access::kRead,
      computing<collection_memory>);
  add(Method::kPost, "/cluster/recover", Access::kManage, no_cluster);
  const auto change = [&](Method method, std::string_view pattern, Handler handler) {
    routes.push_back({method, pattern, Access::kManage, handler, Effect::kCatalog});
  };
  using enum api::NodeChange;
  change(Method::kDelete, "/cluster/peer/{peer_id}", change_node<kRemove>);
  change(Method::kPost, "/v1/cluster/nodes/{peer_id}/drain", change_node<kDrain>);
  change(Method::kDelete, "/v1/cluster/nodes/{peer_id}/drain", change_node<kEndDrain>);
  add(Method::kGet, "/cluster/telemetry", Access::kAny, no_cluster);
  add(Method::kGet, "/cluster/metadata/keys", Access::kGlobalRead, no_cluster);
  add(Method::kGet, "/cluster/metadata/keys/{key}", Access::kGlobalRead, no_cluster);
  add(Method::kPut, "/cluster/metadata/keys/{key}", Access::kManage, no_cluster);
  add(Method::kDelete, "/cluster/metadata/keys/{key}", Access::kManage, no_cluster);
}

}  // namespace quiver::service
