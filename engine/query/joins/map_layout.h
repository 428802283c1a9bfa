// Places on a map, so that neighbours in the k-NN graph lie near one another: LargeVis (Tang, Liu,
// Zhang, Mei, WWW 2016).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/query/joins/knn_graph.h"

namespace quiver::engine {

/// Moves `places`, `[n_rows, 2]`, where the rows begin: neighbours attract each other, and a few
/// random rows repel each row. The work is that of steps along the gradient of
/// log 1 / (1 + d^2) for neighbours and log (1 - 1 / (1 + d^2)) for the others, with step sizes
/// that fall to 0. Edges have no weights, and each is visited once in each round (in the paper:
/// drawn by weight). The same graph, places and seed give the same map. One thread. kCancelled.
[[nodiscard]] Result<std::vector<float>> lay_out(const KnnGraph& graph, std::vector<float> places,
                                                 std::uint64_t seed, const Cancel& cancel);

}  // namespace quiver::engine
