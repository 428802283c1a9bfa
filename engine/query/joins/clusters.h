// Clusters of different density in a k-NN graph: HDBSCAN (Campello, Moulavi, Sander 2013).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/joins.h"
#include "engine/query/joins/knn_graph.h"

namespace quiver::engine {

struct Clusters {
  /// For each row the number of its cluster, from 0 in the order of their first rows;
  /// JoinTable::kNone: noise.
  std::vector<std::uint32_t> numbers;
  std::vector<float> strengths;  ///< for each row, 0 to 1; 0 for noise
};

/// Differs from the paper in two points. Mutual reachability is known for pairs of the graph only,
/// so the tree may be a forest: each of its trees begins at its own root. And rows that the graph
/// connects all are no cluster, as is usual.
[[nodiscard]] Result<Clusters> find_clusters(const KnnGraph& graph, Metric metric,
                                             const ClustersJoin& request, const Cancel& cancel);

}  // namespace quiver::engine
