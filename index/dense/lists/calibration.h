// Calibration of default searches: how many lists they must scan on this data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "index/dense/lists/partition.h"
#include "index/dense/lists/regions.h"
#include "index/dense/lists/row_source.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Posting lists during a build: centroids, and the lists of each row.
struct ListView {
  std::span<const float> centroids;        ///< `[n_lists, dim]`
  std::span<const std::uint32_t> list_of;  ///< `[n_rows]`
  std::span<const std::uint32_t> also_in;  ///< `[n_rows]`: second list of each row; or empty
  std::span<const float> reaches;          ///< `[n_lists]`
  const Regions& regions;                  ///< measured; may be none
};

/// Measured parameters of a default search.
struct UsualSearch {
  /// Gap between the key of the nearest list and other keys, in `gap_unit`s, within which nearly
  /// all of the ten nearest neighbours of sampled rows lie.
  float gap = 0;
  std::uint32_t n_codes = 0;  ///< mean number of codes in lists within the gap; 0: unknown
  std::optional<Depths> depths;
  /// For nine tenths of the lists within the gap, the keys of their regions are at most so far
  /// below theirs, in `gap_unit`s; at least 0.
  float region_gap = 0;
};

/// Compares 200 sampled rows with all rows. `facts`: with spread and length.
[[nodiscard]] Result<UsualSearch> usual_search(const RowSource& source, const ListView& lists,
                                               const PartitionFacts& facts,
                                               const BuildContext& context);

}  // namespace quiver::index::dense
