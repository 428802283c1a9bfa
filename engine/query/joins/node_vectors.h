// Vectors of the nodes of a graph: FastRP (Chen, Sultan, Tian, Chen, Skiena, CIKM 2019).
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/joins.h"
#include "engine/query/joins/node_links.h"

namespace quiver::engine {

/// `[n_rows, dim]`. Each node begins with a very sparse random vector that its id and the seed
/// decide. Each hop replaces it by the mean over the node's neighbours, at unit length.
/// The vectors are sums of the hops by weight. Edges have no weights and degrees none either
/// (`beta` = 0 in the paper). Adds a step for each node and weight to what is done.
/// kInvalidArgument if there would be more than kMaxJoinEntries numbers.
[[nodiscard]] Result<std::vector<float>> node_vectors(const NodeLinks& links,
                                                      std::span<const PointId> ids,
                                                      const NodeVectorsJoin& request,
                                                      const Cancel& cancel, JoinProgress& progress);

/// The last of these errors.
[[nodiscard]] Result<> check_node_vectors(std::size_t n_nodes, const NodeVectorsJoin& request);

}  // namespace quiver::engine
