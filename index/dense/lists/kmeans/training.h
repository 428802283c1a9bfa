// Training of centroids on a sample of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// About `n_clusters` means, `[n, dim]` in units of codes; 1 <= n_clusters <= number of rows. Runs
/// at most `iterations` rounds, fewer once less than one row in 200 moves. Reports progress in
/// rows.
Result<std::vector<float>> train(const ByteMatrix& rows, std::uint32_t n_clusters,
                                 std::uint32_t iterations, std::uint64_t seed,
                                 const BuildContext& context);

struct Resumed {
  std::vector<float> means;  ///< `[n, dim]` in units of codes
  std::vector<std::uint32_t>
      list_of;  ///< `[rows.n()]`: list of each row, the nearest of those around its former one
};

/// As `train`, but starts from `means` of other rows. Assigns all rows once, dissolves the smallest
/// lists or halves the largest until there are `n_clusters`, then moves rows between neighbouring
/// lists. nullopt if rows crowd in few lists: their distribution has changed (docs/decisions/0025).
Result<std::optional<Resumed>> resume(const ByteMatrix& rows, std::vector<float> means,
                                      std::uint32_t n_clusters, std::uint64_t seed,
                                      const BuildContext& context);

}  // namespace quiver::index::dense
