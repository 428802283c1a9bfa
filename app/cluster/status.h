// `quiver cluster status`: a table of the nodes.
#pragma once

#include <string>
#include <string_view>

#include "app/cluster/options.h"
#include "base/result.h"

namespace quiver::app {

/// Asks the node and prints the table.
[[nodiscard]] Result<> run_cluster_status(const ClusterStatusOptions& options);

/// The table for the body of an answer to `GET /cluster`. kFailedPrecondition if the server is no
/// node, kInvalidArgument if the body is no such answer.
[[nodiscard]] Result<std::string> cluster_table(std::string_view body);

}  // namespace quiver::app
