// `quiver cluster adopt`: collections of one node become collections of its cluster.
#pragma once

#include "app/cluster/options.h"
#include "base/result.h"

namespace quiver::app {

/// One after another; prints a line for each. kFailedPrecondition, naming it, for a collection that
/// is no node's own, with nothing changed for it and for those after it.
[[nodiscard]] Result<> run_cluster_adopt(const ClusterStatusOptions& options);

}  // namespace quiver::app
