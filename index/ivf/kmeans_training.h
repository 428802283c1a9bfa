// Centroids of a sample of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "index/ivf/kmeans_rows.h"

namespace quiver::index::ivf {

/// About `n_clusters` means `[n, dim]` of the rows, in units of codes; 1 <=
/// `n_clusters` <= the number of rows. At most `iterations` rounds, fewer once
/// less than one row in two hundred moves.
Result<std::vector<float>> train(const ByteMatrix& rows, std::uint32_t n_clusters,
                                 std::uint32_t iterations, std::uint64_t seed,
                                 const BuildContext& context);

}  // namespace quiver::index::ivf
