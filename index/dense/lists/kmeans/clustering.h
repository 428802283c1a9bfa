// The partition of an IVF index: k-means under squared Euclidean distance, with
// lists of similar sizes.
//
// Every function here is deterministic: the same rows, options and seed give
// the same bytes, whatever the executor and its number of threads. Values of
// rows are finite.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Writes row `row` as `[dim]` f32, as it is to be clustered (rotated,
/// normalised); any thread, any order, more than once.
using RowReader = std::function<void(std::uint32_t row, float* out)>;

struct ClusterOptions {
  /// How many clusters are wanted; 0: one for 256 rows. Never more than there
  /// are rows.
  std::uint32_t n_clusters = 0;
  /// Most rounds of training; it ends earlier once little moves.
  std::uint32_t iterations = 10;
  /// Rows that are trained on, for each cluster. 100 take half the time of a large build; lists
  /// that must be visited for the same recall are then 2-3 % more.
  std::uint32_t sample_per_cluster = 256;
  std::uint64_t seed = 0;
  /// Centroids `[n, dim]`, finite, of an older partition of many of these rows. Where about as many
  /// are wanted and the rows lie as they did, only what is near changes is done anew; else they are
  /// left aside. Empty: there are none.
  std::span<const float> start = {};
};

struct Clusters {
  std::uint32_t dim = 0;
  std::vector<float> centroids;        ///< `[n, dim]`
  std::vector<std::uint32_t> list_of;  ///< `[n_rows]`, below `n()`
  bool is_carried_over = false;        ///< they began with `ClusterOptions::start`

  [[nodiscard]] std::uint32_t n() const {
    return dim == 0 ? 0 : static_cast<std::uint32_t>(centroids.size() / dim);
  }
};

/// Sizes of lists, both included.
struct ListBounds {
  std::uint32_t min = 1;
  std::uint32_t max = 1;

  /// A quarter of the mean size to three times it.
  [[nodiscard]] static ListBounds of(std::uint32_t n_rows, std::uint32_t n_clusters);
};

/// Clusters the rows. No list is empty and all are within
/// `ListBounds::of(n_rows, n_clusters)`, for which small ones are dissolved and
/// large ones split: `n()` may differ from what was asked for, and a row's list
/// is the nearest but for these. `progress` hears of the share done, in
/// rows, and of all at the end.
Result<Clusters> cluster(const RowReader& rows, std::uint32_t n_rows, std::uint32_t dim,
                         const ClusterOptions& options, const BuildContext& context);

/// The nearest of `centroids`, `[n, dim]` with `n` >= 1, to each row.
Result<std::vector<std::uint32_t>> assign(const RowReader& rows, std::uint32_t n_rows,
                                          std::uint32_t dim, std::span<const float> centroids,
                                          const BuildContext& context);

/// A second list for each row, never its first unless there is only one: the
/// one that minimises
/// `|r'|^2 + lambda * (r' . r / |r|)^2`, with the row's differences `r` to its
/// first centroid and `r'` to the other (Sun et al., SOAR, NeurIPS 2023).
/// Whoever misses a row by its first list then likely finds it by the second.
/// `lambda` >= 0; 1 is usual.
Result<std::vector<std::uint32_t>> second_lists(const RowReader& rows, std::uint32_t n_rows,
                                                const Clusters& clusters, float lambda,
                                                const BuildContext& context);

}  // namespace quiver::index::dense
