// Regions: groups of near lists. A search of very many lists estimates the keys of regions first,
// and then only those of the lists in near regions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "index/dense/lists/clustering.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Regions during a build. Lists are numbered region by region.
struct Regions {
  std::vector<std::uint32_t> first_list;  ///< `[n + 1]`: first list of each; empty: no regions
  std::vector<float> centroids;           ///< `[n, dim]`: means of the centroids of their lists
  /// `[n]`, for `list_key`: mean of the lists' reaches, and half the mean squared distance of the
  /// lists' centroids from the region's. 0 for distances.
  std::vector<float> reaches;

  [[nodiscard]] std::size_t n() const { return first_list.empty() ? 0 : first_list.size() - 1; }
};

/// Groups the clusters and numbers them group by group. Fewer than 3,000 clusters get no regions.
Result<Regions> group_lists(const BuildContext& context, Clusters& clusters);

/// Sets the centroids and the reaches of regions. `centroids`: of the lists, `[n_lists, dim]`.
/// `list_reaches`: `[n_lists]`.
void measure_regions(std::span<const float> centroids, std::span<const float> list_reaches,
                     Similarity similarity, Regions& regions);

}  // namespace quiver::index::dense
