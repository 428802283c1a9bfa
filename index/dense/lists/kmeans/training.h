// Centroids of a sample of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "index/dense/lists/kmeans/rows.h"

namespace quiver::index::dense {

/// About `n_clusters` means `[n, dim]` of the rows, in units of codes; 1 <=
/// `n_clusters` <= the number of rows. At most `iterations` rounds, fewer once
/// less than one row in two hundred moves. Tells of progress in units of `rows`.
Result<std::vector<float>> train(const ByteMatrix& rows, std::uint32_t n_clusters,
                                 std::uint32_t iterations, std::uint64_t seed,
                                 const BuildContext& context);

struct Resumed {
  std::vector<float> means;            ///< `[n, dim]` in units of codes
  std::vector<std::uint32_t> list_of;  ///< `[rows.n()]`: the nearest of those around a row's own
};

/// As `train`, from `means` of other rows: rows are looked up once among all, the smallest lists
/// dissolved or the largest halved until there are `n_clusters`, and then rows move between
/// neighbours. Nothing if so many rows crowd in few lists that these must be of another
/// distribution (docs/decisions/0025).
Result<std::optional<Resumed>> resume(const ByteMatrix& rows, std::vector<float> means,
                                      std::uint32_t n_clusters, std::uint64_t seed,
                                      const BuildContext& context);

}  // namespace quiver::index::dense
