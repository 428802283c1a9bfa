// What a data directory remembers of its node and its cluster.
#pragma once

#include <string>

#include "base/result.h"
#include "cluster/node.h"

namespace quiver::cluster {

/// The id in the file `node` of the data directory, which is made if it is not there. kDataLoss if
/// it holds no id.
[[nodiscard]] Result<NodeId> read_or_make_node_id(const std::string& data_dir);

/// The id in the file `cluster`; empty if the node has never belonged to a cluster.
[[nodiscard]] Result<std::string> read_cluster_id(const std::string& data_dir);
/// Durable on return.
[[nodiscard]] Result<> keep_cluster_id(const std::string& data_dir, const std::string& id);

/// 32 hexadecimal digits.
[[nodiscard]] std::string random_cluster_id();

}  // namespace quiver::cluster
