// The methods of all services, each with the handler that decodes its request, calls a verb of
// service/api and encodes the answer.
#pragma once

#include <vector>

#include "service/grpc/rpc.h"

namespace quiver::service::rpc {

using Methods = std::vector<Method>;

void add_query_methods(Methods& methods);
void add_group_methods(Methods& methods);
void add_read_methods(Methods& methods);
void add_change_methods(Methods& methods);
void add_collection_methods(Methods& methods);
void add_index_methods(Methods& methods);
void add_shard_key_methods(Methods& methods);
void add_snapshot_methods(Methods& methods);
void add_server_methods(Methods& methods);

[[nodiscard]] Methods all_methods();

}  // namespace quiver::service::rpc
