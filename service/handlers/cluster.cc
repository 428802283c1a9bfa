// The shards of a collection, and what a server without a cluster says about clusters.
#include <fmt/format.h>

#include "service/api/server_info.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/encode/encode.h"
#include "service/json/encode/encode_memory.h"

namespace quiver::service {
namespace {

Decoded<Answer> no_cluster(Exchange&) {
  return fail(ApiError(
      405, "Method not allowed: the server is running in standalone mode, it has no cluster"));
}

void write_cluster(json::Writer& out, const api::ShardSizes& shards) {
  out.begin_object();
  out.member("peer_id", shards.peer_id);
  out.member("shard_count", std::uint64_t{shards.shards.size()});
  out.key("local_shards");
  out.begin_array();
  for (const auto& shard : shards.shards) {
    out.begin_object();
    out.member("shard_id", std::uint64_t{shard.number});
    if (shard.key) {
      out.key("shard_key");
      json::write_shard_key(out, *shard.key);
    }
    out.member("points_count", shard.n_points);
    out.member("state", "Active");
    out.end_object();
  }
  out.end_array();
  out.key("remote_shards");
  out.raw("[]");
  out.key("shard_transfers");
  out.raw("[]");
  out.end_object();
}

Decoded<Answer> collection_cluster(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto shards, api::shard_sizes(x, collection));
  auto out = x.begin_result();
  write_cluster(out, shards);
  x.end_result();
  return Answer::kReady;
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
  add(Method::kGet, "/collections/{collection_name}/cluster", Access::kReadExtras,
      computing<collection_cluster>);
  add(Method::kGet, "/collections/{collection_name}/memory", Access::kRead,
      computing<collection_memory>);
  add(Method::kPost, "/cluster/recover", Access::kManage, no_cluster);
  add(Method::kDelete, "/cluster/peer/{peer_id}", Access::kManage, no_cluster);
  add(Method::kGet, "/cluster/telemetry", Access::kAny, no_cluster);
  add(Method::kGet, "/cluster/metadata/keys", Access::kGlobalRead, no_cluster);
  add(Method::kGet, "/cluster/metadata/keys/{key}", Access::kGlobalRead, no_cluster);
  add(Method::kPut, "/cluster/metadata/keys/{key}", Access::kManage, no_cluster);
  add(Method::kDelete, "/cluster/metadata/keys/{key}", Access::kManage, no_cluster);
}

}  // namespace quiver::service
