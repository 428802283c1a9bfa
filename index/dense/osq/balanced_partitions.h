// Partitions of about equal size: k-means whose assignment pays a price for full partitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/dense/osq/params.h"
#include "index/dense/osq/scaled_rows.h"
#include "index/index.h"

namespace quiver::index::dense::osq {

/// Bounds on the size of a partition, inclusive.
struct SizeBounds {
  std::uint32_t min = 0;
  std::uint32_t max = 0;

  /// n / n_partitions, less and more the share `balance`.
  [[nodiscard]] static SizeBounds of(std::uint32_t n, std::uint32_t n_partitions, double balance);
};

/// The partition of each row, from its distances `[n, n_partitions]` to all centroids: the sum is
/// small, and every size is within `bounds`. Prices raise the distances of full partitions and
/// lower those of empty ones; the rows that prices leave over move where they lose least.
[[nodiscard]] std::vector<std::uint32_t> assign_balanced(std::span<const float> distances,
                                                         std::uint32_t n_partitions,
                                                         const SizeBounds& bounds);

/// Number of partitions for `n` rows: `params.partitions`, or the default; 1 to n, 1 for no rows.
[[nodiscard]] std::uint32_t n_partitions_for(std::uint32_t n, std::uint32_t dim,
                                             const OsqBuildParams& params);

/// The partition of each row, by k-means over a sample. Deterministic for any executor.
[[nodiscard]] Result<std::vector<std::uint32_t>> make_partitions(const ScaledRows& rows,
                                                                 const OsqBuildParams& params,
                                                                 const BuildContext& context);

}  // namespace quiver::index::dense::osq
