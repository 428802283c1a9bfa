#include "service/grpc/methods/methods.h"

namespace quiver::service::rpc {

void add_unbuilt_methods(Methods& methods) {
  const auto add = [&](std::string_view name, std::string_view feature) {
    methods.push_back({name, Callers::kWithKey, nullptr, feature});
  };
  add("/qdrant.Collections/CollectionClusterInfo", "clusters");
  add("/qdrant.Collections/UpdateCollectionClusterSetup", "clusters");
  for (const std::string_view name :
       {"/qdrant.Collections/CreateShardKey", "/qdrant.Collections/DeleteShardKey",
        "/qdrant.Collections/ListShardKeys"}) {
    add(name, "shard keys");
  }
}

Methods all_methods() {
  Methods methods;
  add_query_methods(methods);
  add_group_methods(methods);
  add_read_methods(methods);
  add_change_methods(methods);
  add_collection_methods(methods);
  add_index_methods(methods);
  add_snapshot_methods(methods);
  add_server_methods(methods);
  add_unbuilt_methods(methods);
  return methods;
}

}  // namespace quiver::service::rpc
