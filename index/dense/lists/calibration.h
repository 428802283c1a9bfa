// How far down the order of lists a search should go on this data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "index/dense/lists/partition.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"

namespace quiver::index::dense {

/// The lists that the rows of a source are in, and their centroids.
struct ListView {
  std::span<const float> centroids;        ///< `[n_lists, dim]`
  std::span<const std::uint32_t> list_of;  ///< `[n_rows]`
  std::span<const std::uint32_t> also_in;  ///< `[n_rows]`, or empty
  std::span<const float> reaches;          ///< `[n_lists]`
};

/// What a usual search of the lists is.
struct UsualSearch {
  /// The gap between the keys of the nearest list and of others, in `gap_unit`s, within which
  /// nearly all of the ten nearest neighbours of sampled rows are found.
  float gap = 0;
  std::uint32_t n_codes = 0;  ///< that are within it, in the mean; 0: not known
  std::optional<Depths> depths;
};

/// Exact neighbours of some hundred rows are computed for it. `facts`: with spread and length.
[[nodiscard]] Result<UsualSearch> usual_search(const RowSource& source, const ListView& lists,
                                               const PartitionFacts& facts,
                                               const BuildContext& context);

}  // namespace quiver::index::dense
