#include "service/grpc/methods/methods.h"

namespace quiver::service::rpc {

Methods all_methods() {
  Methods methods;
  add_query_methods(methods);
  add_group_methods(methods);
  add_read_methods(methods);
  add_change_methods(methods);
  add_collection_methods(methods);
  add_index_methods(methods);
  add_shard_key_methods(methods);
  add_snapshot_methods(methods);
  add_server_methods(methods);
  return methods;
}

}  // namespace quiver::service::rpc
