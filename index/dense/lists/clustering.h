// The partition of posting lists: k-means under squared Euclidean distance, with lists of similar
// sizes.
//
// All functions are deterministic: the same rows, options and seed give the same bytes for any
// executor. Values of rows are finite.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "index/dense/lists/kmeans/rows.h"
#include "index/index.h"

namespace quiver::index::dense {

struct ClusterOptions {
  /// Wanted number of clusters, at most the number of rows. 0: one per 256 rows.
  std::uint32_t n_clusters = 0;
  /// Largest number of training rounds; training ends earlier once few rows move.
  std::uint32_t iterations = 10;
  /// Training rows per cluster. With 100 a large build takes half the time, and a given recall
  /// takes 2 to 3 % more lists.
  std::uint32_t sample_per_cluster = 256;
  std::uint64_t seed = 0;
  /// Centroids `[n, dim]`, finite, of an older partition of many of these rows; or empty. They are
  /// used if about as many are wanted and the rows still fit them: only changed neighbourhoods are
  /// trained.
  std::span<const float> start = {};
};

struct Clusters {
  std::uint32_t dim = 0;
  std::vector<float> centroids;        ///< `[n, dim]`
  std::vector<std::uint32_t> list_of;  ///< `[n_rows]`, list of each row
  bool is_carried_over = false;        ///< they started from `ClusterOptions::start`

  [[nodiscard]] std::uint32_t n() const {
    return dim == 0 ? 0 : static_cast<std::uint32_t>(centroids.size() / dim);
  }
};

/// Bounds on list sizes, inclusive.
struct ListBounds {
  std::uint32_t min = 1;
  std::uint32_t max = 1;

  /// From a quarter of the mean size to three times it.
  [[nodiscard]] static ListBounds of(std::uint32_t n_rows, std::uint32_t n_clusters);
};

/// Clusters the rows. No list is empty; all sizes are within `ListBounds::of(n_rows, n_clusters)`.
/// For that, small lists are dissolved and large ones split: `n()` may differ from the wanted
/// number, and these rows may not be in their nearest list. Progress is reported in rows.
Result<Clusters> cluster(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim,
                         const ClusterOptions& options, const BuildContext& context);

/// The nearest of `centroids`, `[n, dim]` with n >= 1, for each row.
Result<std::vector<std::uint32_t>> assign(const RowReader& rows, std::uint32_t n_rows,
                                          std::uint32_t dim, std::span<const float> centroids,
                                          const BuildContext& context);

/// Mean of `centroids`, `[n, dim]`; zeros if there are none.
[[nodiscard]] std::vector<float> mean_of_centroids(std::span<const float> centroids,
                                                   std::size_t dim);

/// Dissolves lists smaller than `bounds.min`, whose rows go to the nearest remaining list, and
/// halves those larger than `bounds.max` until they fit. Afterwards every list is within the
/// bounds, if `bounds.max >= 3 * bounds.min` and there are rows for one list.
Result<> balance(const RowReader& rows, const ListBounds& bounds, const BuildContext& context,
                 Clusters& clusters);

/// A second list for each row, other than its first if there are several. It minimises |r'|^2 +
/// lambda * (r' . r / |r|)^2, where r and r' are the row's differences to its first and its second
/// centroid (Sun et al., SOAR, NeurIPS 2023). So a search that misses the first list likely scans
/// the second. `lambda` >= 0, usually 1.
Result<std::vector<std::uint32_t>> second_lists(const RowReader& rows, std::uint32_t n_rows,
                                                const Clusters& clusters, float lambda,
                                                const BuildContext& context);

}  // namespace quiver::index::dense
